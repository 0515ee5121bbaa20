"""Whole cycles on whole clusters with known answers: what Volcano itself decides on the same objects and policy.

Each file of ``tests/data/scenarios`` has objects, a policy and what is expected. Namespace order is switched off, as
Volcano does not have it; where both proportion and capacity are asked for, capacity is left out: a policy file with
both is refused, since both divide the cluster among queues. Numbers that differ on purpose are in ``DIFFERENT``. Where
``binds_exact`` is false, nodes are equal to Volcano: its answer varies, and ``binds`` is one of them.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.support.plans import mirror
from vsched.cli.plan.view import Document, Planned, as_document
from vsched.errors import BadPolicy
from vsched.framework.cycle import run_actions
from vsched.framework.reports.closing import close
from vsched.framework.reports.holdings import queue_outcomes
from vsched.framework.trace import Trace
from vsched.model.amounts.resources import parse_amount
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY
from vsched.yamltext import KubernetesLoader

FOLDER = Path(__file__).parent.parent / "data" / "scenarios"
FILES = sorted(FOLDER.glob("*.yaml"))
DIVIDERS = {"proportion", "capacity"}
GPU = "nvidia.com/gpu"

Numbers = dict[str, Any]
Outcome = dict[str, Any]

CLIPPED = "capacity hierarchy, violated limits: clipped top-down, where Volcano only logs"
AS_OF_NOW = "ancestors are told as they end up; Volcano keeps telling what they were when the cycle began"
UP_TO_DESERVED = "an elastic job takes back what its queue deserves, task by task; Volcano stops at its minimum"
NOTHING_ON_PAPER = "a gang that cannot start takes nothing; in Volcano single pods of it wait with a node"
DIFFERENT: dict[tuple[str, str], tuple[str, Numbers]] = {
    ("hierarchy_0013", "q1-1"): (CLIPPED, {"deserved": {"cpu": 333, "memory": 1 << 30}}),
    ("hierarchy_0013", "q1-2"): (CLIPPED, {"deserved": {"cpu": 333, "memory": 1 << 30}}),
    ("hierarchy_0013", "q1-3"): (CLIPPED, {"deserved": {"cpu": 333, "memory": 1 << 30}}),
    ("hierarchy_0048", "q1-2-1"): (CLIPPED, {"deserved": {"cpu": 800, "memory": 2 << 30, GPU: 1000}}),
    ("hierarchy_0048", "q1-2-2"): (CLIPPED, {"deserved": {"cpu": 800, "memory": 2 << 30, GPU: 1000}, "share": 10.0}),
    ("hierarchy_0048", "q1-2-3"): (CLIPPED, {"deserved": {"cpu": 400, "memory": 512 << 20, GPU: 0}}),
    ("reclaim_0028", "q1"): (UP_TO_DESERVED, {"allocated": {"cpu": 4000, "memory": 16 << 30}, "share": 2 / 3}),
    ("reclaim_0028", "q3"): (UP_TO_DESERVED, {"allocated": {"cpu": 15000, "memory": 15 << 30}, "share": 15 / 14}),
    ("preempt_0011", "q1"): (NOTHING_ON_PAPER, {"allocated": {"cpu": 6000, "memory": 3 << 30}, "share": 6 / 7}),
    ("capacity_0210", "q1"): (NOTHING_ON_PAPER, {"allocated": {"cpu": 0, "memory": 0}, "share": 0.0}),
    ("reclaim_0025", "q2"): (NOTHING_ON_PAPER, {"allocated": {"cpu": 0, "memory": 0}, "share": 0.0}),
    ("hierarchy_0018", "root"): (AS_OF_NOW, {"allocated": {"cpu": 3000, "memory": 5 << 30}, "share": 0.625}),
}
"""By scenario and queue: why, and what vsched says in place of Volcano's numbers."""

