"""Reports are the same bytes whatever cycles keep for the next one."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import fields
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.keeping import keeping
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_from, policy_of
from vsched import api
from vsched.framework.cycle import run_cycle
from vsched.framework.nodes.carried import OWNER, CarriedNodes
from vsched.framework.policy import Policy
from vsched.framework.unchanged import CycleInputs, is_lasting, is_same, lasting_inputs
from vsched.kube.watch.deltas import Delta
from vsched.model.dump.cycle import report_bytes
from vsched.model.memo import ENTRIES_MAX, Memo, Mode, Unequal
from vsched.model.nodes.usage import Reading, table_of
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

BASE = """
queue q capability=cpu:6
queue r weight=2
weight x 2
node n1 cpu=8 zone=a
node n2 cpu=4 zone=b
pods x/held 2 cpu=1 on=n1
job x/held min=2 queue=q
job x/large min=4 pods=4 cpu=2 queue=q
job y/wide min=6 pods=6 cpu=3 queue=r
job y/alone min=1 pods=1 cpu=64
"""
CHANGES = (
    "node n3 cpu=8",
    "node n3 cpu=16",
    "node n1 cpu=8 zone=a cordoned",
    "node n1 cpu=8 zone=b",
    "node n4 cpu=4 zone=a",
    "job x/small min=1 pods=2 cpu=1 queue=q",
    "job x/again min=1 pods=2 cpu=1 queue=r",
    "job z/single min=1 pods=1 cpu=1",
    "pods y/runs 1 cpu=1 on=n1",
    "job z/other min=2 pods=2 cpu=2",
    "job z/pipelined min=1 pods=1 cpu=3 nominated=n1 queue=r",
    "pods z/runs 3 cpu=1 on=n2",
    "pods x/goes 2 cpu=2 on=n1 leaving",
    "queue r weight=7",
    "queue q capability=cpu:3 priority=4",
    "queue s weight=3",
    "queue s parent=r deserved=cpu:2",
    "queue r parent=top guarantee=cpu:3",
    "queue top deserved=cpu:6",
    "queue q parent=top capability=cpu:6 deserved=cpu:2",
    "weight x 5",
    "class high 1000",
    "job y/urgent min=1 pods=1 cpu=2 class=high queue=r",
    "quota x/small requests.cpu=3 used=requests.cpu:2",
    "pods x/large 1 cpu=1 gated",
)
TAKING = policy_of(
    "priority gang conformance proportion",
    "overcommit drf predicates nodeorder binpack",
    actions="enqueue, allocate, reclaim, preempt, backfill",
)
TREE = policy_from(
    """
    actions: "enqueue, allocate, reclaim, backfill"
    tiers:
    - plugins: [{name: priority}, {name: gang}]
    - plugins: [{name: predicates}, {name: capacity, enableHierarchy: true}, {name: nodeorder}]
    """
)
POLICIES = {
    "default": DEFAULT_POLICY,
    "capacity": policy_of("priority gang", "predicates capacity resourcequota nodeorder"),
    "tree": TREE,
    "taking": TAKING,
    "many": policy_of(
        "priority gang conformance pdb minruntime",
        "overcommit drf predicates proportion resourcequota job-limits nodegroup nodeorder task-topology",
        actions="enqueue, allocate, preempt, backfill",
    ),
    "timed": policy_of("priority gang sla", "predicates proportion"),
}


class Changing:
    """A cluster of lines that come and go, and cycles on it that share what they keep."""

    def __init__(self, text: str) -> None:
        self._lines = text.strip().splitlines()
        self.cache = mirror(manifests("\n".join(self._lines)))
        self.memo = keeping()
        self.now = NOW

    def toggle(self, line: str) -> None:
        """Add a line, or take it away if it is there; one about the same object replaces it."""
        before = self._objects()
        kept = [one for one in self._lines if one.split()[:2] != line.split()[:2] or one in BASE.splitlines()]
        self._lines = kept if line in self._lines else [*kept, line]
        after = self._objects()
        for key in [*before.keys() - after.keys(), *after]:
            kind, found = key[0], after.get(key)
            if found is None:
                self._apply(kind, Delta.DELETED, before[key])
            elif found != before.get(key):
                self._apply(kind, Delta.ADDED if key not in before else Delta.MODIFIED, found)

    def _apply(self, kind: str, delta: Delta, found: dict[str, Any]) -> None:
        found["metadata"].setdefault("uid", found["metadata"]["name"])
        self.cache.intake.apply(kind, delta, api.decode(kind, orjson.dumps(found)))

    def _objects(self) -> dict[tuple[str, str, str], dict[str, Any]]:
        made = manifests("\n".join(self._lines))
        return {(one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one for one in made}

    def run(self, policy: Policy, *, assume: bool = False) -> CycleReport:
        """A cycle, compared with one that nothing was kept for."""
        self.now += 1.0
        snapshot = self.cache.snapshot(self.now)
        report = run_cycle(snapshot, policy, REGISTRY, memo=self.memo)
        assert report_bytes(report) == report_bytes(run_cycle(snapshot, policy, REGISTRY))
        if assume:
            self.cache.assumptions.assume(report)
        return report


@settings(max_examples=examples(240))
@given(
    name=st.sampled_from([*POLICIES]),
    steps=st.lists(st.tuples(st.sampled_from(CHANGES), st.booleans(), st.integers(1, 3)), max_size=8),
)
def test_whatever_changes_between_cycles(name: str, steps: list[tuple[str, bool, int]]) -> None:
    cluster = Changing(BASE)
    for line, assume, cycles in steps:
        cluster.toggle(line)
        for _ in range(cycles):
            cluster.run(POLICIES[name], assume=assume)


EASY = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}, {{name: easy-backfill, arguments: {arguments}}}]
- plugins: [{{name: predicates}}, {{name: proportion}}, {{name: nodeorder}}]
"""
PLANNING = [
    policy_from(EASY.format(arguments=arguments))
    for arguments in ("{depth: 2, reserveFor: {waited: 90s}}", "{trust: [declared]}")
]
LASTS = "vsched.io/expected-duration"
ENDING = """
node n1 cpu=9
node n2 cpu=9
pods x/long 1 cpu=8 on=n1 started={first} {says}
job x/long min=1
pods x/short 1 cpu=8 on=n2 started=60 vsched.io/expected-duration=600s
job x/short min=1
job x/big min=2 pods=2 cpu=9 age={age}
job x/small min=1 pods=1 cpu=1 vsched.io/expected-duration={whole}s age=20
job x/other min=2 pods=2 cpu=7 age=120
"""
SAYS = ("", f"{LASTS}=300s", f"{LASTS}=1h", "deadline=400", f"{LASTS}=10m deadline=500")
LATE = """
node n1 cpu=9
pods x/late 1 cpu=8 on=n1 started=390 deadline=400
job x/late min=1
job x/big min=1 pods=1 cpu=9 age=3600
"""
TIMES = st.sampled_from((0.0, 0.25, 1.0, 7.0, 29.5, 31.0, 60.0, 119.0, 290.0, 3600.0))


