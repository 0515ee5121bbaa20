"""A gang gets room wherever some victims make it, in any assignment of its pods to nodes, and the fewest leave."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.clusters import contended
from tests.support.examples import examples
from tests.support.plans import NOW, manifests, mirror
from tests.support.taking import Busy, evicted, kept, taking
from vsched.actions.fewest_victims import in_any_way
from vsched.actions.pools import Pools
from vsched.actions.room import first_that_does, make_room
from vsched.actions.victim_search import PreemptSearch, unplaced
from vsched.actions.victims import Attempt
from vsched.framework.policy import Policy
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.maps import as_dict
from vsched.model.plan import CycleReport
from vsched.model.pods.status import Status
from vsched.settings.built_in import REGISTRY

PLAIN = taking("allocate, preempt", "priority gang-P", "predicates nodeorder")


@pytest.mark.parametrize(
    ("text", "places", "victims"),
    [
        pytest.param(
            "node n1 cpu=4 gpu=1\nnode n2 cpu=4\npods x/low 1 cpu=1 on=n1\npods x/low 1 cpu=4 on=n2\n"
            "pods x/want 1 cpu=3\npods x/want 1 cpu=3 gpu=1",
            {"want.0": "n2", "want.1": "n1"},
            ["low.1"],
            id="the launcher leaves the only GPU to the worker",
        ),
        pytest.param(
            "node n1 cpu=5\nnode n2 cpu=5\npods x/low 5 cpu=1 on=n1\npods x/low 1 cpu=5 on=n2\npods x/want 1 cpu=5",
            {"want.0": "n2"},
            ["low.5"],
            id="one of the second node in place of five of the first",
        ),
        pytest.param(
            "node n1 cpu=5\nnode n2 cpu=5\npods x/low 5 cpu=1 on=n1\npods x/mid 1 cpu=5 on=n2\npods x/want 1 cpu=5",
            {"want.0": "n1"},
            ["low.0", "low.1", "low.2", "low.3", "low.4"],
            id="but not if that one has a higher priority",
        ),
        pytest.param(
            "node n1 cpu=3\nnode n2 cpu=3\npods x/low 3 cpu=1 on=n1\npods x/low 1 cpu=3 on=n2\n"
            "pods x/want 1 cpu=1\npods x/want 1 cpu=2",
            {"want.0": "n2", "want.1": "n2"},
            ["low.3"],
            id="both on one node in place of one on each",
        ),
        pytest.param(
            "node n1 cpu=2\nnode n2 cpu=2\npods x/low 1 cpu=2 on=n1\npods x/low 1 cpu=2 on=n2\npods x/want 2 cpu=1",
            {"want.0": "n1", "want.1": "n1"},
            ["low.0"],
            id="of equally many those of the first node",
        ),
        pytest.param(
            "node n1 cpu=2\nnode n2 cpu=2 gpu=1\npods x/low 1 cpu=1 on=n1\npods x/low 1 cpu=2 on=n2\n"
            "pods x/want 1 cpu=2 gpu=1\npods x/want 1 cpu=3",
            {},
            [],
            id="nobody where the gang has no room whoever leaves",
        ),
        pytest.param(
            "node n1 cpu=9\nnode n2 cpu=1\npods x/low 1 cpu=1 port=80 on=n1\npods x/low 1 cpu=1 port=80 on=n2\n"
            "pods x/want 1 cpu=1 port=80\npods x/want 1 cpu=2 port=81",
            {"want.0": "n1", "want.1": "n1"},
            ["low.0"],
            id="who holds a port",
        ),
    ],
)
def test_who_leaves(text: str, places: dict[str, str], victims: list[str]) -> None:
    minimum = text.count("pods x/want 1") or 2
    jobs = (
        "class mid 5\nclass high 9\njob x/low phase=Running\njob x/mid class=mid phase=Running\n"
        f"job x/want min={minimum} class=high phase=Inqueue"
    )
    report = Busy(f"{jobs}\n{text}", PLAIN).cycle()

    assert kept(report) == places
    assert sorted(evicted(report)) == victims


def test_a_job_gives_the_pod_that_is_most_useful_of_those_it_can_spare() -> None:
    """The last pod of its order would go first, and is too small."""
    text = """
        class high 9
        node n1 cpu=4
        job x/low min=1 phase=Running
        pods x/low 1 cpu=3 on=n1
        pods x/low 1 cpu=1 on=n1
        job x/want class=high phase=Inqueue pods=1 cpu=3
    """
    assert evicted(Busy(text, PREEMPT).cycle()) == ["low.0"]


@pytest.mark.parametrize(
    ("text", "victims"),
    [
        pytest.param(
            "queue q capability=cpu:5\nnode n1 cpu=3\nnode n2 cpu=6\njob x/low queue=q phase=Running\n"
            "pods x/low 1 cpu=1 on=n1\npods x/low 1 cpu=2 on=n1\npods x/want 1 cpu=4",
            ["low.1"],
            id="one leaves a node that is too small for the pod",
        ),
        pytest.param(
            "queue q capability=cpu:6\nnode n1 cpu=4\nnode n2 cpu=6\nnode n3 cpu=2\njob x/low queue=q phase=Running\n"
            "pods x/low 1 cpu=2 on=n3\npods x/low 1 cpu=1 on=n2\npods x/want 1 cpu=2\npods x/want 1 cpu=3",
            ["low.0"],
            id="one leaves for two pods, of which none has to go to its node",
        ),
        pytest.param(
            "queue q capability=cpu:2\nnode n1 cpu=1\nnode n2 cpu=6\njob x/low queue=q phase=Running\n"
            "pods x/low 2 cpu=1 on=n1\npods x/want 1 cpu=3",
            [],
            id="nobody where the queue may not hold the pod by itself",
        ),
    ],
)
def test_who_leaves_in_a_queue_that_holds_all_it_may(text: str, victims: list[str]) -> None:
    policy = taking("allocate, preempt", "priority gang", "predicates nodeorder capacity")
    jobs = f"class high 9\njob x/want min={text.count('x/want')} queue=q class=high phase=Inqueue"
    report = Busy(f"{jobs}\n{text.replace('job x/low', 'job x/low min=0')}", policy).cycle()

    assert sorted(evicted(report)) == victims


SPREAD = "\n".join(f"node n{at:03} cpu=4\npods x/low 4 cpu=1 on=n{at:03}" for at in range(80))


def test_of_many_nodes_that_is_found_where_one_pod_is_enough() -> None:
    text = f"""
        class high 9
        job x/low phase=Running
        {SPREAD}
        node z cpu=4
        pods x/low 1 cpu=4 on=z
        job x/want min=2 class=high phase=Inqueue pods=2 cpu=2
    """
    report = Busy(text, PLAIN).cycle()

    assert kept(report) == {"want.0": "z", "want.1": "z"}
    assert len(report.evictions) == 1


def test_kinds_too_many_to_be_told_apart_still_have_a_bound() -> None:
    """Seven kinds of three pods each; every node takes one pod in place of one of another job."""
    nodes = "\n".join(f"node n{at:02} cpu=9\npods x/low 1 cpu=9 on=n{at:02}" for at in range(21))
    kinds = "\n".join(f"pods x/want 3 cpu=5 memory={at}Mi" for at in range(1, 8))
    text = f"class high 9\njob x/low phase=Running\n{nodes}\njob x/want min=21 class=high phase=Inqueue\n{kinds}"
    assert len(evicted(Busy(text.replace("cpu=9\npods", "cpu=9 memory=9Gi\npods"), PLAIN).cycle())) == 21


WASTEFUL = """
    class high 9
    node n1 cpu=5
    node n2 cpu=5
    job x/low phase=Running
    pods x/low 5 cpu=1 on=n1
    pods x/low 1 cpu=5 on=n2
    job x/want class=high phase=Inqueue pods=1 cpu=5
