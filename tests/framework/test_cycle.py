"""Whole cycles on random small clusters with the default policy: what must hold whatever is decided."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from time import perf_counter
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import example, given, settings

from tests.support.backlogged import Backlogged, job
from tests.support.clusters import clusters, seeded
from tests.support.examples import examples
from tests.support.outcomes import carried_out, name_of
from tests.support.plans import DEFAULT_POLICY, NOW, Manifest, decide, manifests, mirror, policy_of
from tests.support.views import view
from vsched.framework.cycle import run_cycle
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobOrder, NoArgs, Plugin
from vsched.framework.policy import PluginConf, PluginTier, Policy
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.mirror.whatif.paper import PaperMirror
from vsched.model.maps import as_dict
from vsched.model.memo import Memo, Mode, Unequal
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.plugins import PLUGINS
from vsched.settings.built_in import REGISTRY

SETTLED_AFTER = 12
"""Cycles after which the smallest clusters have long stopped changing."""
quickly = settings(max_examples=examples(22), deadline=None)


NOMINATED_ELSEWHERE = """
node n1 cpu=2
node n2 cpu=2
queue a
pods x/old 1 cpu=1 on=n1 leaving
job x/j0 min=1 queue=a phase=Running
pods x/j0 1 cpu=1 nominated=n2
pods x/j0 1 cpu=2 on=n2 running
job x/j1 min=2 queue=a phase=Inqueue
pods x/j1 2 cpu=1
pods x/other 1 cpu=1 on=n1 running
"""
"""The first cycle moves the nomination to n1, and does nothing else."""
NOMINATED_AGAIN = """
node n1 cpu=2
queue a
job x/j0 min=1 queue=a phase=Pending
pods x/j0 2 cpu=1
pods x/j0 1 cpu=1 on=n1 leaving
"""
"""Each cycle nominates n1 for the pod that waits for the one that is leaving."""


class Step:
    """One cycle: what it saw, what it decided, and what the mirror shows once that has come true."""

    def __init__(self, cache: PaperMirror) -> None:
        self.before = cache.snapshot(NOW)
        self.held = {name: dict(books.allocated) for name, books in self.before.books.items()}
        self.tasks = {task.uid: task for job in self.before.jobs.values() for task in job.tasks.values()}
        self.report: CycleReport = run_cycle(self.before, DEFAULT_POLICY, REGISTRY)
        self.phases = {key: job.spec.phase for key, job in self.before.jobs.items()}
        cache.settle(self.report)
        self.after: Snapshot = cache.snapshot(NOW)

    @property
    def is_idle(self) -> bool:
        """Whether nothing was decided, but for nominations: these are decided again in each cycle."""
        return not self.report.binds and all(
            outcome.phase == self.phases[key] for key, outcome in self.report.jobs.items()
        )


def steps(objects: list[Manifest], cycles: int = 3) -> Iterator[Step]:
    cache = mirror(objects)
    for _ in range(cycles):
        yield Step(cache)


@quickly
@given(clusters())
def test_no_node_gives_more_than_it_has(text: str) -> None:
    for step in steps(manifests(text)):
        nodes = step.after.nodes
        for bind in step.report.binds:
            row = nodes.statics.row[bind.node]
            for column, _ in step.tasks[bind.uid].shape.request:
                assert nodes.idle[column, row] >= 0, (bind, nodes.axis.names[column])


@quickly
@given(clusters())
def test_whoever_is_bound_belongs_to_a_gang_that_has_its_minimum(text: str) -> None:
    for step in steps(manifests(text)):
        for key in {bind.job for bind in step.report.binds}:
            job = JobView(step.after.jobs[key])
            assert job.is_ready, key
            assert not job.roles_missing(), key


@quickly
@given(clusters())
def test_no_queue_grows_past_its_capability(text: str) -> None:
    for step in steps(manifests(text)):
        for name, queue in step.after.queues.items():
            held = step.after.books[name].allocated if name in step.after.books else {}
            for column, limit in queue.capability:
                before = step.held.get(name, {}).get(column, 0)
                assert held.get(column, 0) <= max(limit, before), (name, column)


@quickly
@given(clusters())
def test_pods_go_only_where_they_may(text: str) -> None:
    objects = manifests(text)
    nodes = {found["metadata"]["name"]: found for found in objects if found["kind"] == "Node"}
    pods = {found["metadata"]["uid"]: found for found in objects if found["kind"] == "Pod"}
    groups = {name_of(found) for found in objects if found["kind"] == "PodGroup"}
    bound: set[str] = set()
    for step in steps(objects):
        for bind in step.report.binds:
            pod, node = pods[bind.uid]["spec"], nodes[bind.node]
            labels, taints = node["metadata"]["labels"], node["spec"]["taints"]
            tolerated = {toleration["key"] for toleration in pod["tolerations"]}
            assert bind.uid not in bound, "bound twice"
            assert "nodeName" not in pod
            assert not pod["schedulingGates"]
            assert not node["spec"]["unschedulable"]
            assert pod["nodeSelector"].items() <= labels.items()
            assert {taint["key"] for taint in taints} <= tolerated
            assert bind.job in groups
            bound.add(bind.uid)


@quickly
@given(clusters())
def test_the_books_are_what_a_fresh_mirror_of_the_outcome_has(text: str) -> None:
    objects = manifests(text)
    for step in steps(objects):
        objects = carried_out(objects, step.report)
        assert view(step.after) == view(mirror(objects).snapshot(NOW))


TWO_REFUSALS = """node n1 cpu=2 memory=4Gi gpu=1
queue a capability=cpu:1
queue b
job x/j0 queue=b phase=Pending minResources=cpu:1
pods x/j0 1 cpu=1 gpu=1
job x/j1 queue=a phase=Pending
pods x/j1 1 cpu=1
pods x/j1 1 cpu=1 gpu=1
pods x/j1 4 cpu=1"""
"""The queue refuses the pods of one job for two reasons."""


@quickly
@example(TWO_REFUSALS, Random(0))
@example(TWO_REFUSALS, Random(3))
@given(clusters(), seeded)
def test_equal_objects_in_any_order_give_equal_bytes(text: str, random: Any) -> None:
    objects = manifests(text)
    shuffled = objects.copy()
    random.shuffle(shuffled)

    first, second = (
        msgspec.json.encode(decide(found, cycles=3).reports, order="sorted", enc_hook=as_dict)
        for found in (objects, shuffled)
    )

    assert first == second


@quickly
@given(clusters())
def test_a_cycle_leaves_its_snapshot_as_it_was_and_can_be_repeated(text: str) -> None:
    snapshot = mirror(manifests(text)).snapshot(NOW)
    before = picture(snapshot)

    first = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    assert picture(snapshot) == before
    assert run_cycle(snapshot, DEFAULT_POLICY, REGISTRY) == first


def picture(snapshot: Snapshot) -> Any:
    """A copy of all that a cycle is shown."""
    nodes, placed = snapshot.nodes, snapshot.placed
    arrays = (nodes.allocatable, nodes.idle, nodes.releasing, nodes.pipelined, nodes.requested, nodes.scoring)
    return deepcopy(
        {
            "arrays": [array.tobytes() for array in arrays],
            "axis": snapshot.axis.names,
            "jobs": {
                key: (job.spec, job.priority, job.counts, job.allocated, job.pending_request)
                for key, job in snapshot.jobs.items()
            },
            "tasks": {
                key: [(task.uid, task.status, task.node) for task in (*job.tasks.values(), *job.pending.values())]
                for key, job in snapshot.jobs.items()
            },
            "keys": (list(snapshot.active), list(snapshot.changed)),
            "queues": dict(snapshot.queues),
            "books": dict(snapshot.books),
            "shares": dict(snapshot.shares),
            "namespaces": dict(snapshot.namespaces),
            "placed": [(repr(labels), counts) for labels, counts in placed.counts.items()],
            "sums": (list(snapshot.total), list(snapshot.used)),
        }
    )


@quickly
@given(clusters())
@example(NOMINATED_ELSEWHERE)
@example(NOMINATED_AGAIN)
def test_once_nothing_changes_nothing_is_decided(text: str) -> None:
    cache = mirror(manifests(text))
    *_, idle, again = [Step(cache) for _ in range(SETTLED_AFTER)]

    assert idle.is_idle, "still deciding"
    assert again.is_idle
    assert again.report.nominations == idle.report.nominations
    assert again.report.unschedulable == idle.report.unschedulable
    assert again.report.queues == idle.report.queues


@quickly
@given(clusters())
def test_whoever_waits_is_told_why(text: str) -> None:
    (step,) = steps(manifests(text), cycles=1)
    bound = {bind.uid for bind in step.report.binds}
    told = {verdict.uid for verdict in step.report.unschedulable.values()}
    waiting = {task.uid for task in step.tasks.values() if task.uid in pending(step.before) and not task.gated}

    assert told == waiting - bound
    assert all(verdict.message for verdict in step.report.unschedulable.values())


def pending(snapshot: Snapshot) -> set[str]:
    return {uid for job in snapshot.jobs.values() for uid in job.pending}


def test_a_cycle_on_an_empty_cluster_decides_nothing() -> None:
    report = run_cycle(mirror([]).snapshot(NOW), DEFAULT_POLICY, REGISTRY)

    assert (report.binds, report.jobs, report.queues, report.unschedulable) == ((), {}, {}, {})


class Noting(Trace):
    """Knows the session, and what it copied of the nodes, for as long as these are there."""

    opened: list[weakref.ref[Any]]

    def timed(self, kind: str, name: str, function: Any, *arguments: Any) -> Any:
        result = super().timed(kind, name, function, *arguments)
        if kind == "session":
            self.opened = [weakref.ref(result), weakref.ref(result.nodes.idle)]
        return result


@pytest.mark.parametrize("measured", [False, True], ids=["as usual", "with every plugin measured"])
def test_a_cycle_is_freed_without_the_garbage_collector(measured: bool) -> None:
    """The collector runs seldom in the daemon, and what a cycle copies of the nodes is large."""
    text = "node n1 cpu=4\njob ns/a min=2 pods=3 cpu=1\njob ns/b min=9 pods=9 cpu=1"
    snapshot, trace = mirror(manifests(text)).snapshot(NOW), Noting(perf_counter, plugins=measured)
    gc.disable()
    try:
        assert run_cycle(snapshot, DEFAULT_POLICY, REGISTRY, trace).binds
        assert [found() for found in trace.opened] == [None, None]
    finally:
        gc.enable()


POLICY = policy_of("priority gang", "predicates proportion")


class Turning(Plugin[NoArgs], JobOrder):
    """Puts jobs in another order in each session, although it says that it does not."""

    name = "turning"
    by_job_alone = True
    timeless = True
    backwards: ClassVar[bool] = False

    def job_key(self, job: JobView) -> tuple[int, ...]:
        return tuple(-ord(letter) if Turning.backwards else ord(letter) for letter in job.key)


KNOWN = Registry.of((*PLUGINS, Turning), REGISTRY.actions.values())


def with_turning(policy: Policy) -> Policy:
    last = PluginTier((PluginConf(Turning.name, NoArgs()),))
    return msgspec.structs.replace(policy, tiers=(*policy.tiers, last))


def waiting() -> Backlogged:
    """Jobs of one class, and room for one of them."""
    cluster = Backlogged(*(job(number, "gang") for number in range(5)))
    cluster.put("pods x/fill 1 cpu=5 on=n1")
    return cluster


def proved() -> tuple[Backlogged, Memo, Policy]:
    """A cluster after a cycle; in the next one the order is another one, and there is room for more."""
    cluster, memo, policy = waiting(), Memo(Mode.PROVE), with_turning(POLICY)
    Turning.backwards = False
    run_cycle(cluster.cache.snapshot(1.0), policy, KNOWN, memo=memo)
    Turning.backwards = True
    cluster.put("node n3 cpu=6")
    return cluster, memo, policy


def test_a_plugin_whose_order_is_another_one_in_each_session_is_named() -> None:
    cluster, memo, policy = proved()
    with pytest.raises(Unequal, match=r"these plugins promise: turning \(timeless, by_job_alone\)"):
        run_cycle(cluster.cache.snapshot(2.0), policy, KNOWN, memo=memo)


def test_after_a_difference_nothing_is_kept_of_that_cycle() -> None:
    cluster, memo, policy = proved()
    with pytest.raises(Unequal):
        run_cycle(cluster.cache.snapshot(2.0), policy, KNOWN, memo=memo)
    snapshot = cluster.cache.snapshot(3.0)
    assert run_cycle(snapshot, policy, KNOWN, memo=memo).binds == run_cycle(snapshot, policy, KNOWN).binds


def test_plugins_that_keep_their_promises_are_not_blamed() -> None:
    cluster, memo = waiting(), Memo(Mode.PROVE)
    for number in range(4):
        snapshot = cluster.cache.snapshot(float(number))
        cluster.cache.assumptions.assume(run_cycle(snapshot, POLICY, KNOWN, memo=memo))
        cluster.put(job(10 + number, "single"))
