"""Claims in the books of a session: whatever is undone leaves what tasks claim as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.claim_handlers import Slots, slots
from tests.support.small import SmallCluster
from vsched.framework.claims.claims import Claims, why_unread
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import EvictionCause, Ledger
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.words.jobs import claims_unread
from vsched.model.claims.catalogue import DeviceCatalogue
from vsched.model.claims.plan import ClaimPlan
from vsched.model.pods.claims import PodClaims, PodDevices, PodVolume
from vsched.model.pods.shape import PodLabels, ShapeTable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

CAUSE = EvictionCause("preempt", "ns/a")


class Books:
    """A ledger over two nodes with three slots each; on the first, three pods run that have one slot each."""

    def __init__(self) -> None:
        cluster = SmallCluster().node("n1").node("n2")
        job, running = cluster.job("a", 0), cluster.job("r", 0)
        for number in range(4):
            claims = slots("even") if number % 2 else slots("x", "y")
            cluster.task(job, f"a-{number}", cluster.shape(cpu=100), claims=claims)
        cluster.task(job, "plain", cluster.shape(cpu=100))
        for number in range(3):
            cluster.task(running, f"r-{number}", cluster.shape(cpu=100), Status.RUNNING, "n1", claims=slots("z"))
        snapshot = cluster.snapshot()
        self.jobs = {key: JobView(found) for key, found in snapshot.jobs.items()}
        self.pending = list(self.jobs["ns/a"].job.pending.values())
        self.running = list(self.jobs["ns/r"].job.tasks.values())
        self.handler = Slots([3, 3], {task.uid: [number] for number, task in enumerate(self.running)}, exact=False)
        for task in self.running:
            self.handler.hold(task.uid, 0)
        self.claims = Claims(lambda: [self.handler], 2, scores=True)
        self.ledger = Ledger(snapshot.nodes.copy(), SessionUsage(snapshot), [], self.claims)
        self.reserved: list[tuple[Task, int]] = []

    def step(self, kind: str, number: int, row: int) -> None:
        """Do one step if it is possible at present."""
        a, r = self.jobs["ns/a"], self.jobs["ns/r"]
        task = self.pending[number % len(self.pending)]
        if kind == "evict":
            victim = self.running[number % len(self.running)]
            if victim.uid not in r.moved:
                self.ledger.evict(r, victim, 0, CAUSE)
        elif kind == "withdraw":
            found = a.moved.get(task.uid)
            if found is not None and found[0] is Status.PIPELINED:
                self.ledger.withdraw(a, task, int(found[1] == "n2"))
        elif task.uid not in a.moved:
            later, claims = kind == "pipeline", self.claims.of(task)
            if claims is None or claims.passes(row, later=later):
                self.ledger.place(a, task, row, Status.PIPELINED if later else Status.ALLOCATED)


kinds = st.sampled_from(["allocate", "pipeline", "pipeline", "evict", "withdraw"])
steps = st.lists(st.tuples(kinds, st.integers(0, 4), st.integers(0, 1)), max_size=14)


@given(steps, steps)
def test_what_is_undone_leaves_every_claim_as_it_was(
    first: list[tuple[str, int, int]], then: list[tuple[str, int, int]]
) -> None:
    books = Books()
    for step in first:
        books.step(*step)
    before, mark = books.handler.picture(), len(books.ledger.log)
    for step in then:
        books.step(*step)
    books.ledger.undo_to(mark)

    assert books.handler.picture() == before


@given(steps)
def test_undoing_everything_leaves_what_the_snapshot_shows(plan: list[tuple[str, int, int]]) -> None:
    books, untouched = Books(), Books()
    for step in plan:
        books.step(*step)
    books.ledger.undo_to(0)

    assert books.handler.picture() == untouched.handler.picture()


def test_a_place_that_is_given_up_and_restored_has_the_same_as_before() -> None:
    """Between the two, a lower slot became free; an undo must not choose again."""
    books = Books()
    first, second = (books.pending[number] for number in (1, 3))
    for task in (first, second):
        books.ledger.place(books.jobs["ns/a"], task, 1, Status.PIPELINED)
    before, mark = books.handler.picture(), len(books.ledger.log)
    for task in (first, second):
        books.ledger.withdraw(books.jobs["ns/a"], task, 1)
    books.ledger.undo_to(mark)

    assert books.handler.picture() == before
    assert books.handler.taken == {first.uid: [0], second.uid: [2]}


def test_the_plan_of_a_task_names_what_its_claims_need() -> None:
    books = Books()
    claiming, plain = books.pending[0], books.pending[4]
    for task in (claiming, plain):
        books.ledger.place(books.jobs["ns/a"], task, 1, Status.ALLOCATED)

    assert books.claims.plan(claiming) == ClaimPlan(reserve=("ns/x", "ns/y"))
    assert books.claims.plan(plain) is None


def test_parts_are_only_made_for_tasks_with_claims() -> None:
    books = Books()
    made: list[Slots] = []

    def make() -> list[Slots]:
        made.append(books.handler)
        return made

    claims = Claims(make, 2, scores=True)
    assert claims.of(books.pending[4]) is None
    assert not made
    assert claims.of(books.pending[0]) is not None
    assert claims.of(books.pending[1]) is not None
    assert len(made) == 1


def test_a_resource_that_devices_serve_is_a_claim_too() -> None:
    class Serving(Slots):
        def concerns(self, task: Task) -> bool:
            return True

    cluster = SmallCluster().node("n1")
    asking = cluster.task(cluster.job("a", 0), "a-0", cluster.shape(**{"example.com/gpu": 1}))
    column = cluster.axis.column("example.com/gpu")

    extended, made = DeviceCatalogue(extended={column: "gpu"}), DeviceCatalogue(made={asking.uid: "ns/a-0-gpu"})
    for devices in (extended, made):
        assert Claims(lambda: [Serving([1], {})], 1, devices, scores=True).concerns(asking)
    assert not Claims(lambda: [Serving([1], {})], 1, scores=True).concerns(asking)


FORBIDDEN = "403 Forbidden: not for you"
VOLUME, DEVICE = PodClaims((PodVolume("data"),)), PodClaims((), (PodDevices("gpu", "ns/gpus"),))


def task(claims: PodClaims | None) -> Task:
    shape = ShapeTable().shape(((0, 100),))
    return Task("u", "ns", "p", "ns/j", shape, PodLabels("ns", ()), Status.PENDING, claims=claims)


@pytest.mark.parametrize(
    ("claims", "kind", "waits"),
    [
        pytest.param(None, "PersistentVolumeClaim", False, id="a pod without claims"),
        pytest.param(VOLUME, "PersistentVolumeClaim", True, id="claims of volumes"),
        pytest.param(VOLUME, "PersistentVolume", True, id="volumes"),
        pytest.param(VOLUME, "StorageClass", True, id="storage classes"),
        pytest.param(VOLUME, "CSINode", False, id="limits may be unknown"),
        pytest.param(VOLUME, "ResourceSlice", False, id="devices, which the pod does not claim"),
        pytest.param(DEVICE, "ResourceClaim", True, id="claims of devices"),
        pytest.param(DEVICE, "ResourceSlice", True, id="devices"),
        pytest.param(DEVICE, "DeviceClass", True, id="device classes"),
        pytest.param(DEVICE, "PersistentVolume", False, id="volumes, which the pod does not claim"),
    ],
)
def test_a_pod_waits_for_kinds_that_its_claims_need(claims: PodClaims | None, kind: str, waits: bool) -> None:
    found = why_unread(task(claims), {kind: FORBIDDEN})
    assert (found is not None) is waits
    if found is not None:
        assert found.message == claims_unread(kind, FORBIDDEN)
    assert why_unread(task(claims), {}) is None