"""


@pytest.mark.parametrize(
    ("steps", "victims"),
    [pytest.param(0, 5, id="no search"), pytest.param(300, 1, id="the default")],
)
def test_the_policy_says_how_far_others_are_looked_for(steps: int, victims: int) -> None:
    policy = taking("allocate, preempt", "priority gang-P", "predicates nodeorder", args={"gangSearchSteps": steps})
    assert len(Busy(WASTEFUL, policy).cycle().evictions) == victims


def test_those_that_were_found_first_can_be_brought_back() -> None:
    """As where another job could take the place that the fewest make room for."""
    session = Session(mirror(manifests(WASTEFUL)).snapshot(NOW), PLAIN, REGISTRY, Trace())
    job = session.jobs["x/want"]
    search, pools, tasks = PreemptSearch(session, job), Pools(session, "preempt"), unplaced(session, job)
    with session.statement() as statement:
        attempt = Attempt(session, search, pools, statement, first_that_does)
        before = attempt.mark()
        assert make_room(session, attempt, tasks)
        first = [step.task.name for step in statement.evictions]
        assert in_any_way(session, attempt, tasks, before, made=True)
        assert [step.task.name for step in statement.evictions] == ["low.5"]

        assert attempt.bring_back()
        assert [step.task.name for step in statement.evictions] == first
        assert len(first) == 5
        assert not attempt.bring_back()


def test_work_that_is_lost_counts_more_than_the_number() -> None:
    """The single pod has run for long, the others have just begun."""
    policy = taking("allocate, preempt", "priority gang-P", "predicates nodeorder eviction-cost")
    text = WASTEFUL.replace("on=n1", "on=n1 started=10").replace("on=n2", "on=n2 started=90000")
    assert len(Busy(text, policy).cycle().evictions) == 5


def test_sub_groups_get_room_each_in_a_domain_of_its_own() -> None:
    """Each rack holds one of them once somebody leaves; the first one in order finds the fewest in the second rack."""
    text = """
        class high 9
        node n1 cpu=4
        node n2 cpu=2
        job x/low phase=Running
        pods x/low 4 cpu=1 on=n1
        pods x/low 1 cpu=2 on=n2
        job x/want min=4 subGroups=rack:2:2 class=high phase=Inqueue
        pods x/want 2 cpu=1 labels=rack:a
        pods x/want 2 cpu=1 labels=rack:b
    """
    assert sorted(evicted(Busy(text, PLAIN).cycle())) == ["low.2", "low.3", "low.4"]


CLASSES = {"": 0, "mid": 5, "high": 9}
FAR = 5000
"""Steps enough for rules about other pods: what they allow is tried, not counted."""
PREEMPT = taking("allocate, preempt", "priority gang", "predicates nodeorder", steps=FAR)
COMPARED = taking(
    "allocate, preempt",
    "priority gang",
    "predicates nodeorder",
    args={"enableTopologyAwarePreemption": True},
    steps=FAR,
)
RECLAIM = taking("allocate, reclaim", "priority gang", "predicates nodeorder capacity", steps=FAR)
GANG_PREEMPT = taking("allocate, gangpreempt", "priority gang", "predicates nodeorder", steps=FAR)
GANG_RECLAIM = taking("allocate, gangreclaim", "priority gang", "predicates nodeorder capacity", steps=FAR)
POLICIES = {
    "preempt": PREEMPT,
    "preempt, nodes compared": COMPARED,
    "reclaim": RECLAIM,
    "gangpreempt": GANG_PREEMPT,
    "gangreclaim": GANG_RECLAIM,
}


class Running(NamedTuple):
    """A pod that runs."""

    job: int
    node: int
    cpu: int
    gpu: int
    port: bool


class Kind(NamedTuple):
    """Pods of the gang of one kind."""

    count: int
    cpu: int
    gpu: int
    zone: str
    apart: bool
    port: bool

    def line(self, role: str) -> str:
        words = [f"pods x/want {self.count} cpu={self.cpu} role={role}"]
        words += [f"gpu={self.gpu}"] if self.gpu else []
        words += [f"selector=zone:{self.zone}"] if self.zone else []
        words += ["apart=want"] if self.apart else []
        words += ["port=80"] if self.port else []
        return " ".join(words)


class World(NamedTuple):
    """Running jobs, and a gang that needs room."""

    nodes: list[tuple[int, int, str]]
    """Cpu, GPUs and zone of each."""
    jobs: list[tuple[int, str, str]]
    """Minimum, priority class and queue of each."""
    running: list[Running]
    kinds: list[Kind]
    minimum: int
    minima: list[int]
    """Of the role of each kind."""
    reclaims: bool
    breaks: bool
    """Whether whole jobs may leave."""

    def text(self) -> str:
        lines = ["class mid 5", "class high 9"]
        if self.reclaims:
            lines += ["queue w deserved=cpu:99,gpu:99", "queue u", "queue v", "queue stays reclaimable=false"]
        for at, (cpu, gpu, zone) in enumerate(self.nodes):
            lines.append(f"node n{at} cpu={cpu} gpu={gpu} zone={zone}")
        for at, (minimum, name, queue) in enumerate(self.jobs):
            lines.append(f"job x/j{at} min={minimum} phase=Running" + self._about(name, queue))
            for number, pod in enumerate(self.running):
                if pod.job == at:
                    port = " port=80" if pod.port else ""
                    lines.append(f"pods x/j{at} 1 cpu={pod.cpu} gpu={pod.gpu} labels=at:p{number} on=n{pod.node}{port}")
        roles = ",".join(f"r{at}:{least}" for at, least in enumerate(self.minima) if least)
        lines.append(f"job x/want min={self.minimum} phase=Inqueue" + self._about("high", "w"))
        lines[-1] += f" roles={roles}" if roles else ""
        return "\n".join([*lines, *(kind.line(f"r{at}") for at, kind in enumerate(self.kinds))])

    def _about(self, name: str, queue: str) -> str:
        return (f" class={name}" if name else "") + (f" queue={queue}" if self.reclaims else "")

    def least(self, highest: int, *, breaks: bool) -> int | None:
        """The fewest victims of no more than this priority that make room; None where none do."""
        may = [pod for pod in range(len(self.running)) if self._may_leave(pod, highest)]
        for count in range(len(may) + 1):
            for gone in combinations(may, count):
                if self._is_allowed(gone, breaks=breaks) and self._fits(gone):
                    return count
        return None

    def _may_leave(self, pod: int, highest: int) -> bool:
        _, name, queue = self.jobs[self.running[pod].job]
        return CLASSES[name] <= highest and (queue != "stays" if self.reclaims else name != "high")

    def _is_allowed(self, gone: tuple[int, ...], *, breaks: bool) -> bool:
        had, lost = Counter(pod.job for pod in self.running), Counter(self.running[pod].job for pod in gone)
        return all(
            had[job] - number >= self.jobs[job][0] or (breaks and had[job] == number) for job, number in lost.items()
        )

    def _fits(self, gone: tuple[int, ...]) -> bool:
        stay = [pod for at, pod in enumerate(self.running) if at not in gone]
        cpu = [has - sum(pod.cpu for pod in stay if pod.node == at) for at, (has, _, _) in enumerate(self.nodes)]
        gpu = [has - sum(pod.gpu for pod in stay if pod.node == at) for at, (_, has, _) in enumerate(self.nodes)]
        ports = {pod.node for pod in stay if pod.port}
        pods = [at for at, kind in enumerate(self.kinds) for _ in range(kind.count)]
        here: list[list[Kind]] = [[] for _ in self.nodes]
        placed = [0] * len(self.kinds)

        def place(at: int) -> bool:
            if at == len(pods):
                return sum(placed) >= self.minimum and all(
                    has >= least for has, least in zip(placed, self.minima, strict=True)
                )
            if sum(placed) + len(pods) - at < self.minimum:
                return False
            kind = self.kinds[pods[at]]
            for node, (_, _, zone) in enumerate(self.nodes):
                others = here[node]
                if (
                    cpu[node] < kind.cpu
                    or gpu[node] < kind.gpu
                    or kind.zone not in ("", zone)
                    or (kind.port and (node in ports or any(one.port for one in others)))
                    or (others and (kind.apart or any(one.apart for one in others)))
                ):
                    continue
                cpu[node] -= kind.cpu
                gpu[node] -= kind.gpu
                others.append(kind)
                placed[pods[at]] += 1
                if place(at + 1):
                    return True
                placed[pods[at]] -= 1
                others.pop()
                cpu[node] += kind.cpu
                gpu[node] += kind.gpu
            return place(at + 1)

        return place(0)

    def highest(self, report: CycleReport) -> int:
        """The highest priority among the victims."""
        return max((CLASSES[self.jobs[int(one.job.rpartition("j")[2])][1]] for one in report.evictions), default=0)

    def is_served(self, report: CycleReport) -> bool:
        """Whether the gang starts or has room."""
        return bool({bind.job for bind in report.binds} | {one.job for one in report.nominations if one.node})


@st.composite
def worlds(draw: st.DrawFn, *, reclaims: bool, breaks: bool, plain: bool) -> World:
    """With reclaim, cpu alone: a queue gives back only what the taker lacks where it goes."""
    zones, gpu_or_not = st.sampled_from("ab"), st.sampled_from((0,) if reclaims else (0, 0, 1))
    nodes = [(draw(st.integers(2, 6)), draw(st.integers(0, 2)), draw(zones)) for _ in range(draw(st.integers(2, 4)))]
    left = [[cpu, gpu] for cpu, gpu, _ in nodes]
    running: list[Running] = []
    ports: set[int] = set()
    jobs = draw(st.integers(1, 3))
    for _ in range(draw(st.integers(2, 8))):
        job, node = draw(st.integers(0, jobs - 1)), draw(st.integers(0, len(nodes) - 1))
        cpu, gpu = draw(st.integers(1, 3)), draw(gpu_or_not)
        port = not plain and node not in ports and draw(st.booleans())
        if left[node][0] >= cpu and left[node][1] >= gpu:
            left[node][0] -= cpu
            left[node][1] -= gpu
            ports |= {node} if port else set()
            running.append(Running(job, node, cpu, gpu, port))
    had = Counter(pod.job for pod in running)
    about = [
        (
            draw(st.integers(0, had[job])),
            draw(st.sampled_from(("", "", "mid", "high") if not reclaims else ("",))),
            draw(st.sampled_from(("u", "v", "stays"))),
        )
        for job in range(jobs)
    ]
    kinds = [
        Kind(
            draw(st.integers(1, 2)),
            draw(st.integers(1, 4)),
            draw(gpu_or_not),
            draw(st.sampled_from(("", "", "a"))),
            not plain and draw(st.booleans()),
            not plain and draw(st.booleans()),
        )
        for _ in range(draw(st.integers(1, 3)))
    ]
    total = sum(kind.count for kind in kinds)
    minima = [draw(st.integers(0, kind.count)) for kind in kinds] if draw(st.booleans()) else [0] * len(kinds)
    minimum = total if reclaims else draw(st.integers(max(1, sum(minima)), total))  # reclaim goes on beyond it
    return World(nodes, about, running, kinds, minimum, minima, reclaims, breaks)


def check(world: World, policy: Policy) -> None:
    report = Busy(world.text(), policy).cycle()
    spare, whole = (world.least(9, breaks=breaks) for breaks in (False, world.breaks))
    assert world.is_served(report) is (whole is not None)
    if world.is_served(report):
        least = world.least(world.highest(report), breaks=world.breaks and spare is None)
        assert len(report.evictions) == least


@pytest.mark.parametrize("plain", [True, False], ids=["amounts and selectors", "anti-affinity and ports as well"])
@pytest.mark.parametrize("name", POLICIES)
@settings(deadline=None, max_examples=examples(40))
@given(data=st.data())
def test_the_fewest_leave_wherever_some_make_room(name: str, plain: bool, data: st.DataObject) -> None:
    """Of those whose priority is not higher than that of those who leave."""
    world = data.draw(worlds(reclaims="reclaim" in name, breaks="gang" in name, plain=plain))
    check(world, POLICIES[name])


TIERS = ("priority gang conformance capacity", "drf-P predicates nodeorder")
ORDERS = ("allocate, preempt, reclaim, backfill", "reclaim, preempt, allocate", "allocate, gangpreempt, gangreclaim")


ROOM_FOR_ONE_MORE = """
node n0 cpu=6
node n1 cpu=6
queue dept guarantee=cpu:2
queue a deserved=cpu:4,gpu:0,memory:8Gi
queue c
job x/j1
pods x/j1 3 cpu=2 on=n0
pods x/j1 1 on=n1
pods x/j2 1 cpu=2 on=n1
job x/j4 queue=a
pods x/j4 1 cpu=2
pods x/j4 1 cpu=2 apart=j4
job x/j6
pods x/j6 1 cpu=1 on=n1
"""
"""One more pod has room on a node only if somebody leaves on another: a guarantee is to be kept free."""


@pytest.mark.parametrize("actions", ORDERS)
@settings(deadline=None, max_examples=examples(50))
@given(text=contended())
@example(text=ROOM_FOR_ONE_MORE)
def test_an_answer_is_another_one_only_where_fewer_leave(actions: str, text: str) -> None:
    """Or where fewer jobs lose their minimum, or a job gets room that had none, or room for more of its pods.

    Up to the first such job, the same is decided as without a search.
    """
    reports = [Busy(text, taking(actions, *TIERS, steps=steps)).cycle() for steps in (0, None)]
    first, second = map(by_job, reports)
    if second.keys() - first.keys():
        return  # a job gets room that had none, and changes what others find
    for key in first:
        if first[key] != second.get(key):
            assert key in second
            is_fewer = len(second[key]) < len(first[key])
            has_more = places(reports[1], key) > places(reports[0], key)
            assert is_fewer or has_more or jobs_broken(text, second[key]) < jobs_broken(text, first[key]), key
            return
    plain, searched = (msgspec.json.encode(one, order="sorted", enc_hook=as_dict) for one in reports)
    assert plain == searched


def places(report: CycleReport, key: str) -> int:
    """How many pods of a job get room."""
    return sum(one.job == key for one in (*report.binds, *report.nominations))


def jobs_broken(text: str, victims: list[str]) -> int:
    """How many jobs lose their minimum with these victims."""
    jobs = mirror(manifests(text)).snapshot(NOW).jobs.values()
    lost = {job.key: sum(task.name in victims for task in job.tasks.values()) for job in jobs}
    return sum(0 <= job.counts[Status.RUNNING] - job.spec.min_member < lost[job.key] for job in jobs)


def by_job(report: CycleReport) -> dict[str, list[str]]:
    """Whom a report evicts for each job, in the order decided."""
    found: dict[str, list[str]] = {}
    for eviction in report.evictions:
        found.setdefault(eviction.beneficiary, []).append(eviction.name)
    return found
