"""Every file of ``config/samples`` gives the result that its own comment promises."""

from __future__ import annotations

import re
from collections import Counter
from io import StringIO
from pathlib import Path

import orjson
import pytest

from tests.support.plans import DEFAULT_POLICY, NOW
from vsched.cli.plan import OUR_NAMES, make_plan
from vsched.cli.plan_view import Document
from vsched.cluster.manifests import decode_manifests, read
from vsched.settings import load_file
from vsched.settings.built_in import REGISTRY

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "config" / "samples"
FILES = sorted(SAMPLES.glob("*.yaml"))


def policy_file(name: str) -> Path | None:
    """The policy that a sample's own command line names, None where it names none."""
    text = (SAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
    found = re.search(rf"^# vsched plan -f config/samples/{name}.yaml --config (\S+)$", text, re.MULTILINE)
    return ROOT / found[1] if found else None


def planned(name: str, *, by_default: bool = False) -> Document:
    """What comes of a sample, by its policy or by the default one."""
    manifests = decode_manifests(read([str(SAMPLES / f"{name}.yaml")], StringIO()))
    path = None if by_default else policy_file(name)
    policy = DEFAULT_POLICY if path is None else load_file(path, REGISTRY).policy
    return make_plan(manifests, policy, OUR_NAMES, cycles=1, now=NOW)


def binds(document: Document) -> dict[str, str]:
    return {bind["pod"].partition("/")[2]: bind["node"] for bind in document["cycles"][0]["binds"]}


def bound(document: Document) -> dict[str, int]:
    """How many pods of each job are bound; a pod is named after its job."""
    return dict(Counter(name.rpartition("-")[0] for name in binds(document)))


@pytest.mark.parametrize(
    ("name", "cores"),
    [
        ("fair-share-1", {"q1/ns1": "4", "q1/ns2": "4", "q2/ns3": "6", "q2/ns4": "2"}),
        ("fair-share-2", {"q1/ns1": "3", "q1/ns2": "1", "q2/ns3": "10", "q2/ns4": "2"}),
        ("fair-share-3", {"q1/ns1": "4", "q2/ns1": "3", "q2/ns2": "9"}),
    ],
)
def test_the_tables_of_namespace_fair_share(name: str, cores: dict[str, str]) -> None:
    namespaces = planned(name)["namespaces"]

    assert {key: found["allocated"]["cpu"] for key, found in namespaces.items()} == cores


def test_a_gang_that_is_too_large_binds_nothing_and_says_why() -> None:
    document = planned("gang-too-large")
    training = document["jobs"]["team/training"]

    assert bound(document) == {"batch": 2}
    assert (training["ready"], training["pending"]) == (0, 8)
    assert "0/2 nodes are available: 2 Insufficient cpu" in training["message"]


def test_priorities_decide_among_jobs_and_among_pods() -> None:
    document = planned("priorities")

    assert bound(document) == {"urgent": 3, "nightly": 1}
    assert next(iter(binds(document))) == "urgent-leader"


def test_queues_share_by_weight_and_within_their_capability() -> None:
    document = planned("queues-by-weight")
    queues = document["queues"]

    assert bound(document) == {"research-work": 4, "web-work": 2, "capped-work": 2}
    assert queues["capped"]["deserved"]["cpu"] == queues["capped"]["capability"]["cpu"] == "2"


def test_pods_without_requests_fill_in_as_far_as_there_are_slots() -> None:
    document = planned("backfill")

    assert bound(document) == {"solver": 2, "probe": 2}
    assert document["unschedulable"]["team/probe-2"]["message"] == "0/1 nodes are available: 1 Too many pods."


def test_rules_about_other_pods_are_kept() -> None:
    document = planned("spread-and-affinity")
    nodes = binds(document)
    zone = {"node-1": "a", "node-2": "a", "node-3": "b"}

    assert sorted(nodes[f"web-{number}"] for number in range(3)) == ["node-1", "node-2", "node-3"]
    assert list(document["unschedulable"]) == ["team/web-3"]
    assert Counter(zone[nodes[f"shards-{number}"]] for number in range(4)) == {"a": 2, "b": 2}
    assert (nodes["cache"], nodes["report"]) == ("node-3", "node-2")


@pytest.mark.parametrize(
    ("by_default", "pods"),
    [
        pytest.param(False, {"gold-work": 2, "bronze-work": 1}, id="by score"),
        pytest.param(True, {"gold-work": 3}, id="by priority"),
    ],
)
def test_queues_by_score_take_turns(by_default: bool, pods: dict[str, int]) -> None:
    assert bound(planned("queue-score", by_default=by_default)) == pods


@pytest.mark.parametrize(
    ("by_default", "order"),
    [
        pytest.param(False, ["b2-0", "a2-0", "a1-0"], id="across queues"),
        pytest.param(True, ["a2-0", "a1-0", "b2-0"], id="queue by queue"),
    ],
)
def test_jobs_across_queues_go_by_priority(by_default: bool, order: list[str]) -> None:
    assert list(binds(planned("across-queues", by_default=by_default))) == order


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_sample_says_how_it_is_run_and_what_comes_of_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    comments = [line for line in text.splitlines() if line.startswith("#")]

    path_of_policy = policy_file(path.stem)
    told = "" if path_of_policy is None else f" --config {path_of_policy.relative_to(ROOT)}"
    assert f"# vsched plan -f config/samples/{path.name}{told}" in comments
    assert any(line.startswith("# Result: ") for line in comments)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_same_sample_gives_the_same_bytes(path: Path) -> None:
    first, second = (orjson.dumps(planned(path.stem)) for _ in range(2))

    assert first == second


def test_every_sample_has_its_result_checked() -> None:
    checked = Path(__file__).read_text(encoding="utf-8")

    assert FILES
    assert [path.name for path in FILES if f'"{path.stem}"' not in checked] == []
