"""Pools of candidates: whom a kind of evictor may take from, in which order, and what is remembered of nodes."""

from __future__ import annotations

import pytest

from tests.support.plans import NOW, manifests, mirror
from tests.support.taking import taking
from vsched.actions.candidates import CandidatePool
from vsched.actions.pools import POOLS_MAX, Pools
from vsched.actions.victim_search import PreemptSearch, PreemptWithinJob, ReclaimSearch, VictimSearch
from vsched.framework.ledger.ledger import EvictionCause
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.pods.task import Task
from vsched.settings.built_in import REGISTRY

TIERS = ("priority gang-PR conformance", "predicates capacity-R")
CLUSTER = """
    class high 9
    node n1 cpu=8
    node n2 cpu=8
    node n3 cpu=8
    queue q
    queue r priority=1
    queue s priority=2
    job x/old queue=q age=9 phase=Running
    pods x/old 2 cpu=1 on=n1
    pods x/old 1 cpu=3 on=n2
    job x/new queue=q age=1 phase=Running
    pods x/new 2 cpu=2 on=n1
    job x/other queue=r age=1 phase=Running
    pods x/other 1 cpu=1 on=n1
    pods x/other 2 cpu=1 on=n2
    job x/want queue=q class=high phase=Inqueue pods=2 cpu=1
    job x/like queue=q class=high phase=Inqueue pods=1 cpu=1
    job x/from queue=s phase=Inqueue pods=1 cpu=1
"""


class Scene:
    """A session on a cluster, one job that takes from others, and its pool."""

    def __init__(self, taker: str = "x/want", kind: type[VictimSearch] = PreemptSearch, text: str = CLUSTER) -> None:
        policy = taking("allocate, preempt, reclaim", *TIERS)
        self.session = Session(mirror(manifests(text)).snapshot(NOW), policy, REGISTRY, Trace())
        self.pools = Pools(self.session, "reclaim")
        self.taking = self.of(taker, kind)
        self.task = self.first(taker)
        self.pool = self.pools.of(self.taking, self.task)

    def of(self, taker: str, kind: type[VictimSearch]) -> VictimSearch:
        return kind(self.session, self.session.jobs[taker])

    def first(self, key: str) -> Task:
        return min(self.session.jobs[key].job.pending.values(), key=lambda task: task.name)

    def evict(self, name: str) -> None:
        for job in self.session.snapshot.jobs.values():
            for task in job.tasks.values():
                if task.name == name:
                    view = self.session.view(job.key)
                    assert view is not None
                    row = self.session.nodes.statics.row[task.node]
                    self.session.ledger.evict(view, task, row, EvictionCause("test", "x/want"))

    def open_rows(self, pool: CandidatePool, task: Task | None = None) -> list[int]:
        everywhere = pool.present | True
        return [row for row, open_ in enumerate(pool.worthwhile(task or self.task, everywhere).tolist()) if open_]


def names(tasks: list[Task]) -> list[str]:
    return [task.name for task in tasks]


@pytest.mark.parametrize(
    ("taker", "kind", "order"),
    [
        pytest.param(
            "x/want", PreemptSearch, ["new.1", "new.0", "old.1", "old.0"], id="the last job first, its last pod first"
        ),
        pytest.param(
            "x/from",
            ReclaimSearch,
            ["new.1", "new.0", "old.1", "old.0", "other.0"],
            id="the last queue before all else",
        ),
    ],
)
def test_the_order_in_which_candidates_go(taker: str, kind: type[VictimSearch], order: list[str]) -> None:
    assert names(Scene(taker, kind).pool.candidates(0)) == order


def test_a_nearer_queue_goes_first_whatever_the_order_of_queues() -> None:
    text = """
        node n1 cpu=9
        queue dept parent=root
        queue a parent=dept priority=9
        queue b parent=dept deserved=cpu:1
        queue c parent=root
        job x/a queue=a phase=Running
        pods x/a 1 cpu=1 on=n1
        job x/c queue=c phase=Running
        pods x/c 1 cpu=1 on=n1
        job x/want queue=b phase=Inqueue pods=1 cpu=1
    """
    policy = taking("reclaim", "gang-R", "capacity-H")
    session = Session(mirror(manifests(text)).snapshot(NOW), policy, REGISTRY, Trace())
    job = session.jobs["x/want"]
    pool = Pools(session, "reclaim").of(ReclaimSearch(session, job), next(iter(job.job.pending.values())))

    assert names(pool.candidates(0)) == ["a.0", "c.0"]


def test_what_the_candidates_of_a_node_hold_together() -> None:
    pool = Scene().pool

    assert pool.present.tolist() == [True, True, False]
    assert pool.freeable[0].tolist() == [6000, 3000, 0]


