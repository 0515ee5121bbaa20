"""Nodes for tasks with claims: the best one that can serve them now, else one that can later, else why none can."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.claim_handlers import MISSING, ODD, TAKEN, Slots, slots
from tests.support.small import SmallCluster
from vsched.framework.claims.claims import Claims
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import EvictionCause, Ledger
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.nodes.node_plugins import NodePlugins
from vsched.framework.nodes.selection import Choice, NodeSelection
from vsched.model.nodes.table import Floats
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task


class World:
    """Nodes n1, n2 … with so many slots; on each, so many pods run that hold one each, from the highest down."""

    def __init__(
        self, have: list[int], running: list[int], *, exact: bool = True, handler: type[Slots] = Slots
    ) -> None:
        cluster = SmallCluster()
        for row in range(len(have)):
            cluster.node(f"n{row + 1}")
        job, others = cluster.job("a", 0), cluster.job("r", 0)
        self.shape = cluster.shape(cpu=100)
        self.cluster, self.a = cluster, job
        for row, count in enumerate(running):
            for number in range(count):
                cluster.task(others, f"r-{row}-{number}", self.shape, Status.RUNNING, f"n{row + 1}", claims=slots("z"))
        held = {task.uid: [have[int(task.name[2])] - 1 - int(task.name[4])] for task in others.tasks.values()}
        self.handler = handler(have, held, exact=exact)
        for task in others.tasks.values():
            self.handler.hold(task.uid, int(task.name[2]))
        snapshot = cluster.snapshot()
        self.nodes = snapshot.nodes.copy()
        self.claims = Claims(lambda: [self.handler], len(have), scores=True)
        self.ledger = Ledger(self.nodes, SessionUsage(snapshot), [], self.claims)
        self.selection = NodeSelection(
            self.nodes, self.ledger.journal, NodePlugins(), lambda task: "default", claims=self.claims
        )
        self.view, self.others = JobView(job), JobView(others)

    def task(self, *claims: str) -> Task:
        """A further pending task with these claims; without any, one that claims nothing."""
        name = f"a-{len(self.a.tasks)}"
        return self.cluster.task(self.a, name, self.shape, claims=slots(*claims) if claims else None)

    def evict(self, row: int) -> None:
        """Evict one pod from a node."""
        moved = self.others.moved
        victim = next(
            task for uid, task in self.others.job.tasks.items() if task.node == f"n{row + 1}" and uid not in moved
        )
        self.ledger.evict(self.others, victim, row, EvictionCause("preempt", "ns/a"))


@pytest.mark.parametrize(
    ("have", "running", "evicted", "claims", "exact", "found"),
    [
        pytest.param([0, 1], [0, 0], [], ("x",), True, Choice(1, waits=False), id="a node that has what it claims"),
        pytest.param([1, 1], [1, 0], [], ("x",), True, Choice(1, waits=False), id="not what others have"),
        pytest.param([1, 1], [1, 1], [], ("x",), True, None, id="no node where all is taken"),
        pytest.param(
            [1, 1], [1, 1], [1], ("x",), True, Choice(1, waits=True), id="what is being left can be waited for"
        ),
        pytest.param([1, 2], [1, 1], [0], ("x",), True, Choice(1, waits=False), id="what is free now goes before it"),
        pytest.param([2, 1, 3], [2, 0, 2], [], ("even",), False, Choice(1, waits=False), id="the exact search decides"),
        pytest.param([3, 3], [3, 3], [1], ("x",), False, Choice(1, waits=True), id="also for what is being left"),
        pytest.param(
            [2, 2], [0, 0], [], ("even", "even2"), False, None, id="no node where the exact search finds none"
        ),
        pytest.param(
            [2, 4], [0, 0], [], ("even", "even2"), False, Choice(1, waits=False), id="the next best row after"
        ),
        pytest.param([1, 1], [0, 0], [], ("x", MISSING), True, None, id="no node where a claim is missing"),
        pytest.param([0, 0], [0, 0], [], (), True, Choice(0, waits=False), id="a task without claims goes anywhere"),
        pytest.param([], [], [], ("x",), True, None, id="no node at all"),
    ],
)
def test_which_node(
    have: list[int], running: list[int], evicted: list[int], claims: tuple[str, ...], exact: bool, found: Choice | None
) -> None:
    world = World(have, running, exact=exact)
    for row in evicted:
        world.evict(row)

    assert world.selection.choose(world.task(*claims)) == found


@pytest.mark.parametrize(
    ("evicted", "nominated", "found"),
    [
        pytest.param([], 1, Choice(1, waits=False), id="the nominated node where it can serve the claims"),
        pytest.param([], 0, Choice(1, waits=False), id="else another"),
        pytest.param([0], 0, Choice(0, waits=True), id="the nominated node, once it is left, before all others"),
    ],
)
def test_the_nominated_node(evicted: list[int], nominated: int, found: Choice) -> None:
    world = World([1, 1], [1, 0])
    for row in evicted:
        world.evict(row)

    assert world.selection.choose(world.task("x"), nominated) == found


def test_scores_of_claims_count() -> None:
    class Preferring(Slots):
        def score(self, task: Task) -> Floats | None:
            return np.array([0.0, 1.0, 0.5])

    world = World([1, 1, 1], [0, 0, 0], handler=Preferring)
    assert world.selection.choose(world.task("x")) == Choice(1, waits=False)
    silent = Claims(lambda: [world.handler], 3, scores=False)
    selection = NodeSelection(world.nodes, [], NodePlugins(), lambda task: "default", claims=silent)
    assert selection.choose(world.task("x")) == Choice(0, waits=False), "the policy turned scores off"


@pytest.mark.parametrize(
    ("claims", "exact", "reasons"),
    [
        pytest.param(("x", "y"), True, {TAKEN: 2}, id="nodes that the masks exclude"),
        pytest.param(("even", "even2"), False, {TAKEN: 1, ODD: 1}, id="and those that the exact search refuses"),
        pytest.param((MISSING,), True, {f"claim {MISSING} not found": 2}, id="every node where a claim is missing"),
    ],
)
def test_why_no_node(claims: tuple[str, ...], exact: bool, reasons: dict[str, int]) -> None:
    world = World([1, 2 if claims[0] == "even" else 1], [0, 0], exact=exact)
    task = world.task(*claims)

    assert world.selection.choose(task) is None
    assert world.selection.explain(task).reasons == reasons
    assert world.selection.has_failed(task)
    assert not world.selection.has_failed(world.task()), "tasks of the same shape that claim nothing"


def test_room_is_bounded_by_what_is_claimed() -> None:
    world = World([3, 2], [1, 2])
    world.evict(1)
    room = world.selection.room(world.task("x"))

    assert room.tasks == 3, "two on the first node now, one on the second later"
    assert room.full.reasons == {TAKEN: 2}
    assert room.full.codes == {TAKEN: Code.DEVICES}
    assert world.selection.rooms(world.task()).sum() > 3


def test_a_claim_that_does_not_exist_leaves_no_room() -> None:
    world = World([3, 3], [0, 0])

    assert world.selection.room(world.task(MISSING)).tasks == 0


def test_nodes_worth_freeing() -> None:
    """A slot that is taken can be freed; a claim that does not exist cannot be made by evicting."""
    world = World([1, 1], [1, 1])

    assert world.selection.candidates(world.task("x"), {}).all()
    assert not world.selection.candidates(world.task(MISSING), {}).any()
    assert not world.selection.fits_at(world.task("x"), 0)
    world.evict(0)
    assert world.selection.fits_at(world.task("x"), 0)
    assert world.selection.can_hold(world.task("x"), 0)
    assert not world.selection.can_hold(world.task("x"), 1)


def test_tasks_of_one_kind_ask_for_the_same() -> None:
    world = World([1], [0])

    assert world.selection.kind(world.task("x")) == world.selection.kind(world.task("x"))
    assert world.selection.kind(world.task("x")) != world.selection.kind(world.task("y"))
    assert world.selection.kind(world.task()) == world.shape
