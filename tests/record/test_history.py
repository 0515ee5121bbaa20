"""A work trace says the same however often its recorder began anew, in whichever files it is, and cut in parts."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.clusters import seeded
from tests.support.examples import examples
from tests.support.work_stories import BEGIN, Story, recorded
from vsched.record.history import Gap, History, cut, merged
from vsched.record.lines import (
    DELETED,
    SUCCEEDED,
    UNSEEN,
    AnyLine,
    Began,
    Complete,
    JobThere,
    NodeThere,
    PodBound,
    PodEnded,
    PodStarted,
    PodThere,
)

counts = st.integers(1, 60)


def facts(history: History) -> dict[str, Any]:
    """What a trace says of the cluster, without how it was written."""
    return {
        "jobs": {
            id: (job.gone, sorted(pod.seen.id for pod in job.pods), plain(job.seen)) for id, job in history.jobs.items()
        },
        "pods": {
            id: (pod.came, pod.node, pod.bound, pod.started, pod.ended, pod.how) for id, pod in history.pods.items()
        },
        "nodes": {
            name: [(begin, end, plain(line)) for begin, end, line in node.spans] for name, node in history.nodes.items()
        },
        "queues": {name: plain(queue) for name, queue in history.queues.items()},
        "gaps": history.gaps,
    }


def plain(line: Any) -> Any:
    return msgspec.structs.replace(line, at=0.0)


@settings(max_examples=examples(200), deadline=None)
@given(seeded, counts, st.lists(st.integers(1, 80)))
def test_segments_that_begin_anywhere_say_what_one_would(random: Random, count: int, restarts: list[int]) -> None:
    changes = [*Story(random).changes(count)]
    assert facts(History(recorded(changes, restarts))) == facts(History(recorded(changes, [])))


@settings(max_examples=examples(200), deadline=None)
@given(seeded, counts)
def test_two_recorders_of_one_cluster_say_together_what_one_would(random: Random, count: int) -> None:
    changes = [*Story(random).changes(count)]
    assume(changes)
    first, second = sorted((random.randint(0, len(changes)), random.randint(0, len(changes))))
    whole = recorded(changes, [])
    early = recorded(changes[:second], [])
    book_at = recorded(changes, [first])
    begins = [place for place, line in enumerate(book_at) if isinstance(line, Began)]
    late = book_at[begins[-1] :]
    assert facts(History(merged([late, early]))) == facts(History(whole))


@settings(max_examples=examples(200), deadline=None)
@given(seeded, counts, st.lists(st.integers(1, 80)))
def test_a_part_says_of_its_time_what_the_whole_says(random: Random, count: int, restarts: list[int]) -> None:
    changes = [*Story(random).changes(count)]
    whole = recorded(changes, restarts)
    end = max((line.at for line in changes), default=BEGIN)
    since, until = sorted((random.uniform(BEGIN, end), random.uniform(BEGIN, end)))
    part, all_ = History(cut(whole, since, until)), History(line for line in whole if line.at <= until)
    there = {id for id, pod in all_.pods.items() if not pod.how or pod.ended >= since}
    assert part.pods.keys() == there
    for id in there:
        said, found = all_.pods[id], part.pods[id]
        assert (said.came, said.node, said.bound, said.started, said.ended, said.how) == (
            found.came,
            found.node,
            found.bound,
            found.started,
            found.ended,
            found.how,
        )
    nodes = {name for name, node in all_.nodes.items() if not node.spans[-1][1] or node.spans[-1][1] >= since}
    assert part.nodes.keys() == nodes


def a_pod(at: float, id: str = "p", job: str = "j") -> PodThere:
    return PodThere(at=at, id=id, job=job, created=at)


def a_job(at: float) -> JobThere:
    return JobThere(at=at, id="j", namespace="ns", name="train", queue="q", created=at)


def test_what_ended_while_nobody_looked_is_unseen_and_the_time_is_a_gap() -> None:
    lines: list[AnyLine] = [
        Began(at=0.0),
        NodeThere(at=0.0, name="n", has={}),
        a_job(0.0),
        a_pod(0.0),
        Complete(at=0.0),
        PodBound(at=2.0, id="p", node="n"),
        Began(at=50.0, after=10.0),
        Complete(at=50.0),
    ]
    found = History(lines)
    assert found.gaps == [Gap(10.0, 50.0)]
    assert (found.pods["p"].ended, found.pods["p"].how) == (50.0, UNSEEN)
    assert found.jobs["j"].gone == 50.0
    assert [(begin, end) for begin, end, _ in found.nodes["n"].spans] == [(0.0, 50.0)]


def test_what_a_pods_object_says_of_its_end_goes_before_that_nobody_saw_it() -> None:
    lines: list[AnyLine] = [
        Began(at=0.0),
        a_job(0.0),
        a_pod(0.0),
        Complete(at=0.0),
        Began(at=50.0, after=10.0),
        Complete(at=50.0),
        PodEnded(at=20.0, id="p", how=SUCCEEDED),
    ]
    assert (History(lines).pods["p"].ended, History(lines).pods["p"].how) == (20.0, SUCCEEDED)


def test_a_pod_that_had_its_node_before_has_no_time_of_binding_but_one_since_when_it_is_placed() -> None:
    lines: list[AnyLine] = [
        Began(at=100.0),
        a_job(90.0),
        PodThere(at=100.0, id="p", job="j", created=90.0),
        PodBound(at=93.0, id="p", node="n", unseen=True),
        PodStarted(at=93.0, id="p"),
        Complete(at=100.0),
        PodEnded(at=120.0, id="p", how=DELETED),
    ]
    pod = History(lines).pods["p"]
    assert (pod.came, pod.bound, pod.started, pod.placed, pod.ended) == (90.0, 0.0, 93.0, 93.0, 120.0)