FIRST = "of equal domains vsched takes the first by name"
CLOSEST = "a later pod goes to the closest domain around those that run; Volcano takes any rack with room"
OF_EQUALS: dict[str, tuple[str, dict[str, str]]] = {
    "sub-groups-01": (FIRST, {"c1/p1": "s0-n1", "c1/p2": "s0-n2"}),
    "sub-groups-05": (FIRST, {"c1/p1": "s0-n1", "c1/p2": "s0-n2"}),
    "topology-05": (CLOSEST, {"c1/p3": "s4-n1"}),
    "topology-06": (FIRST, {"c1/p1": "s0-n1", "c1/p2": "s0-n2"}),
}
"""Scenarios in which Volcano's nodes vary, why vsched takes others than those in the file, and which."""

NOBODY_WAITS = {
    "reclaim-02": "there is room already: reclaim makes nobody wait where nobody has to leave",
    "capacity_0210": NOTHING_ON_PAPER,
    "preempt_0011": NOTHING_ON_PAPER,
    "reclaim_0025": NOTHING_ON_PAPER,
}
"""Scenarios in which Volcano has a pod wait, and vsched does not, and why."""

PROTECTED: dict[str, tuple[str, Outcome]] = {
    "hierarchy_0018": (
        "j01 keeps its minimum of one, which gang protects; in Volcano the second tier is asked once gang's is empty",
        {"evictions": ["team-a/j01-2"], "waiting": {"team-a/j03-1": "n01"}},
    ),
}
"""Scenarios in which Volcano takes what a plugin of an earlier tier protects, why vsched does not, and what it does."""

GROWN: dict[str, tuple[str, Outcome]] = {
    "reclaim_0028": (
        UP_TO_DESERVED,
        {
            "evictions": ["team-a/j01-12", "team-a/j01-20", "team-a/j01-7", "team-a/j01-9"],
            "waiting": {f"team-b/j02-{number}": "n03" for number in (1, 2, 3, 4)},
        },
    ),
}
"""Scenarios in which Volcano stops at the minimum of a job, and vsched at what its queue deserves."""


def read(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=KubernetesLoader)
    return case


def plan_of(case: dict[str, Any], *, victims: str = "protection") -> Document:
    """What is decided in one cycle. As in Volcano, what waits with a node is told of all pods, and counts as held."""
    named = {plugin["name"] for tier in case["policy"]["tiers"] for plugin in tier["plugins"]}
    for tier in case["policy"]["tiers"]:
        if named >= DIVIDERS:
            tier["plugins"] = [plugin for plugin in tier["plugins"] if plugin["name"] != "capacity"]
        for plugin in tier["plugins"]:
            if plugin["name"] == "drf":
                plugin["enableNamespaceOrder"] = False
    policy = case["policy"]
    if victims != "protection":
        assert not policy.get("configurations"), "written for scenarios without arguments of their own"
        policy["configurations"] = [
            {"name": name, "arguments": {"victimTiers": victims}} for name in ("preempt", "reclaim")
        ]
    settings = load_text(json.dumps(policy), case["name"], REGISTRY)
    snapshot = mirror(case["objects"]).snapshot(0.0)
    session = run_actions(snapshot, settings.policy, REGISTRY, Trace())
    report = close(session, Trace())
    told = msgspec.structs.replace(
        report,
        nominations=tuple(msgspec.structs.replace(one, lasting=True) for one in report.nominations),
        queues=queue_outcomes(session),
    )
    return as_document(Planned([told], snapshot.queues, {}))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_decides_as_volcano_does(path: Path) -> None:
    case = read(path)

    plan = plan_of(case, victims="reference" if path.stem in PROTECTED else "protection")

    expected, cycle = case["expect"], plan["cycles"][0]
    waiting = {} if path.stem in NOBODY_WAITS else pipelined(case)
    if path.stem in GROWN:
        assert set(expected["evictions"]) < set(GROWN[path.stem][1]["evictions"]), "no difference"
        expected, waiting = expected | GROWN[path.stem][1], GROWN[path.stem][1]["waiting"]
    binds = OF_EQUALS[path.stem][1] if path.stem in OF_EQUALS else expected["binds"]
    assert binds == {bind["pod"]: bind["node"] for bind in cycle["binds"]}
    assert expected["evictions"] == sorted(eviction["pod"] for eviction in cycle["evictions"])
    assert waiting == {nomination["pod"]: nomination["node"] for nomination in cycle["nominations"]}
    phases = expected.get("phases") or case["after_close"]["phases"]
    assert phases == {job: plan["jobs"][job]["phase"] for job in phases}
    check_queues(path.stem, case.get("queues", {}), plan["queues"])