@example(PLANNING[0], f"{LASTS}=300s", 5, 3600, 535, [0.0, 1.0, 1.0, 1.0, 1.0]).via(
    "work that went before ends too late"
)
@example(PLANNING[1], "deadline=400", 299, 3600, 60, [0.0, 119.0, 119.0]).via("work past its deadline is overdue")
@settings(max_examples=examples(60))
@given(
    policy=st.sampled_from(PLANNING),
    says=st.sampled_from(SAYS),
    first=st.sampled_from((5, 240, 299, 7000)),
    age=st.sampled_from((10, 60, 89, 3600)),
    whole=st.sampled_from((60, 535, 3000)),
    times=st.lists(TIMES, min_size=2, max_size=8),
)
def test_whatever_time_passes_while_starts_are_planned(
    policy: Policy, says: str, first: int, age: int, whole: int, times: list[float]
) -> None:
    cluster = Changing(ENDING.format(says=says, first=first, age=age, whole=whole))
    for seconds in times:
        cluster.now += seconds
        cluster.run(policy)


ASKING = "job x/urgent min=2 pods=2 cpu=1 class=high age=6"
SAYING = {
    "sla": "{sla-waiting-time: 2m}",
    "minruntime": "{preemptMinRuntime: 5m, reclaimMinRuntime: 4m}",
    "preemption-delay": "{preemptionDelay: 2m}",
    "cdp": "{}",
    "wall-time": "{maxWallTime: 5m}",
    "usage-history": "{halfLife: 1m}",
}
"""Plugins that say until when their answers hold, and arguments."""
TIMED = {
    name: policy_from(
        f"""
        actions: "enqueue, allocate, preempt, reclaim, backfill"
        tiers:
        - plugins: [{{name: priority}}, {{name: {name}, arguments: {arguments}}}]
        - plugins: [{{name: gang}}, {{name: overcommit}}]
        - plugins: [{{name: predicates}}, {{name: proportion}}, {{name: nodeorder}}]
        """
    )
    for name, arguments in SAYING.items()
}
PASSING = """
queue q
queue r
class high 10
node n1 cpu=8
pods x/runs 4 cpu=1 on=n1 started={age} scheduled={age} volcano.sh/cooldown-time=5m
job x/runs min=1 queue=q
pods y/runs 4 cpu=1 on=n1 started=60 scheduled=60 volcano.sh/cooldown-time=3m
job y/runs min=1 queue=r
job x/urgent min=2 pods=2 cpu=1 queue=q class=high age={waited}
job y/wide min=3 pods=3 cpu=1 queue=r age=20
job y/later min=1 pods=1 cpu=1 queue=r age=90 minResources=cpu:64
"""


