"""allocation: what namespaces may hold, whichever action places their pods, and whom they may take from."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.support.clusters import clusters, contended
from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_of
from tests.support.taking import taking
from vsched.actions.words import also
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.words.nodes import available
from vsched.model.amounts.counted import LIMITS, parse_counted
from vsched.model.arbitration.records import Ceiling
from vsched.model.plan import CycleReport
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot
from vsched.model.words import would_hold_too_much
from vsched.plugins.allocation import ALLOCATION
from vsched.settings.built_in import REGISTRY

PREEMPTING = taking("enqueue, allocate, preempt, backfill", "priority gang-P conformance", "drf-P predicates")
RECLAIMING = taking("enqueue, allocate, reclaim", "priority gang conformance", "drf-R predicates capacity")


def decide(text: str, ceilings: str, policy: Policy = DEFAULT_POLICY) -> CycleReport:
    """One cycle in which namespaces may hold so much: ``a cpu=2 limits.cpu=3``, one namespace a line."""
    snapshot = mirror(manifests(text), arbitrating=True).snapshot(NOW)
    most: dict[str, Ceiling] = {}
    for line in ceilings.splitlines():
        namespace, *words = line.split()
        counted = {name: parse_counted(name, amount) for name, amount in (word.split("=") for word in words)}
        limits = {name: counted.pop(name) for name in LIMITS if name in counted}
        most[namespace] = Ceiling({snapshot.axis.column(name): value for name, value in counted.items()}, limits)
    return run_cycle(replace(snapshot, ceilings=most), policy.with_plugin(ALLOCATION), REGISTRY)


def bound(report: CycleReport) -> dict[str, int]:
    """How many pods of each job are bound."""
    counts: dict[str, int] = {}
    for bind in report.binds:
        counts[bind.job] = counts.get(bind.job, 0) + 1
    return counts


FOUR = "node n1 cpu=4 memory=8Gi\n"


@pytest.mark.parametrize(
    ("text", "ceilings", "expected"),
    [
        pytest.param("job a/j pods=4 cpu=1", "", {"a/j": 4}, id="without ceilings nothing changes"),
        pytest.param("job a/j pods=4 cpu=1", "b cpu=0", {"a/j": 4}, id="another namespace's ceiling"),
        pytest.param("job a/j pods=4 cpu=1", "a cpu=3", {"a/j": 3}, id="up to the ceiling"),
        pytest.param("job a/j pods=4 cpu=1", "a cpu=2999m", {"a/j": 2}, id="and not beyond it"),
        pytest.param("job a/j pods=4 cpu=1", "a memory=0", {"a/j": 4}, id="only what is asked for is compared"),
        pytest.param("job a/j pods=4 cpu=1 memory=1Gi", "a cpu=4 memory=2Gi", {"a/j": 2}, id="the tightest counts"),
        pytest.param("job a/j pods=4 cpu=1", "a pods=1", {"a/j": 1}, id="pods are counted too"),
        pytest.param("job a/j pods=4", "a pods=1", {"a/j": 1}, id="also those that ask for nothing else"),
        pytest.param(
            "job a/j pods=2 cpu=1\njob a/k pods=2 cpu=1", "a cpu=3", {"a/j": 2, "a/k": 1}, id="over all of its jobs"
        ),
        pytest.param(
            "queue q\njob a/j pods=2 cpu=1\njob a/k pods=2 cpu=1 queue=q",
            "a cpu=3",
            {"a/j": 2, "a/k": 1},
            id="in whatever queue",
        ),
        pytest.param("job a/j pods=3 cpu=1 min=3", "a cpu=2", {}, id="a gang waits whole"),
        pytest.param(
            "job a/j pods=2 min=2 cpu=1\npods a/j 1 cpu=500m", "a cpu=2", {"a/j": 2}, id="a gang of two shapes"
        ),
        pytest.param("job a/j pods=3 cpu=1 min=3", "a cpu=3", {"a/j": 3}, id="a gang that just fits"),
        pytest.param("job a/j pods=3 cpu=1 min=2", "a cpu=2", {"a/j": 2}, id="a gang's minimum"),
        pytest.param("pods a/r 2 cpu=1 on=n1\njob a/r pods=2 cpu=1", "a cpu=3", {"a/r": 1}, id="what runs counts"),
        pytest.param(
            "pods a/r 2 cpu=1 on=n1 leaving\njob a/j pods=2 cpu=1", "a cpu=2", {"a/j": 2}, id="not if it goes"
        ),
        pytest.param(
            "job a/r pods=0\npods a/r 2 cpu=1 on=n1\njob a/j pods=2 cpu=1",
            "a cpu=1",
            {},
            id="who is over gets nothing new",
        ),
        pytest.param(
            "job a/j pods=4 cpu=1 limits=cpu:2", "a limits.cpu=6", {"a/j": 3}, id="limits up to their ceiling"
        ),
        pytest.param("job a/j pods=4 cpu=1 limits=cpu:2", "a cpu=1 limits.cpu=6", {"a/j": 1}, id="requests as well"),
        pytest.param("job a/j pods=4 cpu=1 limits=cpu:2", "a limits.cpu=1", {}, id="not one whose limit is too large"),
        pytest.param("job a/j pods=4 cpu=1 limits=cpu:2", "a limits.memory=0", {"a/j": 4}, id="only limits it has"),
        pytest.param("job a/j pods=4 cpu=1 limits=cpu:2", "b limits.cpu=0", {"a/j": 4}, id="another's limits"),
        pytest.param(
            "job a/j pods=2 cpu=1 limits=cpu:2\njob a/k pods=2 cpu=1 limits=cpu:1",
            "a limits.cpu=5",
            {"a/j": 2, "a/k": 1},
            id="limits over all of its jobs",
        ),
        pytest.param("job a/j pods=3 cpu=1 min=3 limits=cpu:2", "a limits.cpu=5", {}, id="a gang waits for limits"),
        pytest.param("job a/j pods=3 cpu=1 min=3 limits=cpu:2", "a limits.cpu=6", {"a/j": 3}, id="a gang just within"),
        pytest.param(
            "job a/j pods=2 min=2 cpu=1 limits=cpu:2\npods a/j 1 cpu=500m limits=cpu:1",
            "a limits.cpu=4",
            {"a/j": 2},
            id="limits of a gang of two shapes",
        ),
        pytest.param(
            "pods a/r 2 cpu=1 on=n1 limits=cpu:2\njob a/r pods=2 cpu=1 limits=cpu:2",
            "a limits.cpu=6",
            {"a/r": 1},
            id="limits of what runs count",
        ),
        pytest.param(
            "pods a/r 2 cpu=1 on=n1 leaving limits=cpu:2\njob a/j pods=2 cpu=1 limits=cpu:2",
            "a limits.cpu=4",
            {"a/j": 2},
            id="limits of what goes do not",
        ),
        pytest.param(
            "job a/p min=2 phase=Running\npods a/p 1 cpu=1 on=n1\npods a/p 1 cpu=1 selector=zone:z\n"
            "job a/j min=2 pods=2 cpu=1 age=9",
            "a cpu=3",
            {},
            id="what a gang lacks that has a part of its minimum counts",
        ),
    ],
)
def test_what_a_namespace_may_hold(text: str, ceilings: str, expected: dict[str, int]) -> None:
    report = decide(FOUR + text, ceilings)

    assert bound(report) == expected
    assert not report.evictions


def test_others_go_on_while_one_is_at_its_ceiling() -> None:
    report = decide(FOUR + "job a/j pods=3 cpu=1 age=9\njob b/j pods=3 cpu=1", "a cpu=1\nb cpu=3")

    assert bound(report) == {"a/j": 1, "b/j": 3}
    assert report.unschedulable["a/j.1"].message == would_hold_too_much("namespace a", "1 cpu", "2")
    assert report.unschedulable["a/j.1"].reasons == {"NamespaceOverAllocation": 1}


def test_of_a_full_cluster_the_nodes_are_told_first() -> None:
    text = "node n1 cpu=1\njob a/j pods=2 cpu=1 memory=1Gi"
    report = decide(text, "a cpu=1 memory=1Gi", policy_of("gang", "predicates"))

    assert report.unschedulable["a/j.1"].message == also(
        available(1, {"Insufficient cpu": 1}),
        would_hold_too_much("namespace a", "1 cpu and 1Gi memory", "2 and 2Gi"),
    )


@pytest.mark.parametrize(
    ("ceilings", "message"),
    [
        pytest.param("a cpu=2", "2 cpu; this would make 3", id="of requests"),
        pytest.param("a limits.cpu=5", "5 limits.cpu; this would make 6", id="of limits"),
        pytest.param(
            "a cpu=2500m limits.cpu=5 limits.memory=2Gi",
            "2500m cpu, 5 limits.cpu and 2Gi limits.memory; this would make 3, 6 and 3Gi",
            id="of both",
        ),
    ],
)
def test_a_gang_is_told_what_all_of_it_would_hold(ceilings: str, message: str) -> None:
    report = decide(FOUR + "job a/j pods=3 min=3 cpu=1 limits=cpu:2,memory:1Gi", ceilings)

    assert report.jobs["a/j"].message == f"namespace a may hold {message}"


def test_a_pod_is_told_which_limits_its_namespace_would_hold() -> None:
    report = decide("node n1 cpu=8\njob a/j pods=5 cpu=1 limits=cpu:1", "a limits.cpu=4")

    assert report.unschedulable["a/j.4"].message == would_hold_too_much("namespace a", "4 limits.cpu", "5")


@pytest.mark.parametrize(
    ("text", "ceilings", "evicted", "nominated"),
    [
        pytest.param(
            "job b/low pods=0\npods b/low 2 cpu=2 on=n1\njob a/high pods=1 cpu=2 class=high", "a cpu=2", ["b"], ["a"],
            id="within its ceiling it takes from others",
        ),
        pytest.param(
            "job b/low pods=0\npods b/low 2 cpu=2 on=n1\njob a/high pods=1 cpu=2 class=high", "a cpu=1", [], [],
            id="over its ceiling it takes from nobody",
        ),
        pytest.param(
            "job a/low pods=0\njob b/low pods=0\npods b/low 1 cpu=2 on=n1\npods a/low 1 cpu=2 on=n1\n"
            "job a/high pods=1 cpu=2 class=high", "a cpu=2", ["a"], ["a"],
            id="at its ceiling it replaces its own",
        ),
        pytest.param(
            "node n2 cpu=2\njob a/low pods=0\njob b/low pods=0\npods b/low 2 cpu=2 on=n1\npods a/low 1 cpu=2 on=n2\n"
            "job a/high pods=1 cpu=2 class=high", "a cpu=2", ["a"], ["a"],
            id="also on another node",
        ),
        pytest.param(
            "job a/low pods=0\njob b/low pods=0\npods b/low 1 cpu=2 on=n1\npods a/low 2 cpu=1 on=n1\n"
            "job a/high pods=1 cpu=2 class=high", "a cpu=2", ["a", "a"], ["a"],
            id="and as much of it as it has to",
        ),
        pytest.param(
            "job b/low pods=0\npods b/low 2 cpu=2 on=n1\njob a/high pods=1 cpu=2 class=high limits=cpu:3",
            "a limits.cpu=3", ["b"], ["a"],
            id="within its limits it takes from others",
        ),
        pytest.param(
            "job b/low pods=0\npods b/low 2 cpu=2 on=n1\njob a/high pods=1 cpu=2 class=high limits=cpu:3",
            "a limits.cpu=2", [], [],
            id="beyond them it takes from nobody",
        ),
        pytest.param(
            "job a/low pods=0\njob b/low pods=0\npods b/low 1 cpu=2 on=n1 limits=cpu:2\n"
            "pods a/low 1 cpu=2 on=n1 limits=cpu:2\njob a/high pods=1 cpu=2 class=high limits=cpu:2",
            "a limits.cpu=2", ["a"], ["a"],
            id="with its limits used up it replaces its own",
        ),
    ],
)  # fmt: skip
def test_preempting_within_a_ceiling(text: str, ceilings: str, evicted: list[str], nominated: list[str]) -> None:
    report = decide(f"class high 1000\n{FOUR}{text}", ceilings, PREEMPTING)

    assert [victim.namespace for victim in report.evictions] == evicted
    assert [one.namespace for one in report.nominations] == nominated
    assert not report.binds


@pytest.mark.parametrize(
    ("ceilings", "evicted"), [pytest.param("", 2, id="without a ceiling"), pytest.param("a cpu=1", 0, id="over it")]
)
def test_reclaiming_within_a_ceiling(ceilings: str, evicted: int) -> None:
    text = (
        "queue q1 deserved=cpu:2\nqueue q2 deserved=cpu:2\n"
        f"{FOUR}job b/big queue=q2 pods=0\npods b/big 4 cpu=1 on=n1\njob a/j queue=q1 pods=2 min=2 cpu=1"
    )

    assert len(decide(text, ceilings, RECLAIMING).evictions) == evicted


def test_room_that_was_freed_is_kept_while_the_ceiling_dips() -> None:
    text = "node n1 cpu=2\npods b/old 1 cpu=2 on=n1 leaving\njob a/j pods=1 cpu=2 nominated=n1 phase=Inqueue"

    kept = decide(text, "a cpu=1")

    assert not kept.nominations, "nothing is taken back"
    assert not kept.binds


CONTENDED = (
    PREEMPTING,
    RECLAIMING,
    taking(
        "enqueue, allocate, reclaim, preempt, backfill", "priority gang-P conformance proportion", "drf-P predicates"
    ),
)


@given(
    text=st.one_of(clusters(), contended()),
    policy=st.sampled_from(CONTENDED),
    more_cpus=st.integers(-1, 4),
    more_pods=st.integers(-1, 4),
    of_cpu=st.sampled_from(["cpu", "limits.cpu"]),
)
@settings(max_examples=examples(40), deadline=None)
def test_nobody_who_gets_anything_ends_up_over_its_ceiling(
    text: str, policy: Policy, more_cpus: int, more_pods: int, of_cpu: str
) -> None:
    text += "\nnode n9 cpu=4 memory=64Gi\njob x/more phase=Inqueue queue=a class=high\npods x/more 4 cpu=1"
    text = re.sub(r"^(pods .* cpu=)(\w+)", r"\1\2 limits=cpu:\2", text, flags=re.MULTILINE)
    cache = mirror(manifests(text), arbitrating=True)
    snapshot = cache.snapshot(NOW)
    after = Counter(cache.held("x"))
    most = {of_cpu: max(0, after[of_cpu] + 1000 * more_cpus), "pods": max(0, after["pods"] + more_pods)}

    report = decide(text, f"x {of_cpu}={most[of_cpu]}m pods={most['pods']}", policy)

    tasks = {task.uid: task for job in snapshot.jobs.values() for task in job.tasks.values()}
    got: set[str] = set()
    for bind in report.binds:
        if bind.namespace == "x":
            after.update(_counted(snapshot, tasks[bind.uid]))
            got |= _counted(snapshot, tasks[bind.uid]).keys()
    for eviction in report.evictions:
        if eviction.namespace == "x":
            after.subtract(_counted(snapshot, tasks[eviction.uid]))
    event(f"pods of the namespace are bound within {of_cpu}" if of_cpu in got else "none is")
    assert all(after[name] <= limit for name, limit in most.items() if name in got)


def _counted(snapshot: Snapshot, task: Task) -> dict[str, int]:
    """What a pod asks for and is limited to, by counted name."""
    return {snapshot.axis.names[column]: value for column, value in task.shape.request} | dict(task.shape.limits)


@pytest.mark.parametrize(
    ("policy", "tiers"),
    [
        pytest.param(policy_of("gang", "drf"), [["gang"], ["drf", "allocation"]], id="it joins the last tier"),
        pytest.param(policy_of("gang allocation", "drf"), [["gang", "allocation"], ["drf"]], id="once is enough"),
        pytest.param(Policy((), ()), [["allocation"]], id="a policy without tiers gets one"),
    ],
)
def test_a_policy_with_the_plugin(policy: Policy, tiers: list[list[str]]) -> None:
    found = policy.with_plugin(ALLOCATION)

    assert [[conf.name for conf in tier.plugins] for tier in found.tiers] == tiers
    assert found.actions == policy.actions
