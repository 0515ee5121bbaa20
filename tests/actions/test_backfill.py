"""backfill: pods that ask for nothing, wherever they may run."""

from __future__ import annotations

import pytest

from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, plan, policy_of
from vsched.actions.backfill import uncommitted_allocations
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.framework.words.jobs import NOT_TRIED
from vsched.framework.words.nodes import FULL, available
from vsched.model.pods.status import Status
from vsched.settings.built_in import REGISTRY


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        pytest.param("job ns/a min=1 pods=2", {"a": 2}, id="pods without requests are placed"),
        pytest.param(
            "job ns/full min=1 pods=4 cpu=1\njob ns/a min=1 pods=2", {"full": 4, "a": 2}, id="on a full cluster too"
        ),
        pytest.param("job ns/a min=3 pods=2", {}, id="a gang without enough pods is not placed"),
        pytest.param("job ns/a min=2 pods=1\npods ns/a 1 cpu=1", {"a": 2}, id="they count for their gang's minimum"),
        pytest.param("job ns/a min=2 pods=1\npods ns/a 1 cpu=9", {}, id="and wait while the rest of it does not fit"),
        pytest.param("job ns/a min=1 pods=1 gated", {}, id="a gated pod is not placed"),
        pytest.param("job ns/a min=1 pods=1 selector=zone:z", {}, id="rules about nodes hold for them"),
        pytest.param("queue q state=Closed\njob ns/a pods=1 queue=q", {"a": 1}, id="a queue's state is not asked"),
        pytest.param("job ns/a minResources=cpu:99 pods=1", {}, id="a job that was not admitted is not placed"),
        pytest.param("job ns/a min=1 pods=1 queue=nowhere", {}, id="nor one of an unknown queue"),
    ],
)
def test_what_is_bound_on_one_node_of_four_cores(text: str, bound: dict[str, int]) -> None:
    assert plan(f"node n1 cpu=4\n{text}").bound == bound


def test_a_node_takes_no_more_pods_than_it_has_slots() -> None:
    found = plan("node n1 pods=2\njob ns/a min=1 pods=3")

    assert found.bound == {"a": 2}
    assert found.why("ns/a.2") == available(1, {FULL: 1})


def test_a_slot_that_is_being_left_is_not_taken_yet() -> None:
    assert plan("node n1 pods=1\npods ns/old 1 cpu=1 on=n1 leaving\njob ns/a min=1 pods=1").bound == {}


def test_queues_go_by_priority_and_jobs_by_age() -> None:
    text = """
        node n1 pods=4
        queue low
        queue high priority=1
        job ns/a min=1 pods=2 queue=low age=9
        job ns/b min=1 pods=1 queue=high
        job ns/c min=1 pods=2 queue=high age=5
    """
    assert plan(text).order == ["c.0", "c.1", "b.0", "a.0"]


def test_without_backfill_such_pods_wait() -> None:
    text = "node n1\njob ns/a min=1 pods=1"
    found = plan(text, policy_of("gang", "predicates", actions="enqueue, allocate"))

    assert found.bound == {}
    assert found.why("ns/a.0") == NOT_TRIED


def test_placements_that_stand_without_being_carried_out_are_found_by_job() -> None:
    text = "node n1 cpu=9\nqueue default\njob ns/a pods=3 cpu=1\njob ns/b pods=1 cpu=1\njob ns/c pods=1 cpu=1"
    session = Session(mirror(manifests(text)).snapshot(NOW), DEFAULT_POLICY, REGISTRY, Trace())
    for key, statuses in (("ns/a", "ap"), ("ns/b", "a"), ("ns/c", "a")):
        job = session.jobs[key]
        with session.statement() as statement:
            for status, task in zip(statuses, session.pending_tasks(job, best_effort=False), strict=False):
                (statement.allocate if status == "a" else statement.pipeline)(job, task, 0)
            (statement.commit if key == "ns/c" else statement.keep)()

    found = {
        key: [(entry.task.name, entry.status) for entry in entries]
        for key, entries in uncommitted_allocations(session).items()
    }

    assert found == {"ns/a": [("a.0", Status.ALLOCATED)], "ns/b": [("b.0", Status.ALLOCATED)]}


def test_held_nodes_change_nothing_for_jobs_that_no_node_is_held_for() -> None:
    text = """
        queue default
        node n1 cpu=4
        job ns/held min=1 pods=1 nominated=n1
        job ns/waits min=2
        pods ns/waits 1 cpu=9
        pods ns/waits 1
        job ns/free pods=1
    """
    assert plan(text).bound == {"held": 1, "free": 1}