@settings(max_examples=examples(60))
@given(
    name=st.sampled_from(sorted(TIMED)),
    age=st.sampled_from((5, 178, 299, 7000)),
    waited=st.sampled_from((1, 60, 119)),
    times=st.lists(TIMES, min_size=2, max_size=8),
)
def test_whatever_time_passes_with_plugins_that_say_until_when_their_answers_hold(
    name: str, age: int, waited: int, times: list[float]
) -> None:
    cluster = Changing(PASSING.format(age=age, waited=waited))
    cluster.cache.stores.history.keep(TIMED[name].decays())
    for seconds in times:
        cluster.now += seconds
        cluster.run(TIMED[name])


@pytest.mark.parametrize("name", TIMED)
def test_what_only_time_changes_is_decided_when_it_is_due(name: str) -> None:
    cluster = Changing(PASSING.format(age=5, waited=1))
    reports = [cluster.run(TIMED[name]) for _ in range(60)]
    assert len({id(report) for report in reports}) <= 7


def test_a_gang_for_which_nodes_could_be_asked_takes_room_once_the_time_for_that_is_over() -> None:
    cluster = Changing("node n1 cpu=3\npods x/runs 3 cpu=1 on=n1\njob x/runs min=1\nclass high 10\n" + ASKING)
    cluster.cache.inputs.provisioning = {}
    assert [len(cluster.run(POLICIES["taking"]).evictions) for _ in range(6)] == [0, 0, 0, 2, 2, 2]


STEPS = st.tuples(st.sampled_from(CHANGES), st.booleans(), st.sampled_from(("default", "default", *POLICIES)))


@settings(max_examples=examples(80))
@given(steps=st.lists(STEPS, min_size=2, max_size=16))
def test_whatever_changes_between_cycles_the_policy_included(steps: list[tuple[str, bool, str]]) -> None:
    cluster = Changing(BASE)
    for line, assume, name in steps:
        cluster.toggle(line)
        cluster.run(POLICIES[name], assume=assume)


def carried(memo: Memo) -> CarriedNodes:
    """What the next cycle takes over."""
    found = memo.take(OWNER, CarriedNodes)
    assert found is not None
    memo.leave(OWNER, found)
    return found


def test_scores_of_a_shape_are_used_again_and_follow_what_changed() -> None:
    cluster = Changing("node n1 cpu=8\nnode n2 cpu=8\njob x/first min=1 pods=1 cpu=3")
    assert [bind.node for bind in cluster.run(DEFAULT_POLICY, assume=True).binds] == ["n1"]
    known = carried(cluster.memo)
    for line, nodes in (
        ("job x/second min=1 pods=1 cpu=3", ["n1"]),
        ("job x/third min=1 pods=1 cpu=3", ["n2"]),
        ("node n2 cpu=8 cordoned", []),
        ("job x/fourth min=1 pods=1 cpu=3", []),
        ("node n2 cpu=8", ["n2"]),
    ):
        cluster.toggle(line)
        assert [bind.node for bind in cluster.run(DEFAULT_POLICY, assume=True).binds] == nodes
        if nodes == ["n1"]:
            assert carried(cluster.memo) is known


