"""capacity and devices: how much the ResourceClaims of a queue may ask for. Excludes which devices they get."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plugins.quota_world import DEFAULTS, OpenedCapacity
from tests.support.devicesets import gpus
from tests.support.plans import policy_of
from tests.support.small import SmallCluster
from vsched.framework.cycle import run_cycle
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import EvictionCause, Ledger
from vsched.framework.points.extension import SessionContext
from vsched.framework.refusal import QueueBound, Refusal
from vsched.model.amounts.resources import PODS, Amounts
from vsched.model.claims.catalogue import ClaimCatalogue, DeviceCatalogue
from vsched.model.claims.devices import (
    ALL,
    EXACT_COUNT,
    ClaimSpec,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    Quantities,
)
from vsched.model.claims.quota import DeviceAmount, device_amount
from vsched.model.jobs.job import Job
from vsched.model.plan import CycleReport
from vsched.model.pods.claims import PodClaims, PodDevices
from vsched.model.pods.status import Phase, Status
from vsched.model.pods.task import Task
from vsched.plugins.capacity import Capacity, CapacityArgs
from vsched.plugins.words.queues import over_limit, quota_insufficient
from vsched.settings.built_in import REGISTRY

GPU, NIC, CORES = "deviceclass/gpu", "deviceclass/nic", "cores.deviceclass/gpu"
CAUSE = EvictionCause("preempt", "")


def asks(
    number: int = 1,
    device_class: str = "gpu",
    *,
    mode: str = EXACT_COUNT,
    capacity: Quantities = (),
) -> ClaimSpec:
    """A claim of one request for a number of devices."""
    request = DeviceRequest("one", device_class, mode=mode, count=number, capacity=capacity)
    return ClaimSpec(((request,),))


class Devices(OpenedCapacity):
    """A cluster with queues, claims, and pods that use them; the plugin is opened when it is first asked for."""

    def __init__(self, *, hierarchy: bool = False, args: CapacityArgs = DEFAULTS) -> None:
        super().__init__(SmallCluster().node("n1", cpu=64_000).node("n2", cpu=64_000), args, hierarchy)
        self._claims: dict[str, DeviceClaim] = {}
        self._users: dict[str, dict[str, Task]] = {}
        self._names = (f"pod-{number}" for number in count())

    def queue(self, queue: str, /, parent: str = "", **capability: int) -> Devices:
        """A queue with whole numbers as its capability; ``gpu`` and ``nic`` are classes, ``cores`` are of ``gpu``."""
        names = {"gpu": GPU, "nic": NIC, "cores": CORES}
        amounts = {self.cluster.axis.column(names[key]): 1000 * value for key, value in capability.items()}
        self.cluster.queue(queue, parent=parent, capability=tuple(sorted(amounts.items())))
        return self

    def claim(self, name: str, spec: ClaimSpec) -> Devices:
        self._claims[f"ns/{name}"] = DeviceClaim(f"ns/{name}", f"uid-{name}", spec)
        return self

    def pod(self, job: Job, *claims: str, on: str = "", cpu: int = 1000) -> Task:
        """A pod of a job that uses these claims; it runs if it has a node."""
        uses = PodClaims(devices=tuple(PodDevices(f"c{at}", f"ns/{name}") for at, name in enumerate(claims)))
        status = Status.RUNNING if on else Status.PENDING
        shape = self.cluster.shape(cpu=cpu, memory=0)
        task = self.cluster.task(job, next(self._names), shape, status, on, claims=uses)
        for name in claims if on else ():
            self._users.setdefault(f"ns/{name}", {})[task.uid] = task
        return task

    def job(self, name: str, queue: str, **spec: object) -> Job:
        return self.cluster.job(name, 0, queue=queue, **spec)

    def holding(self, queue: str, *claims: str) -> Task:
        """A pod that runs in a queue and uses claims."""
        return self.pod(self.job(f"holds-{len(self.cluster.jobs)}", queue, phase=Phase.RUNNING), *claims, on="n1")

    def asking(self, queue: str, *claims: str) -> Task:
        """A pod that waits in a queue."""
        return self.pod(self.job(f"asks-{len(self.cluster.jobs)}", queue), *claims)

    def catalogue(self) -> ClaimCatalogue:
        """The claims and their users, and enough devices of both classes on each node."""
        classes = {name: DeviceClass(name) for name in ("gpu", "nic")}
        pools = tuple(gpus(node, 64) for node in sorted(self.cluster.nodes))
        return ClaimCatalogue(devices=DeviceCatalogue(self._claims, classes, pools, users=self._users))

    def _open(self) -> tuple[SessionContext, Capacity]:
        self.cluster.claims = self.catalogue()
        return super()._open()

    def view(self, task: Task) -> JobView:
        return self.opening.jobs[task.job]

    def refusal(self, queue: str, *tasks: Task) -> str:
        """Why a queue may not have these tasks together; empty where it may."""
        found = self.plugin.claim_limit(self.cluster.queues[queue], tasks)
        return "" if found is None else found.message

    def admission(self, job: Job) -> str:
        """Why a job is not admitted; empty where it is."""
        answer = self.plugin.job_enqueueable(self.opening.jobs[job.key])
        return answer.message if isinstance(answer, Refusal) else ""

    def held(self, queue: str) -> dict[str, int]:
        """What claims of the queue, or of all queues below it, hold of devices, as its report says."""
        division = self.plugin.division(self.cluster.queues[queue])
        assert division is not None
        names, held = self.cluster.axis.names, division.subtree or division.devices
        return {names[column]: value // 1000 for column, value in held.items() if value and column > PODS}

    def decide(self, *plugins: str, actions: str = "enqueue, allocate, backfill") -> CycleReport:
        """What one cycle decides."""
        self.cluster.claims = self.catalogue()
        return run_cycle(self.cluster.snapshot(), policy_of(*plugins, actions=actions), REGISTRY)


# -- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "amount"),
    [
        pytest.param("deviceclass/gpu.com", DeviceAmount("gpu.com"), id="devices of a class"),
        pytest.param("cores.deviceclass/gpu.com", DeviceAmount("gpu.com", "cores"), id="a capacity of its devices"),
        pytest.param("a.b.deviceclass/gpu", DeviceAmount("gpu", "a.b"), id="whose name may have dots"),
        pytest.param("deviceclass/", None, id="no class, no quota"),
        pytest.param(".deviceclass/gpu", None, id="no capacity, no quota"),
        pytest.param("my-deviceclass/gpu", None, id="a resource with another prefix"),
        pytest.param("deviceclass.resource.kubernetes.io/gpu", None, id="an extended resource"),
        pytest.param("cpu", None, id="any other resource"),
    ],
)
def test_which_amounts_of_a_queue_are_devices(name: str, amount: DeviceAmount | None) -> None:
    assert device_amount(name) == amount
    assert amount is None or str(amount) == name


# -- what a claim counts --------------------------------------------------------------------------------------------

TWO = DeviceRequest("two", "gpu", count=2)
FULL = over_limit("a", "a", "deviceclass/gpu")


@pytest.mark.parametrize(
    ("quota", "spec", "refusal"),
    [
        pytest.param({"gpu": 1}, asks(1), "", id="as many as it may"),
        pytest.param({"gpu": 1}, asks(2), FULL, id="not more"),
        pytest.param({"gpu": 1}, asks(100, "nic"), "", id="classes that it does not name are not limited"),
        pytest.param({"gpu": 0}, asks(1), FULL, id="none is a limit too"),
        pytest.param({"gpu": 3}, ClaimSpec(((TWO,), (TWO,))), FULL, id="the requests of a claim add up"),
        pytest.param({"gpu": 1}, ClaimSpec(((TWO, TWO),)), "", id="a choice of alternatives does not count"),
        pytest.param(
            {"gpu": 1},
            ClaimSpec(((DeviceRequest("one/first", "gpu", count=2),),)),
            "",
            id="nor does one with one alternative",
        ),
        pytest.param({"gpu": 1}, asks(mode=ALL), "", id="nor do all devices there are"),
        pytest.param({"cores": 10}, asks(2, capacity=(("cores", 5000),)), "", id="capacity counts for each device"),
        pytest.param(
            {"cores": 10},
            asks(2, capacity=(("gpu.example.com/cores", 6000),)),
            over_limit("a", "a", "cores.deviceclass/gpu"),
            id="by its name without the domain",
        ),
        pytest.param({"cores": 0}, asks(1, capacity=(("cores", 1),)), None, id="a capacity of 0 is a limit"),
        pytest.param({"cores": 1}, asks(9), "", id="capacity that is not asked for does not count"),
        pytest.param({"gpu": 9}, asks(1, capacity=(("cores", 99_000),)), "", id="nor is capacity without a quota"),
    ],
)
def test_what_a_claim_counts_in_its_queue(quota: dict[str, int], spec: ClaimSpec, refusal: str | None) -> None:
    world = Devices().queue("a", **quota).claim("c", spec)
    expected = over_limit("a", "a", "cores.deviceclass/gpu") if refusal is None else refusal

    assert world.refusal("a", world.asking("a", "c")) == expected


@pytest.mark.parametrize(
    ("args", "number", "capacity"),
    [
        pytest.param(CapacityArgs(), 1, 1, id="both count by default"),
        pytest.param(CapacityArgs(consumable_capacity=False), 1, 0, id="capacity can be left out"),
        pytest.param(CapacityArgs(resource_claims=False), 0, 0, id="and so can all devices"),
    ],
)
def test_the_arguments_say_which_quotas_count(args: CapacityArgs, number: int, capacity: int) -> None:
    world = Devices(args=args).queue("a", gpu=1, cores=1)
    world.claim("many", asks(2)).claim("much", asks(1, capacity=(("cores", 2000),)))
    many, much = world.asking("a", "many"), world.asking("a", "much")

    assert [bool(world.refusal("a", many)), bool(world.refusal("a", much))] == [bool(number), bool(capacity)]


def test_a_claim_that_is_not_there_counts_nothing() -> None:
    world = Devices().queue("a", gpu=1)

    assert world.refusal("a", world.asking("a", "missing")) == ""


# -- what is held ---------------------------------------------------------------------------------------------------


def test_running_pods_hold_their_claims() -> None:
    world = Devices().queue("a", gpu=4).claim("c", asks(3)).claim("d", asks(1)).claim("e", asks(2))
    world.holding("a", "c")
    one, two = world.asking("a", "d"), world.asking("a", "e")

    assert world.held("a") == {GPU: 3}
    assert (world.refusal("a", one), world.refusal("a", two)) == ("", FULL)
    assert world.plugin.bound(world.cluster.queues["a"], world.cluster.axis.column(GPU)) == QueueBound(4000, 4000, "a")


def test_a_shared_claim_counts_once_in_a_queue() -> None:
    world = Devices().queue("a", gpu=2).queue("b", gpu=1).claim("c", asks(2))
    world.holding("a", "c")
    world.holding("a", "c")
    third, other = world.asking("a", "c"), world.asking("b", "c")

    assert world.held("a") == {GPU: 2}
    assert world.refusal("a", third, third) == ""
    assert world.refusal("b", other) == over_limit("b", "b", "deviceclass/gpu")


def test_tasks_that_are_asked_about_together_count_together() -> None:
    world = Devices().queue("a", gpu=3).claim("c", asks(2)).claim("d", asks(2))
    first, second, sharing = world.asking("a", "c"), world.asking("a", "d"), world.asking("a", "c")

    assert world.refusal("a", first) == world.refusal("a", second) == world.refusal("a", first, sharing) == ""
    assert world.refusal("a", first, second) == FULL


def test_queues_above_count_what_is_held_below_them() -> None:
    world = Devices(hierarchy=True).queue("root").queue("p", gpu=3).queue("a", "p", gpu=9).queue("b", "p")
    world.claim("c", asks(2)).claim("d", asks(2))
    world.holding("b", "c")

    assert world.held("p") == {GPU: 2}
    assert world.refusal("a", world.asking("a", "d")) == over_limit("p", "a", "deviceclass/gpu")
    assert world.refusal("a", world.asking("a", "c")) == "", "what another queue below p shares"


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=30))
def test_steps_and_their_undoing_leave_no_trace(steps: list[tuple[int, bool]]) -> None:
    world = Devices().queue("a", gpu=40)
    for number in range(3):
        world.claim(f"c{number}", asks(number + 1))
    running = [world.holding("a", f"c{number}", "c0") for number in range(3)]
    waiting = [world.asking("a", f"c{number}", f"c{(number + 1) % 3}") for number in range(3)]
    before = world.held("a")
    ledger = Ledger(world.opening.nodes, world.opening.usage, [world.plugin])
    used = {task.uid for task in running}
    for at, back in steps:
        task = (running + waiting)[at]
        view = world.view(task)
        if back:
            ledger.undo_to(max(0, len(ledger.log) - 1))
        elif task.uid not in view.moved:
            if at < 3:
                ledger.evict(view, task, 0, CAUSE)
            else:
                ledger.place(view, task, 0, Status.PIPELINED)
        used = {one.uid for one in running if one.uid not in world.view(one).moved}
        used |= {one.uid for one in waiting if one.uid in world.view(one).moved}
        claims = {name for one in running + waiting if one.uid in used for name in named(one)}
        assert world.held("a").get(GPU, 0) == sum(int(name[1:]) + 1 for name in claims)
    ledger.undo_to(0)
    assert world.held("a") == before


def named(task: Task) -> list[str]:
    assert task.claims is not None
    return [one.claim_name for one in task.claims.devices]


# -- admission ------------------------------------------------------------------------------------------------------


def test_a_job_is_admitted_if_the_claims_of_its_minimum_fit_beside_those_admitted_before() -> None:
    world = Devices().queue("a", gpu=4)
    jobs = []
    for name in ("first", "second", "third"):
        job = world.job(name, "a", phase=Phase.PENDING, min_member=2, min_resources=())
        for number in range(3):
            world.claim(f"{name}-{number}", asks(1))
            world.pod(job, f"{name}-{number}")
        jobs.append(job)

    assert [world.admission(job) for job in jobs] == ["", "", ""], "each two of its three pods"
    world.plugin.job_enqueued(world.opening.jobs[jobs[0].key])
    world.plugin.job_enqueued(world.opening.jobs[jobs[1].key])
    assert world.admission(jobs[2]) == quota_insufficient("queue a", "deviceclass/gpu")


def test_jobs_that_were_admitted_in_an_earlier_cycle_count_until_they_have_their_minimum() -> None:
    world = Devices().queue("a", gpu=3).claim("c", asks(2)).claim("d", asks(2))
    wanted: Amounts = ((0, 1000),)
    world.pod(world.job("old", "a", phase=Phase.INQUEUE, min_member=1, min_resources=wanted), "c")
    new = world.job("new", "a", phase=Phase.PENDING, min_member=1, min_resources=wanted)
    world.pod(new, "d")

    assert world.admission(new) == quota_insufficient("queue a", "deviceclass/gpu")


def test_the_minimum_of_roles_goes_first() -> None:
    world = Devices().queue("a", gpu=2).claim("big", asks(9)).claim("small", asks(1))
    job = world.job("new", "a", phase=Phase.PENDING, min_member=1, min_task_member=(("ps", 1),), min_resources=())
    world.pod(job, "big")
    shape = world.cluster.shape()
    world.cluster.task(
        job, "zzz", shape, role="ps", claims=PodClaims(devices=(PodDevices("c", "ns/small"),)), created=99.0
    )

    assert world.admission(job) == ""


def test_devices_are_kept_for_pods_whose_gate_was_opened() -> None:
    world = Devices().queue("a", gpu=3).claim("c", asks(2)).claim("d", asks(2))
    let_in, other = world.asking("a", "c"), world.asking("a", "d")
    queue = world.cluster.queues["a"]
    world.plugin.reserve(queue, let_in, 1)

    assert world.held("a") == {}, "kept is not held"
    assert (world.refusal("a", let_in), world.refusal("a", other)) == ("", FULL)
    world.plugin.reserve(queue, let_in, -1)
    assert world.refusal("a", other) == ""


# -- cycles ---------------------------------------------------------------------------------------------------------


def test_a_pod_beyond_the_quota_waits_with_the_reason() -> None:
    world = Devices().queue("q2", gpu=1).claim("p2-claim", asks(2))
    world.asking("q2", "p2-claim")

    report = world.decide("gang capacity", "predicates")
    assert not report.binds
    (job,) = report.jobs.values()
    assert (job.code, job.message) == ("QueueCapability", "queue q2 may hold 1 deviceclass/gpu at most: 2 asked")
    assert report.queues["q2"].capability[GPU] == 1000


def test_a_gang_is_refused_as_a_whole_and_a_smaller_one_fits() -> None:
    world = Devices().queue("a", gpu=6)
    for name, pods in (("large", 4), ("small", 2)):
        job = world.job(name, "a", min_member=pods, created=float(pods == 2))
        for number in range(pods):
            world.claim(f"{name}-{number}", asks(2))
            world.pod(job, f"{name}-{number}")

    report = world.decide("priority gang capacity", "predicates")
    assert sorted(bind.job for bind in report.binds) == ["ns/small"] * 2
    assert report.jobs["ns/large"].message == "queue a may hold 6 deviceclass/gpu at most: 8 asked"
    assert report.queues["a"].allocated[GPU] == 4000


def test_gates_are_opened_as_far_as_devices_go() -> None:
    world = Devices().queue("a", gpu=3)
    job = world.job("gated", "a")
    for number in range(3):
        world.claim(f"c{number}", asks(2 - number % 2))
        uses = PodClaims(devices=(PodDevices("c", f"ns/c{number}"),))
        world.cluster.task(job, f"pod-{number}", world.cluster.shape(), gated=True, awaits_queue=True, claims=uses)

    assert [gate.name for gate in world.decide("gang capacity", "predicates").ungated] == ["pod-0", "pod-1"]


def test_best_effort_pods_count_too() -> None:
    world = Devices().queue("a", gpu=1).claim("c", asks(1)).claim("d", asks(1))
    for name in "cd":
        world.pod(world.job(f"job-{name}", "a"), name, cpu=0)

    assert len(world.decide("gang capacity", "predicates").binds) == 1


def test_preempting_within_the_queue_frees_its_quota() -> None:
    world = Devices().queue("a", gpu=2).claim("old", asks(2)).claim("new", asks(2))
    low = world.job("low", "a", phase=Phase.RUNNING)
    low.judgement = low.judgement._replace(priority=1)
    victim = world.pod(low, "old", on="n1")
    high = world.job("high", "a", min_member=1)
    high.judgement = high.judgement._replace(priority=9)
    world.pod(high, "new")

    report = world.decide("priority gang conformance capacity", "predicates", actions="allocate, preempt")
    assert [evict.name for evict in report.evictions] == [victim.name]


def test_no_victims_are_searched_where_they_could_not_free_the_quota() -> None:
    world = Devices().queue("a", gpu=2).claim("old", asks(2)).claim("new", asks(9))
    low = world.job("low", "a", phase=Phase.RUNNING)
    world.pod(low, "old", on="n1")
    high = world.job("high", "a", min_member=1)
    high.judgement = high.judgement._replace(priority=9)
    world.pod(high, "new")

    assert not world.decide("priority gang conformance capacity", "predicates", actions="allocate, preempt").evictions