def pipelined(case: dict[str, Any]) -> dict[str, str]:
    """Nodes of pods that wait for others to leave."""
    if "pipelined_pods" in case["expect"]:
        found: dict[str, str] = case["expect"]["pipelined_pods"]
        return found
    return {pod: node for pods in case["observed"]["pipelined"].values() for pod, node in pods.items()}


def check_queues(scenario: str, expected: dict[str, Numbers], queues: dict[str, Numbers]) -> None:
    for name, theirs in expected.items():
        why, ours = DIFFERENT.get((scenario, name), ("", {}))
        numbers, found, told = theirs | ours, queues[name], f"{name}: {why or 'as Volcano'}"
        if name == "root":  # plans show no share of the root: it has all there is
            numbers = {kind: amounts for kind, amounts in numbers.items() if kind not in ("deserved", "share")}
        for kind in ("allocated", "deserved"):
            for resource, amount in numbers.get(kind, {}).items():
                has = parse_amount(resource, found[kind].get(resource, "0"))
                assert amount == pytest.approx(has, abs=1), (told, kind, resource)
        if "share" in numbers:
            assert numbers["share"] == pytest.approx(found["share"], rel=1e-3), told  # theirs divide a unit
        if "overused" in numbers:
            assert bool(numbers["overused"]) == found["overused"], told


@pytest.mark.parametrize("scenario", PROTECTED)
def test_what_is_protected_is_not_taken(scenario: str) -> None:
    _, expected = PROTECTED[scenario]

    cycle = plan_of(read(FOLDER / f"{scenario}.yaml"))["cycles"][0]

    assert [eviction["pod"] for eviction in cycle["evictions"]] == expected["evictions"]
    assert {nomination["pod"]: nomination["node"] for nomination in cycle["nominations"]} == expected["waiting"]


@pytest.mark.parametrize(("scenario", "queue"), DIFFERENT)
def test_a_difference_is_one(scenario: str, queue: str) -> None:
    theirs = read(FOLDER / f"{scenario}.yaml")["queues"][queue]
    _, ours = DIFFERENT[scenario, queue]

    assert any(theirs[kind] != ours[kind] for kind in ours)
    for kind, amounts in ours.items():
        if isinstance(amounts, dict):
            assert amounts.keys() == theirs[kind].keys(), "all amounts of a kind are given"


@pytest.mark.parametrize("scenario", NOBODY_WAITS)
def test_volcano_evicts_nobody_where_nobody_waits(scenario: str) -> None:
    case = read(FOLDER / f"{scenario}.yaml")

    assert pipelined(case)
    assert not case["expect"]["evictions"]


@pytest.mark.parametrize("scenario", OF_EQUALS)
def test_other_nodes_are_taken_only_where_volcanos_answer_varies(scenario: str) -> None:
    expected, (_, ours) = read(FOLDER / f"{scenario}.yaml")["expect"], OF_EQUALS[scenario]

    assert not expected["binds_exact"]
    assert ours != expected["binds"]
    assert set(ours) == set(expected["binds"])


def test_both_ways_to_divide_the_cluster_in_one_policy_are_refused() -> None:
    with pytest.raises(BadPolicy, match="capacity"):
        load_text(yaml.safe_dump(read(FOLDER / "preempt-01.yaml")["policy"]), "policy", REGISTRY)


def test_the_table_of_scenarios_covers_every_kind_there_is() -> None:
    kinds = Counter(path.stem.rpartition("_" if "_" in path.stem else "-")[0] for path in FILES)

    assert set(kinds) == {
        "allocate",
        "capacity",
        "default",
        "enqueue",
        "hierarchy",
        "nodeorder",
        "preempt",
        "proportion",
        "reclaim",
        "resource-strategy-fit",
        "sub-groups",
        "topology",
    }