def test_while_nothing_changes_waiting_jobs_get_the_same_report() -> None:
    cluster = Changing(BASE)
    cluster.run(DEFAULT_POLICY, assume=True)
    cluster.run(DEFAULT_POLICY, assume=True)
    settled = cluster.run(DEFAULT_POLICY, assume=True)
    assert settled.unschedulable
    assert cluster.run(DEFAULT_POLICY) is settled
    assert cluster.run(DEFAULT_POLICY) is settled

    cluster.toggle("job z/other min=2 pods=2 cpu=2")
    after = cluster.run(DEFAULT_POLICY)
    assert after is not settled
    assert "z/other" in after.jobs


def test_planned_starts_are_planned_again_when_what_is_said_of_them_changes() -> None:
    cluster = Changing(ENDING.format(says=f"{LASTS}=1h", first=5, age=3600, whole=3000))
    reports = [cluster.run(PLANNING[0]) for _ in range(120)]
    assert reports[-1].jobs["x/big"].planned is not None
    assert len({id(report) for report in reports}) <= 6


def test_a_start_that_is_planned_for_now_and_waits_is_planned_for_the_time_of_each_session() -> None:
    cluster = Changing(LATE)
    starts = [cluster.run(PLANNING[0]).jobs["x/big"].planned for _ in range(50)]
    assert [None if one is None else one.at - NOW for one in starts[:40]] == [10.0] * 10 + [*range(11, 41)]
    assert starts[40] == starts[49]


FOLLOWING = {"nominated", "admitted", "reserving", "phases", "total", "used", "axis", "state"}
"""Fields of a snapshot that change with jobs and nodes, for which ``state`` stands."""
UNREAD = {"now", "previous", "since", "history"}
"""Fields that policies do not read whose reports last."""


def inputs(snapshot: Snapshot) -> CycleInputs | None:
    return lasting_inputs(snapshot, lasting=is_lasting(DEFAULT_POLICY, REGISTRY))


@pytest.mark.parametrize("name", [field.name for field in fields(Snapshot)])
def test_a_report_lasts_as_long_as_no_field_of_the_snapshot_changes(name: str) -> None:
    cluster = Changing(BASE)
    for _ in range(3):
        cluster.run(DEFAULT_POLICY, assume=True)
    snapshot = cluster.cache.snapshot(cluster.now)
    changed = copy(snapshot)
    setattr(changed, name, {"nodes": copy(snapshot.nodes), "changed": ["x/large"]}.get(name, object()))
    lasts = name in UNREAD | FOLLOWING - {"state"}
    before, after = inputs(snapshot), inputs(changed)

    assert before is not None
    assert (after is not None and is_same(before, after)) is lasts or name == "changed"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("provisioning", {"x/large": object()}, id="nodes that are asked for, as that ends at some time"),
        pytest.param("asked", ["x/held"], id="pods that were asked to end, as these have a deadline"),
        pytest.param("arbitration", object(), id="arbitration, which is due at times"),
        pytest.param("state", None, id="a mirror that does not say what has changed"),
    ],
)
def test_no_report_lasts_beside(name: str, value: object) -> None:
    snapshot = Changing(BASE).cache.snapshot(NOW)
    setattr(snapshot, name, value)
    assert inputs(snapshot) is None


def test_a_report_lasts_no_longer_than_what_was_measured_of_nodes() -> None:
    snapshot = Changing(BASE).cache.snapshot(NOW)
    before = inputs(snapshot)
    snapshot.nodes.usage = table_of(Reading(NOW, {}), snapshot.nodes.statics.names)
    after = inputs(snapshot)
    assert before is not None
    assert after is not None
    assert not is_same(before, after)


# -- the memo itself --------------------------------------------------------------------------------------------------


