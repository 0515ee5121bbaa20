"""What a session asks of the mirror can be had in steps, with events in between, and is the same in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mirror.streams import Event, Fields, sometimes, streams
from tests.support import builders as make
from tests.support.examples import examples
from tests.support.views import view
from vsched import api
from vsched.mirror.intake import SETTLING
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.plan import Bind, CycleReport, Evict

OURS = frozenset({"volcano"})
GANGS = 560


def full(cache: Mirror, gangs: int = GANGS) -> Mirror:
    """A mirror with many jobs of one pod each, half of them on a node; their pods have labels of their own."""
    cache.intake.replace("Node", [make.read(make.node("n1", status={"allocatable": {"cpu": "9000", "pods": "9000"}}))])
    cache.intake.replace("PodGroup", [make.read(make.pod_group(f"g{number:03}")) for number in range(gangs)])
    cache.intake.replace("Pod", [pod(number) for number in range(gangs)])
    return cache


def pod(number: int, version: int = 0) -> api.Object:
    fields = make.pod(f"p{number}", group=f"g{number:03}", node="n1" if number % 2 else "")
    fields["metadata"] |= {"labels": {"app": f"a{number}"}, "resourceVersion": str(version)}
    return make.read(fields)


def with_bare_pods(cache: Mirror) -> Mirror:
    """The mirror with pods that name no PodGroup, whose jobs are in the default queue of their namespace."""
    for number in range(20):
        cache.intake.apply("Pod", "ADDED", make.read(make.pod(f"bare-{number}")))
    return cache


def amounts(cache: Mirror) -> dict[str, tuple[Any, ...]]:
    """What each namespace holds and waits for, as arbitration sees it."""
    return {name: (found.held, found.leaving, found.waiting) for name, found in cache.arbitration().parties.items()}


def drained(steps: Iterator[None], between: Callable[[int], None] = lambda number: None) -> int:
    """Take all steps; returns how many there were."""
    taken = 0
    for _ in steps:
        between(taken)
        taken += 1
    return taken


def test_many_changes_are_published_a_few_at_a_time() -> None:
    plain, stepwise = full(Mirror(MirrorSettings(OURS))), full(Mirror(MirrorSettings(OURS)))
    assert drained(stepwise.preparing()) > GANGS
    expected, found = plain.snapshot(1.0), stepwise.snapshot(1.0)
    assert view(found) == view(expected)
    assert found.changed == expected.changed
    assert found.active == expected.active
    assert drained(stepwise.preparing()) == 0
    assert stepwise.snapshot(2.0).changed == ()


def test_few_changes_are_left_to_the_snapshot() -> None:
    cache = full(Mirror(MirrorSettings(OURS)), gangs=20)
    assert drained(cache.preparing()) == 0
    assert len(cache.snapshot(1.0).changed) == 20


def test_what_happens_between_the_steps_is_in_the_snapshot() -> None:
    cache = full(Mirror(MirrorSettings(OURS)))

    def happens(step: int) -> None:
        if step == 100:
            cache.intake.apply("Pod", "DELETED", pod(0, 10))
            cache.intake.apply("Pod", "DELETED", pod(299, 11))
            cache.intake.apply("PodGroup", "DELETED", make.read(make.pod_group("g001")))
            cache.intake.apply("Pod", "ADDED", pod(GANGS, 12))
            cache.intake.apply("PodGroup", "ADDED", make.read(make.pod_group(f"g{GANGS:03}")))

    drained(cache.preparing(), happens)
    found = cache.snapshot(1.0)
    fresh = Mirror(MirrorSettings(OURS))
    fresh.intake.replace("Node", [make.read(make.node("n1", status={"allocatable": {"cpu": "9000", "pods": "9000"}}))])
    groups = (f"g{number:03}" for number in range(GANGS + 1) if number != 1)
    fresh.intake.replace("PodGroup", [make.read(make.pod_group(name)) for name in groups])
    fresh.intake.replace("Pod", [pod(number) for number in range(GANGS + 1) if number not in (0, 299)])
    assert view(found) == view(fresh.snapshot(1.0))


def test_a_decision_is_assumed_pod_by_pod() -> None:
    plain, stepwise = full(Mirror(MirrorSettings(OURS)), 40), full(Mirror(MirrorSettings(OURS)), 40)
    binds = tuple(Bind(f"uid-p{number}", "ns", f"p{number}", "n1", f"ns/g{number:03}") for number in range(0, 40, 2))
    plain.snapshot(1.0)
    stepwise.snapshot(1.0)
    plain.assumptions.assume(CycleReport(binds=binds))
    gone = pod(38, 5)

    def happens(step: int) -> None:
        if step == 3:
            stepwise.intake.apply("Pod", "DELETED", gone)

    assert drained(stepwise.assumptions.assuming(CycleReport(binds=binds)), happens) == len(binds)
    plain.intake.apply("Pod", "DELETED", gone)
    assert view(stepwise.snapshot(2.0)) == view(plain.snapshot(2.0))


def test_evictions_are_assumed_pod_by_pod_each_with_what_its_budget_is_promised() -> None:
    plain, stepwise = full(Mirror(MirrorSettings(OURS)), 40), full(Mirror(MirrorSettings(OURS)), 40)
    victims = [
        Evict(f"uid-p{number}", "ns", f"p{number}", "n1", f"ns/g{number:03}", "preempt", "ns/g000")
        for number in range(1, 40, 2)
    ]
    for cache in (plain, stepwise):
        cache.intake.replace("PodDisruptionBudget", [make.read(make.budget("all", {}, disruptionsAllowed=30))])
        cache.snapshot(1.0)
    gone = pod(39, 5)
    plain.intake.apply("Pod", "DELETED", gone)  # nothing is promised of a pod that has gone before its turn
    plain.assumptions.assume(CycleReport(evictions=tuple(victims)))

    def happens(step: int) -> None:
        if step == 3:
            stepwise.intake.apply("Pod", "DELETED", gone)

    assert drained(stepwise.assumptions.assuming(CycleReport(evictions=tuple(victims))), happens) == len(victims)
    expected, found = plain.snapshot(2.0), stepwise.snapshot(2.0)
    assert view(found) == view(expected)
    assert found.budgets["ns"][0].allowed == 30 - 19


def test_what_a_list_lacks_is_removed_in_steps() -> None:
    cache = Mirror(MirrorSettings(OURS))
    cache.intake.replace("Pod", [make.read(make.pod(f"p{number}")) for number in range(30)])
    cache.intake.restart("Pod")
    for number in range(20):
        cache.intake.include("Pod", make.read(make.pod(f"p{number}")))
    assert drained(cache.intake.finish("Pod")) == 10
    assert cache.describe()["tasks"] == 20


def test_what_follows_from_short_lists_is_worked_out_with_them() -> None:
    """So that the first snapshot need not go through all jobs again."""
    cache = full(Mirror(MirrorSettings(OURS)))
    drained(cache.preparing())
    cache.snapshot(1.0)
    cache.intake.replace("PriorityClass", [make.read(make.priority_class("high", 7, is_default=True))])
    assert "PriorityClass" in SETTLING
    assert drained(cache.preparing()) == GANGS
    assert {job.priority for job in cache.snapshot(2.0).jobs.values()} == {7}


def test_the_rest_of_what_follows_from_a_list_is_left_to_the_snapshot_where_nobody_goes_on_with_it() -> None:
    cache = full(Mirror(MirrorSettings(OURS)))
    cache.snapshot(1.0)
    cache.intake.restart("PriorityClass")
    cache.intake.include("PriorityClass", make.read(make.priority_class("high", 7, is_default=True)))
    steps = cache.intake.finish("PriorityClass")
    for _ in range(50):
        next(steps)
    steps.close()
    assert {job.priority for job in cache.snapshot(2.0).jobs.values()} == {7}


HAPPENS = st.sampled_from(["class", "queue", "list", "session", "go on", "go on", "leave", "look"])


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(HAPPENS, st.integers(0, 60))))
def test_classes_and_queues_may_change_while_others_work_out_what_follows(happens: list[tuple[str, int]]) -> None:
    """A list that ends and a session go on with the same steps; some never end, and snapshots are taken in between."""
    plain, stepwise = (with_bare_pods(full(Mirror(MirrorSettings(OURS)), 20)) for _ in range(2))
    callers: dict[str, Iterator[None]] = {}
    high = make.priority_class("high", 1, is_default=True)
    for version, (what, number) in enumerate([*happens, ("look", 0)], 1):
        at = {"resourceVersion": str(version)}
        if what == "class":
            high = make.merged(high, {"value": number, "metadata": at})
            for cache in (plain, stepwise):
                cache.intake.apply("PriorityClass", "MODIFIED", make.read(high))
        elif what == "queue":
            annotations = {"scheduling.volcano.sh/queue-name": f"q{number % 3}"}
            team = make.merged(make.namespace("ns"), {"metadata": {"annotations": annotations} | at})
            for cache in (plain, stepwise):
                cache.intake.apply("Namespace", "MODIFIED", make.read(team))
        elif what == "list":
            high = make.merged(high, {"value": number, "metadata": at})
            plain.intake.replace("PriorityClass", [make.read(high)])
            stepwise.intake.restart("PriorityClass")
            stepwise.intake.include("PriorityClass", make.read(high))
            callers[what] = stepwise.intake.finish("PriorityClass")
        elif what == "session":
            callers[what] = stepwise.preparing()
        elif what == "look":
            assert view(stepwise.snapshot(version)) == view(plain.snapshot(version))
        elif callers:
            caller = sorted(callers)[number % len(callers)]
            if what == "leave":
                del callers[caller]
            else:
                list(islice(callers[caller], number))


@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(streams(), st.data())
def test_steps_with_events_in_between_end_as_one_snapshot(
    stream: tuple[list[Event], list[Fields]], data: st.DataObject
) -> None:
    plain, stepwise = (full(Mirror(MirrorSettings(OURS, arbitrating=True))) for _ in range(2))
    for cache in (plain, stepwise):
        cache.snapshot(0.0) if data.draw(sometimes, label="seen before") else None
    waiting = [(type_, kind, make.read(fields)) for type_, kind, fields in stream[0]]
    for event in waiting:
        plain.intake.apply(event[1], event[0], event[2])

    def happens(step: int) -> None:
        if waiting and step % 20 == 0:
            type_, kind, found = waiting.pop(0)
            stepwise.intake.apply(kind, type_, found)

    drained(stepwise.preparing(), happens)
    while waiting:
        happens(0)
    expected, found = plain.snapshot(1.0), stepwise.snapshot(1.0)
    assert view(found) == view(expected)
    assert amounts(stepwise) == amounts(plain)
    assert list(found.changed) == sorted(found.changed)