def test_evicted_candidates_are_out_until_that_is_taken_back() -> None:
    scene = Scene()
    scene.evict("new.0")
    assert names(scene.pool.candidates(0)) == ["new.1", "old.1", "old.0"]
    assert not scene.pool.complete
    scene.session.ledger.undo_to(0)
    assert names(scene.pool.candidates(0)) == ["new.1", "new.0", "old.1", "old.0"]
    assert scene.pool.complete


def test_evictors_of_one_class_share_a_pool() -> None:
    scene = Scene()

    assert scene.pools.of(scene.of("x/like", PreemptSearch), scene.first("x/like")) is scene.pool
    assert scene.pools.of(scene.of("x/want", PreemptWithinJob), scene.task) is not scene.pool
    assert scene.pools.of(scene.of("x/from", ReclaimSearch), scene.first("x/from")) is not scene.pool


def test_a_pool_that_rests_on_what_was_taken_back_is_collected_anew() -> None:
    scene = Scene()
    scene.evict("new.0")
    reclaiming = scene.of("x/from", ReclaimSearch)
    within = scene.pools.of(reclaiming, scene.first("x/from"))
    assert "new.0" not in names(within.candidates(0))
    scene.evict("new.1")
    assert within.is_valid, "more evictions do not add to it"
    scene.session.ledger.undo_to(0)
    assert not within.is_valid
    scene.evict("other.1")
    assert not within.is_valid, "another eviction in the same place does not make it good"
    assert "new.0" in names(scene.pools.of(reclaiming, scene.first("x/from")).candidates(0))


def test_a_lasting_refusal_stands_until_the_node_changes() -> None:
    scene = Scene()
    scene.pool.refuse(scene.task, 0, lasting=True)
    assert scene.open_rows(scene.pool) == [1]
    scene.evict("old.2")
    assert scene.open_rows(scene.pool) == [1], "another node changed"
    scene.evict("old.0")
    assert scene.open_rows(scene.pool) == [0, 1]


def test_a_lasting_refusal_can_be_forgiven() -> None:
    scene = Scene()
    scene.pool.refuse(scene.task, 0, lasting=True)
    scene.pool.forgive(scene.task.shape, 0)

    assert scene.open_rows(scene.pool) == [0, 1]


def test_a_passing_refusal_stands_until_anything_changes() -> None:
    scene = Scene()
    scene.pool.refuse(scene.task, 0, lasting=False)
    assert scene.open_rows(scene.pool) == [1]
    scene.evict("old.2")
    assert scene.open_rows(scene.pool) == [0, 1]
    scene.pool.refuse(scene.task, 1, lasting=False)
    assert scene.open_rows(scene.pool) == [0], "what was refused before is forgotten"
    scene.session.ledger.undo_to(0)
    assert scene.open_rows(scene.pool) == [0, 1]


def test_a_passing_refusal_is_about_pods_of_the_same_labels() -> None:
    scene = Scene()
    scene.pool.refuse(scene.task, 0, lasting=False)

    assert scene.open_rows(scene.pool, scene.first("x/like")) == [0, 1]


def test_of_each_queue_the_node_where_it_holds_most() -> None:
    scene = Scene("x/from", ReclaimSearch)
    found = {(task.name, row) for task, row in scene.pool.richest(0)}

    assert found == {("new.0", 0), ("new.1", 0), ("old.0", 0), ("old.1", 0), ("other.1", 1), ("other.2", 1)}


def test_which_jobs_may_still_give() -> None:
    text = """
        class high 9
        node n1 cpu=4
        node n2 cpu=4
        job x/a min=1 phase=Running
        pods x/a 2 cpu=1 on=n1
        job x/b min=1 phase=Running
        pods x/b 2 cpu=1 on=n2
        job x/want class=high phase=Inqueue pods=1 cpu=1
    """
    policy = taking("preempt", "priority gang", "predicates")
    session = Session(mirror(manifests(text)).snapshot(NOW), policy, REGISTRY, Trace())
    job = session.jobs["x/want"]
    preempting, task = PreemptSearch(session, job), next(iter(job.job.pending.values()))
    pool = Pools(session, "preempt").of(preempting, task)
    assert pool.open_to(preempting, task).tolist() == [True, True]
    view = session.view("x/a")
    assert view is not None
    session.ledger.evict(view, pool.candidates(0)[0], 0, EvictionCause("test", job.key))

    assert pool.open_to(preempting, task).tolist() == [False, True]


def test_the_number_of_pools_is_bounded() -> None:
    waiting = "\n".join(
        f"job x/w{at} queue=q phase=Running\npods x/w{at} 1 on=n3\npods x/w{at} 1 cpu=1" for at in range(70)
    )
    scene = Scene(text=f"{CLUSTER}\n{waiting}")
    made = [scene.pools.of(scene.of(f"x/w{at}", PreemptSearch), scene.first(f"x/w{at}")) for at in range(POOLS_MAX)]

    assert scene.pools.of(scene.of("x/w5", PreemptSearch), scene.first("x/w5")) is made[5]
    assert scene.pools.of(scene.taking, scene.task) is not scene.pool, "the oldest is dropped"
