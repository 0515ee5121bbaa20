"""The look before the try: a gang is turned away untried only where trying would have come to nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import clusters
from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, plan, policy_of
from vsched.actions.allocate import allocate
from vsched.actions.assigning import place_until_ready
from vsched.actions.blocked import PendingTasks
from vsched.actions.enqueue import enqueue
from vsched.actions.ordering import OrderingArgs, QueueOrdering
from vsched.actions.pending import to_place
from vsched.actions.turns import JobTurns, next_of
from vsched.actions.words import room_for
from vsched.framework.classes import Segment
from vsched.framework.jobs import JobView
from vsched.framework.policy import Policy
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.framework.words import jobs as words
from vsched.framework.words.nodes import CORDONED, available, on_nodes
from vsched.model.queues.queue import Queue
from vsched.settings.built_in import REGISTRY

GANGS = policy_of("priority gang", "predicates nodeorder")


def try_everyone(session: Session) -> None:
    """allocate as it would be if every gang were tried."""
    pending = {job.key: pending for job in session.jobs.values() if (pending := to_place(session, job))}
    lost = (session.jobs[key] for key in pending if session.jobs[key].has_lost_pods)
    for job in sorted(lost, key=session.plugins.job_key):
        queue = session.queue(job)
        if not session.plugins.overused(queue) and not try_one(session, queue, job, pending[job.key]):
            del pending[job.key]
    ordering = QueueOrdering(session.plugins, OrderingArgs())
    segments = [Segment.again(session.jobs[key], session.plugins.job_key(session.jobs[key])) for key in pending]
    for queue, segment, queue_turns in JobTurns(ordering, session.snapshot.queues, segments):
        if session.plugins.overused(queue):
            queue_turns.closed = True
        else:
            job = next_of(session, segment)
            again = try_one(session, queue, job, pending[job.key])
            queue_turns.end_turn(Segment.again(job, session.plugins.job_key(job)) if again else None)


def try_one(session: Session, queue: Queue, job: JobView, pending: PendingTasks) -> bool:
    with session.statement() as statement:
        place_until_ready(session, queue, job, pending, statement)
        if session.plugins.job_ready(job):
            statement.commit()
            return bool(pending)
        if statement.placed and session.plugins.job_pipelined(job):
            statement.keep()
    return False


def decisions(session: Session) -> tuple[Any, ...]:
    """What is carried out, and what stands besides: who is where, in order."""
    committed, standing = (
        [(entry.task.uid, entry.row, entry.status) for entry in entries]
        for entries in (session.decisions.committed, session.ledger.log)
    )
    return committed, standing, session.nodes.idle.tolist(), session.nodes.pipelined.tolist()


@st.composite
def crowded(draw: st.DrawFn) -> str:
    """Gangs of one or two shapes, most of them too large for what is left."""
    lines = [f"node n{number} cpu={draw(st.integers(2, 6))}" for number in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        lines.append(f"pods ns/old 1 cpu={draw(st.integers(1, 3))} on=n0 leaving")
    for number in range(draw(st.integers(2, 6))):
        lines.append(f"job ns/g{number} min={draw(st.integers(2, 6))} age={draw(st.integers(0, 3))}")
        lines += [
            f"pods ns/g{number} {draw(st.integers(2, 5))} cpu={draw(st.integers(1, 3))}"
            for _ in range(draw(st.integers(1, 2)))
        ]
    return "\n".join(lines)


@settings(max_examples=examples(30), deadline=None)
@given(st.one_of(clusters(), crowded()), st.sampled_from([GANGS, DEFAULT_POLICY]))
def test_it_decides_what_trying_would_decide(text: str, policy: Policy) -> None:
    outcomes = []
    for act in (allocate, try_everyone):
        session = Session(mirror(manifests(text)).snapshot(NOW), policy, REGISTRY, Trace())
        enqueue(session)
        act(session)
        outcomes.append(decisions(session))

    assert outcomes[0] == outcomes[1]


FULL = on_nodes([("Insufficient cpu", 2)])
LACKING = words.lack_together(
    words.pods_like(["z.0"]), "9", "cpu", words.USABLE_NODES, words.free("8", leaving=False), several=False
)


@pytest.mark.parametrize(
    ("gang", "why", "headline"),
    [
        pytest.param(
            "job ns/z min=3 pods=3 cpu=3",
            {"z.0": room_for(available(2, {"Insufficient cpu": 2}), 2, 3)},
            f"{words.needs(words.THE_GANG, 3, 3, 2, 2)}: {FULL}",
            id="the first of its tasks is told what is in the way of one more",
        ),
        pytest.param(
            "job ns/z min=5\npods ns/z 3 cpu=3 age=9\npods ns/z 2 cpu=1",
            {"z.0": room_for(available(2, {"Insufficient cpu": 2}), 2, 3)},
            f"{words.needs(words.THE_GANG, 5, 5, 4)}: {LACKING}; {FULL}",
            id="of two shapes, the one that lacks room is told",
        ),
        pytest.param(
            "job ns/z min=3 pods=3 cpu=3\nnode n3 cpu=9 cordoned",
            {"z.0": room_for(available(3, {CORDONED: 1, "Insufficient cpu": 2}), 2, 3)},
            f"{words.needs(words.THE_GANG, 3, 3, 2)}: {on_nodes([('Insufficient cpu', 2), (CORDONED, 1)])}",
            id="nodes that refuse it for other reasons are counted too",
        ),
    ],
)
def test_what_is_said_of_a_gang_that_is_not_tried(gang: str, why: dict[str, str], headline: str) -> None:
    before = "node n1 cpu=4\nnode n2 cpu=4\njob ns/a min=3 pods=3 cpu=3 age=99"
    found = plan(f"{before}\n{gang}", GANGS)

    assert found.bound == {}
    assert {name: found.why(f"ns/{name}") for name in why} == why
    assert found.message("ns/z") == headline
    assert found.why("ns/z.1").startswith("its gang ns/z waits: ")


def test_a_gang_held_back_by_gates_alone_would_fit() -> None:
    text = """
        node n1 cpu=4
        job ns/a min=4 pods=4 cpu=2 age=9
        job ns/b min=4 pods=2 cpu=2
        pods ns/b 2 cpu=2 gated
    """
    found = plan(text, GANGS)

    assert found.why("ns/b.0") == words.fits_but_waits(words.gang_reaches_minimum("ns/b", 4))
    assert found.message("ns/b") == f"{words.gated(2, more=False)}: {words.needs(words.THE_GANG, 4, 4, 2)}"