def test_an_answer_is_made_again_where_an_input_is_another_one() -> None:
    memo, some, others = keeping(), (1, 2), (4, 5)
    assert [memo.of("owner", "key", (found,), sum) for found in (some, some, others, some)] == [3, 3, 9, 3]
    assert (memo.hits, memo.misses) == ({"owner": 1}, {"owner": 3})


def test_owners_do_not_see_what_others_keep() -> None:
    memo = keeping()
    memo.leave("one", [1])
    assert memo.take("other", list) is None
    assert memo.take("one", list) == [1]
    assert memo.take("one", list) is None, "it was taken over"


@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(lambda memo: memo.begin("another policy"), id="another policy"),
        pytest.param(lambda memo: memo.begin("policy"), id="a cycle that did not end"),
    ],
)
def test_what_was_kept_is_forgotten_with(begin: Callable[[Memo], None]) -> None:
    memo = keeping()
    memo.begin("policy")
    memo.leave("owner", [1])
    begin(memo)
    assert memo.take("owner", list) is None


def test_nothing_is_kept_where_it_is_off() -> None:
    memo = Memo(Mode.OFF)
    memo.leave("owner", [1])
    assert memo.take("owner", list) is None
    assert [memo.renewed("owner", "key", int, lambda before: (before or 0) + 1) for _ in range(3)] == [1, 1, 1]


def test_what_is_kept_by_mistake_is_named_where_it_is_proved() -> None:
    memo, hidden = Memo(Mode.PROVE), [1]

    def make(found: str) -> str:
        return f"{found}{hidden[0]}"

    memo.of("careless", "key", ("a",), make)
    hidden[0] = 2
    with pytest.raises(Unequal, match="careless: the answer kept for 'key'"):
        memo.of("careless", "key", ("a",), make)
    memo.renewed("counting", "key", int, lambda before: (before or 0) + 1)
    with pytest.raises(Unequal, match="counting: what is kept of 'key'"):
        memo.renewed("counting", "key", int, lambda before: (before or 0) + 1)


def test_owners_keep_so_much_at_most() -> None:
    memo = keeping()
    for number in range(ENTRIES_MAX + 1):
        memo.renewed("owner", number, int, lambda before: 0 if before is None else before + 1)
    assert memo.renewed("owner", 0, int, lambda before: 0 if before is None else before + 1) == 0


@pytest.mark.parametrize(
    ("policy", "text", "line", "evicted"),
    [
        pytest.param(
            "taking",
            "class high 9\nnode n1 cpu=2\njob x/low min=0 phase=Running\npods x/low 2 cpu=1 on=n1\n"
            "pdb x/guard selector=job:low allowed=0\njob x/high min=1 pods=1 cpu=1 class=high phase=Inqueue",
            "pdb x/guard selector=job:low allowed=1",
            1,
            id="a disruption budget that allows one again",
        ),
    ],
)
def test_what_changes_alone_is_decided_on(policy: str, text: str, line: str, evicted: int) -> None:
    cluster = Changing(text)
    for _ in range(3):
        assert not cluster.run(POLICIES[policy]).evictions
    cluster.toggle(line)
    assert len(cluster.run(POLICIES[policy]).evictions) == evicted


def test_a_policy_that_looks_at_the_clock_decides_anew() -> None:
    cluster = Changing(BASE)
    timed = policy_of("priority gang tdm", "predicates proportion")
    assert cluster.run(timed) is not cluster.run(timed)


def test_another_policy_gets_nothing_of_what_was_kept_for_the_last_one() -> None:
    cluster = Changing(BASE)
    for policy in (DEFAULT_POLICY, TAKING, DEFAULT_POLICY, POLICIES["capacity"], TAKING):
        cluster.run(policy)
        cluster.run(policy)


def test_queues_and_namespaces_that_hold_what_they_did_keep_their_records() -> None:
    cluster = Changing(BASE)
    cluster.run(DEFAULT_POLICY, assume=True)
    before = cluster.run(DEFAULT_POLICY)
    cluster.toggle("pods z/runs 3 cpu=1 on=n2")
    cluster.toggle("job z/runs min=1 queue=s")
    after = cluster.run(DEFAULT_POLICY)
    assert after.namespaces["q/x"] is before.namespaces["q/x"]
    assert after.queues["q"] is before.queues["q"]
