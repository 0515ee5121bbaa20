"""The ledger and statements: whatever was tried and taken back leaves every book as it was, bit for bit."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.small import SmallCluster
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import EvictionCause, Ledger, LedgerEntry
from vsched.framework.ledger.statement import Statement
from vsched.framework.ledger.usage import SessionUsage
from vsched.model.nodes.table import NodeTable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task


class Books:
    """A ledger over two nodes and two jobs, and a picture of everything it keeps."""

    def __init__(self) -> None:
        cluster = SmallCluster().node("n1").node("n2", cpu=2000)
        cluster.job("a", 4, min_member=3, min_task_member=(("", 1),))
        cluster.job("b", 4, shape=cluster.shape(cpu=500, memory=0, **{"example.com/gpu": 1000}), queue="default")
        cluster.running("c", 3, node="n1", min_member=2, min_task_member=(("", 2),))
        snapshot = cluster.snapshot()
        self.nodes: NodeTable = snapshot.nodes.copy()
        self.jobs = [JobView(job) for job in snapshot.jobs.values()]
        self.tasks = [(job, task) for job in self.jobs for task in job.job.pending.values()]
        self.running = [(self.jobs[2], task) for task in self.jobs[2].job.tasks.values()]
        self.usage = SessionUsage(snapshot)
        self.heard: list[tuple[str, int]] = [(task.uid, 0) for _, task in self.running]
        self.ledger = Ledger(self.nodes, self.usage, [self])
        self.committed: list[LedgerEntry] = []

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        self.heard.append((task.uid, row))

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        self.heard.remove((task.uid, row))

    def statement(self) -> Statement:
        return Statement(self.ledger, self.committed)

    def picture(self) -> dict[str, Any]:
        nodes = self.nodes
        return {
            "nodes": [
                array.tobytes()
                for array in (nodes.idle, nodes.pipelined, nodes.releasing, nodes.requested, nodes.scoring)
            ],
            "jobs": [
                (
                    job.ready,
                    job.waiting,
                    job.pending_count,
                    {column: value for column, value in job.allocated.items() if value},
                    {uid: (status, node) for uid, (status, node, _) in job.moved.items()},
                    {role: (c.ready, c.waiting, c.pending) for role, c in (job.roles or {}).items()},
                )
                for job in self.jobs
            ],
            "queue": {column: value for column, value in self.usage.queue("default").items() if value},
            "share": {column: value for column, value in self.usage.namespace("default", "ns").items() if value},
            "heard": sorted(self.heard),
        }


Step = tuple[int, int, bool]
"""Which task, which node, and whether it waits."""

steps = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 1), st.booleans()), max_size=8, unique_by=lambda step: step[0]
)


def play(books: Books, statement: Statement, plan: list[Step]) -> None:
    for number, row, waits in plan:
        job, task = books.tasks[number]
        (statement.pipeline if waits else statement.allocate)(job, task, row)


@given(steps)
def test_a_statement_that_is_left_takes_everything_back(plan: list[Step]) -> None:
    books = Books()
    before = books.picture()

    with books.statement() as statement:
        play(books, statement, plan)
        assert len(statement.tasks) == len(plan)
        assert statement.placed is bool(plan)

    assert books.picture() == before
    assert books.committed == []


@given(steps, st.integers(0, 8))
def test_a_rollback_to_a_savepoint_keeps_what_was_before_it(plan: list[Step], cut: int) -> None:
    books, shorter = Books(), Books()
    with books.statement() as statement, shorter.statement() as reference:
        play(books, statement, plan[:cut])
        savepoint = statement.savepoint()
        play(books, statement, plan[cut:])
        statement.rollback(savepoint)
        play(shorter, reference, plan[:cut])
        assert books.picture() == shorter.picture()
        statement.commit()
        reference.commit()

    assert [entry.task.uid for entry in books.committed] == [
        books.tasks[number][1].uid for number, _, waits in plan[:cut] if not waits
    ]


CAUSE = EvictionCause("reclaim", "ns/a")
evicted = st.lists(st.integers(0, 2), max_size=3, unique=True)


def play_all(books: Books, statement: Statement, plan: list[Step], leaving: list[int]) -> None:
    """Evict, place, and take back every reservation."""
    for number in leaving:
        statement.evict(*books.running[number], 0, CAUSE)
    play(books, statement, plan)
    for number, row, waits in plan:
        if waits:
            statement.withdraw(*books.tasks[number], row)


@given(steps, evicted)
def test_evictions_and_reservations_given_up_are_taken_back_as_well(plan: list[Step], leaving: list[int]) -> None:
    books = Books()
    before = books.picture()
    with books.statement() as statement:
        play_all(books, statement, plan, leaving)

    assert books.picture() == before
    assert books.committed == []


@given(steps, evicted)
def test_what_leaves_is_carried_out_in_order_and_no_longer_counts(plan: list[Step], leaving: list[int]) -> None:
    books = Books()
    cpu = books.nodes.releasing[0]
    with books.statement() as statement:
        play_all(books, statement, plan, leaving)
        assert [entry.task.name for entry in statement.evictions] == [f"c-{number}" for number in leaving]
        statement.commit()

    told = [(entry.task.name, entry.cause) for entry in books.committed if entry.status is Status.RELEASING]
    assert told == [(f"c-{number}", CAUSE) for number in leaving]
    assert cpu.tolist() == [1000 * len(leaving), 0]
    assert books.nodes.pipelined.any() == 0, "every reservation was given up"
    assert books.jobs[2].ready == 3 - len(leaving)
    assert books.jobs[2].allocated.get(0, 0) == 1000 * (3 - len(leaving))
    assert books.usage.queue("default").get(0, 0) == sum(job.allocated.get(0, 0) for job in books.jobs)


def test_what_is_kept_stands_but_is_not_carried_out() -> None:
    books = Books()
    with books.statement() as statement:
        play(books, statement, [(0, 0, False), (1, 1, True)])
        statement.keep()

    assert books.committed == []
    assert books.jobs[0].ready == 1
    assert books.jobs[0].waiting == 1


def test_an_exception_takes_everything_back() -> None:
    books = Books()
    before = books.picture()
    try:
        with books.statement() as statement:
            play(books, statement, [(0, 0, False)])
            raise KeyError("a bug in a plugin")
    except KeyError:
        pass

    assert books.picture() == before


def test_placing_takes_from_idle_and_waiting_takes_from_what_comes_back() -> None:
    books = Books()
    with books.statement() as statement:
        play(books, statement, [(0, 0, False), (1, 0, True)])
        assert books.nodes.idle[0].tolist() == [0, 2000]
        assert books.nodes.pipelined[0].tolist() == [1000, 0]
        assert books.nodes.requested[0].tolist() == [5000, 0]
        assert books.jobs[0].job.pending, "the mirror's record stays as it was"
        assert books.jobs[0].moved[books.tasks[0][1].uid][0] is Status.ALLOCATED
