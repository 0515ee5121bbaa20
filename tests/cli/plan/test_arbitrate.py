"""``vsched plan --arbitrate``: what namespaces deserve, who is placed and who leaves for it, from manifests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from click.testing import CliRunner, Result

from tests.cli.plan.arbitrated import GROUP, bucket, consumer, evicted, planned
from tests.support.plans import DEFAULT_POLICY, NOW, Manifest, manifests
from vsched.api.manifests import Origin, decode_manifests
from vsched.arbitrator.rules import ArbitrationRules
from vsched.cli import cli
from vsched.cli.plan.arbitrate import AT_ONCE
from vsched.cli.plan.command import arbitration_rules
from vsched.cli.plan.live import OUR_NAMES
from vsched.cli.plan.on_paper import decide_on_paper
from vsched.cli.plan.view import Document, as_document
from vsched.model import words as model_words

BUSY = "node n1 cpu=4\npods a/old 4 cpu=1 on=n1\n"


def overused(namespace: str, since: str) -> Manifest:
    """An Allocation that says since when its namespace has been overused."""
    condition = {"type": "Overused", "status": "True", "reason": "R", "message": "M", "lastTransitionTime": since}
    metadata = {"name": "defaults", "namespace": namespace}
    return {"apiVersion": GROUP, "kind": "Allocation", "metadata": metadata, "status": {"conditions": [condition]}}


def cpus(document: Document) -> dict[str, tuple[str, str]]:
    """What each namespace deserves and holds."""
    found = document["allocations"].items()
    return {name: (one["deserved"]["cpu"], one["allocated"].get("cpu", "0")) for name, one in found}


# -- whether --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "rules", "names"),
    [
        pytest.param([], None, [], id="nobody arbitrates"),
        pytest.param([], AT_ONCE, ["a"], id="where it is asked for"),
        pytest.param([consumer("b")], None, ["a", "b"], id="where there is a Consumer"),
        pytest.param([bucket("area")], None, ["a"], id="where there is a Bucket"),
    ],
)
def test_when_the_cluster_is_divided(more: list[Manifest], rules: ArbitrationRules | None, names: list[str]) -> None:
    document = planned(BUSY, *more, rules=rules)

    assert list(document["allocations"]) == names
    keys = list(document)
    assert keys[keys.index("namespaces") + 1] == "allocations"


def test_without_arbitration_pods_of_others_that_wait_are_nobodys_business() -> None:
    text = BUSY + "pods b/new 2 cpu=1"

    assert planned(text, rules=None, strangers="b") == planned(BUSY, rules=None)


# -- what comes of it -----------------------------------------------------------------------------------------------


def test_one_pod_a_cycle_leaves_until_both_have_their_half() -> None:
    document = planned(BUSY + "job b/new pods=4 cpu=1", cycles=4)

    assert evicted(document) == [["a/old.0"], ["a/old.1"], [], []]
    assert [len(cycle["binds"]) for cycle in document["cycles"]] == [0, 1, 1, 0]
    assert cpus(document) == {"a": ("2", "2"), "b": ("2", "2")}
    assert document["cycles"][0]["evictions"][0] == {
        "pod": "a/old.0",
        "action": "arbitrate",
        "for": "b/new.0",
        "node": "n1",
    }


def test_as_many_leave_at_a_time_as_is_said() -> None:
    rules = arbitration_rules(False, None, 2)

    assert evicted(planned(BUSY + "job b/new pods=4 cpu=1", cycles=2, rules=rules)) == [["a/old.0", "a/old.1"], []]


@pytest.mark.parametrize(
    ("since", "leaves"),
    [
        pytest.param("2027-01-15T07:59:31Z", [], id="29 s ago"),
        pytest.param("2027-01-15T07:59:30Z", ["a/old.0"], id="30 s ago"),
    ],
)
def test_the_grace_is_counted_from_what_the_allocation_says(since: str, leaves: list[str]) -> None:
    rules = arbitration_rules(True, 30.0, None)

    document = planned(BUSY + "job b/new pods=1 cpu=1", overused("a", since), consumer("a"), rules=rules)

    assert evicted(document) == [leaves]
    assert document["allocations"]["a"]["overused"]["since"] == since


def test_pods_of_other_schedulers_are_demand_and_not_placed() -> None:
    document = planned(BUSY + "pods b/new 2 cpu=1", strangers="b", cycles=3)

    assert cpus(document)["b"] == ("2", "0")
    assert evicted(document) == [["a/old.0"], ["a/old.1"], []], "room for both, which another scheduler is to use"
    assert not any(cycle["binds"] or cycle["nominations"] for cycle in document["cycles"])
    assert document["unschedulable"] == {}


@pytest.mark.parametrize(
    ("hard", "message"),
    [
        pytest.param(
            {"requests.cpu": "1"}, model_words.would_hold_too_much("namespace a", "1 cpu", "2"), id="of requests"
        ),
        pytest.param(
            {"limits.cpu": "3"}, model_words.would_hold_too_much("namespace a", "3 limits.cpu", "4"), id="of limits"
        ),
    ],
)
def test_nobody_is_placed_over_what_the_namespace_may_hold(hard: dict[str, str], message: str) -> None:
    document = planned("node n1 cpu=4\njob a/new pods=4 cpu=1 limits=cpu:2", consumer("a", hard=hard), cycles=2)

    assert [len(cycle["binds"]) for cycle in document["cycles"]] == [1, 0]
    assert document["unschedulable"]["a/new.1"]["message"] == message
    assert document["allocations"]["a"]["hard"] == hard


def test_a_quota_that_is_tighter_is_told() -> None:
    text = "node n1 cpu=4\nquota a/q requests.cpu=1\njob a/new pods=4 cpu=1"

    document = planned(text, consumer("a", hard={"cpu": "2"}))

    told = document["allocations"]["a"]
    assert (told["hard"], told["hardInForce"], told["deserved"]["cpu"]) == ({"cpu": "2"}, {"cpu": "1"}, "1")
    assert [one["type"] for one in told["problems"]] == ["Accepted"]


def test_buckets_share_and_what_is_idle_is_lent() -> None:
    text = "node n1 cpu=10\njob a/one pods=1 cpu=1\njob b/many pods=9 cpu=1"
    areas = [bucket("app", reserved={"cpu": "4"}), bucket("bigdata", reserved={"cpu": "6"}, hard={"cpu": "8"})]

    document = planned(text, *areas, consumer("a", parent="app"), consumer("b", parent="bigdata", weight=3))

    assert len(document["cycles"][0]["binds"]) == 9
    found = document["buckets"]["bigdata"]
    assert (found["hard"], found["deserved"]["cpu"], found["allocated"]["cpu"]) == ({"cpu": "8"}, "6", "8")
    assert (document["allocations"]["b"]["parent"], document["allocations"]["b"]["weight"]) == ("bigdata", 3)


def test_reservations_beyond_the_cluster_are_told_as_cut() -> None:
    document = planned("node n1 cpu=4", consumer("a", reserved={"cpu": "6"}), consumer("b", reserved={"cpu": "2"}))

    assert cpus(document) == {"a": ("3", "0"), "b": ("1", "0")}
    assert document["allocations"]["a"]["reservedInForce"] == {"cpu": "3"}
    assert "Reserved" in {one["type"] for one in document["allocations"]["a"]["problems"]}


def test_equal_manifests_give_equal_plans_in_any_order() -> None:
    text = BUSY + "job b/new pods=4 cpu=1\njob c/new pods=2 cpu=1"
    claims = [consumer("a", parent="area"), consumer("b", weight=2), bucket("area")]
    decoded = [*manifests(text), *claims]

    first, second = (
        orjson.dumps(
            as_document(
                decide_on_paper(
                    decode_manifests((Origin("text", "1"), found) for found in objects),
                    DEFAULT_POLICY,
                    OUR_NAMES,
                    cycles=3,
                    now=NOW,
                    rules=AT_ONCE,
                ).planned
            )
        )
        for objects in (decoded, decoded[::-1])
    )

    assert first == second


# -- as a person runs it --------------------------------------------------------------------------------------------


def run(tmp_path: Path, *arguments: str, more: Sequence[Manifest] = ()) -> Result:
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all([*manifests(BUSY + "job b/new pods=4 cpu=1"), *more]), encoding="utf-8")
    return CliRunner().invoke(cli, ["plan", "-f", str(path), *arguments])


@pytest.mark.parametrize(
    ("arguments", "leave"),
    [
        pytest.param([], None, id="not asked for"),
        pytest.param(["--arbitrate"], 1, id="one at a time"),
        pytest.param(["--arbitrate", "--arbitrate-evictions", "2"], 2, id="two at a time"),
        pytest.param(["--arbitrate-evictions", "2"], 2, id="a flag about it asks for it"),
        pytest.param(["--arbitrate-grace", "10s"], 0, id="with a grace nobody leaves at once"),
    ],
)
def test_the_flags(tmp_path: Path, arguments: list[str], leave: int | None) -> None:
    document = json.loads(run(tmp_path, *arguments, "-o", "json").stdout)

    assert (len(document["cycles"][0]["evictions"]) if document["allocations"] else None) == leave


def test_the_table_shows_who_deserves_what(tmp_path: Path) -> None:
    told = run(tmp_path, "--arbitrate").stdout

    assert "Allocations" in told
    row = next(line for line in told.splitlines() if line.startswith("a  "))
    assert row.split()[1:3] == ["████┃█··", "3/2"]
    assert row.endswith("for 0s") or row.rstrip().endswith("for 0s")
    assert "arbitrate for b/new.0" in told


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        pytest.param({"hard": {"services": "3"}}, "spec.hard.services: cannot be divided", id="nothing to divide"),
        pytest.param({"reserved": {"cpu": "two"}}, "spec.reserved.cpu", id="no quantity"),
        pytest.param({"weight": 0}, "spec.weight: 0", id="no weight"),
    ],
)
def test_a_consumer_that_makes_no_sense_is_one_line(tmp_path: Path, spec: dict[str, Any], complaint: str) -> None:
    result = run(tmp_path, more=[consumer("a", **spec)])

    assert result.exit_code == 1
    assert "\n" not in str(result.exception)
    assert "cluster.yaml:document" in str(result.exception)
    assert complaint in str(result.exception)


def test_a_grace_that_is_no_time_is_refused(tmp_path: Path) -> None:
    result = run(tmp_path, "--arbitrate-grace", "soon")

    assert result.exit_code == 2
    assert "'soon' is not a time from 0 to 1h" in result.stderr
