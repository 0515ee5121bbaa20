"""A gang of several kinds of pods starts wherever any assignment of its pods to nodes exists."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.hypernodes import hypernode_object
from tests.support.plans import NOW, Manifest, Plan, decide, manifests, mirror, plan, policy_of
from tests.support.taking import Busy, taking
from vsched.actions.assigning import SEARCHES_MAX, search_budget
from vsched.actions.gang_assignment import GangAssignment
from vsched.actions.gang_counts import GangCounts
from vsched.actions.placing import goal_of
from vsched.actions.task_kinds import KindsInDomain, kinds_of, mask_of
from vsched.framework.cycle import run_actions
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.pods.task import Task
from vsched.settings.built_in import REGISTRY

GANGS = policy_of("gang", "predicates nodeorder", actions="allocate")


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        pytest.param(
            "node n1 cpu=4 gpu=1\nnode n2 cpu=4\njob ns/a min=2\npods ns/a 1 cpu=4\npods ns/a 1 cpu=1 gpu=1",
            True,
            id="the launcher leaves the only GPU to the worker",
        ),
        pytest.param(
            "node n1 cpu=4 gpu=1\njob ns/a min=2\npods ns/a 1 cpu=4\npods ns/a 1 cpu=1 gpu=1",
            False,
            id="there is no other node for the launcher",
        ),
        pytest.param(
            "node n1 cpu=5\nnode n2 cpu=5\njob ns/a min=4\npods ns/a 2 cpu=2\npods ns/a 2 cpu=3",
            True,
            id="one of each kind on each node",
        ),
        pytest.param(
            "node n1 cpu=2\nnode n2 cpu=2\njob ns/a min=2\npods ns/a 2 cpu=3\npods ns/a 2 cpu=2",
            True,
            id="those of the first kind fit nowhere, and the others are enough",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=2 roles=ps:1,worker:1\npods ns/a 2 cpu=2 role=ps\n"
            "pods ns/a 1 cpu=3 role=worker\npods ns/a 1 cpu=2 role=worker",
            True,
            id="one of a role, and the smaller one of another",
        ),
        pytest.param(
            "node n1 cpu=4 memory=1Gi\nnode n2 cpu=4 memory=9Gi\npods ns/b 1 memory=2Gi on=n1\njob ns/a min=3\n"
            "pods ns/a 2 cpu=2\npods ns/a 1 cpu=4 memory=1Gi",
            True,
            id="pods hold more memory on a node than there is, and the first kind needs none",
        ),
        pytest.param(
            "node n1 cpu=9\nnode n2 cpu=9\njob ns/a min=3\npods ns/a 2 cpu=1\npods ns/a 1 cpu=1 port=80\n"
            "pods ns/b 1 cpu=1 port=80 on=n1",
            True,
            id="a port of the host is free on one node",
        ),
    ],
)
def test_which_gangs_start(text: str, starts: bool) -> None:
    assert (plan(text, GANGS).bound != {}) is starts


class Kind(NamedTuple):
    """Pods of one kind, and how the test language says it."""

    count: int
    cpu: int
    gpu: int
    zone: str
    apart: bool
    port: bool

    def line(self, role: str) -> str:
        words = [f"pods ns/a {self.count} cpu={self.cpu} role={role}"]
        words += [f"gpu={self.gpu}"] if self.gpu else []
        words += [f"selector=zone:{self.zone}"] if self.zone else []
        words += ["apart=a"] if self.apart else []
        words += ["port=80"] if self.port else []
        return " ".join(words)


class Gang(NamedTuple):
    """A gang on an empty cluster."""

    nodes: list[tuple[int, int, str]]
    """Cpu, GPUs and zone of each."""
    kinds: list[Kind]
    minimum: int
    minima: list[int]
    """Of the role of each kind."""

    def text(self) -> str:
        roles = ",".join(f"r{at}:{least}" for at, least in enumerate(self.minima) if least)
        nodes = [
            f"node n{at} cpu={cpu} zone={zone}" + (f" gpu={gpu}" if gpu else "")
            for at, (cpu, gpu, zone) in enumerate(self.nodes)
        ]
        job = f"job ns/a min={self.minimum}" + (f" roles={roles}" if roles else "")
        return "\n".join([*nodes, job, *(kind.line(f"r{at}") for at, kind in enumerate(self.kinds))])

    def fits(self) -> bool:
        """Whether it does, by trying all ways."""
        pods = [at for at, kind in enumerate(self.kinds) for _ in range(kind.count)]
        return any(self._is_way(pods, way) for way in product(range(-1, len(self.nodes)), repeat=len(pods)))

    def _is_way(self, pods: list[int], way: tuple[int, ...]) -> bool:
        if sum(at >= 0 for at in way) < self.minimum:
            return False
        for kind, least in enumerate(self.minima):
            if sum(at >= 0 for one, at in zip(pods, way, strict=True) if one == kind) < least:
                return False
        for node, (cpu, gpu, zone) in enumerate(self.nodes):
            here = [self.kinds[one] for one, at in zip(pods, way, strict=True) if at == node]
            if sum(one.cpu for one in here) > cpu or sum(one.gpu for one in here) > gpu:
                return False
            if any(one.zone not in ("", zone) for one in here) or sum(one.port for one in here) > 1:
                return False
            if len(here) > 1 and any(one.apart for one in here):
                return False
        return True


@st.composite
def gangs(draw: st.DrawFn, *, plain: bool) -> Gang:
    zones = st.sampled_from("ab")
    nodes = [(draw(st.integers(1, 8)), draw(st.integers(0, 2)), draw(zones)) for _ in range(draw(st.integers(1, 3)))]
    kinds = [
        Kind(
            draw(st.integers(1, 2)),
            draw(st.integers(1, 5)),
            draw(st.sampled_from((0, 0, 1))),
            draw(st.sampled_from(("", "", "a"))),
            not plain and draw(st.booleans()),
            not plain and draw(st.booleans()),
        )
        for _ in range(draw(st.integers(1, 3)))
    ]
    total = sum(kind.count for kind in kinds)
    minima = [draw(st.integers(0, kind.count)) for kind in kinds] if draw(st.booleans()) else [0] * len(kinds)
    return Gang(nodes, kinds, draw(st.integers(max(1, sum(minima), total - 2), total)), minima)


def starts(found: Plan) -> bool:
    return found.jobs["ns/a"].ready >= found.jobs["ns/a"].min_member


@pytest.mark.parametrize("plain", [True, False], ids=["amounts and selectors", "anti-affinity and ports as well"])
@settings(deadline=None, max_examples=examples(60))
@given(data=st.data())
def test_a_gang_starts_if_and_only_if_it_fits(plain: bool, data: st.DataObject) -> None:
    gang = data.draw(gangs(plain=plain))
    assert starts(plan(gang.text(), GANGS)) is gang.fits()


class Grouped(NamedTuple):
    """A gang of sub-groups, so many of which it needs, each with its minimum."""

    nodes: list[tuple[int, int, str]]
    """Cpu, GPUs and rack of each."""
    groups: list[list[tuple[int, int]]]
    """By group: cpu and GPUs of each pod."""
    size: int
    needed: int
    close: bool
    """Whether each group has to be in one rack."""

    def manifests(self) -> Iterator[Manifest]:
        nodes = [f"node n{at} cpu={cpu} gpu={gpu}" for at, (cpu, gpu, _) in enumerate(self.nodes)]
        pods = [
            f"pods ns/a 1 cpu={cpu} gpu={gpu} labels=part:r{at}"
            for at, group in enumerate(self.groups)
            for cpu, gpu in group
        ]
        minimum = self.size * self.needed
        for one in manifests(
            "\n".join([*nodes, f"job ns/a min={minimum} subGroups=part:{self.size}:{self.needed}", *pods])
        ):
            if one["kind"] == "PodGroup" and self.close:
                one["spec"]["subGroupPolicy"][0]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
            yield one
        for rack in sorted({rack for *_, rack in self.nodes}):
            yield hypernode_object(rack, 1, *(f"n{at}" for at, node in enumerate(self.nodes) if node[2] == rack))

    def fits(self) -> bool:
        """Whether it does, by trying all ways."""
        pods = [(at, *pod) for at, group in enumerate(self.groups) for pod in group]
        return any(self._is_way(pods, way) for way in product(range(-1, len(self.nodes)), repeat=len(pods)))

    def _is_way(self, pods: list[tuple[int, int, int]], way: tuple[int, ...]) -> bool:
        for node, (cpu, gpu, _) in enumerate(self.nodes):
            here = [pod for pod, at in zip(pods, way, strict=True) if at == node]
            if sum(pod[1] for pod in here) > cpu or sum(pod[2] for pod in here) > gpu:
                return False
        nodes = [[at for pod, at in zip(pods, way, strict=True) if pod[0] == one and at >= 0] for one in range(3)]
        if self.close and any(len({self.nodes[at][2] for at in mine}) > 1 for mine in nodes):
            return False
        return sum(len(mine) >= self.size for mine in nodes) >= self.needed and all(
            not mine or len(mine) >= self.size for mine in nodes
        )


@st.composite
def grouped(draw: st.DrawFn) -> Grouped:
    close = draw(st.booleans())
    node = st.tuples(st.integers(1, 7), st.integers(0, 2), st.sampled_from("xyz"))
    nodes = draw(st.lists(node, min_size=1, max_size=4 if close else 3))
    size, groups = draw(st.integers(1, 2)), draw(st.integers(2, 3))
    pod = st.tuples(st.integers(1, 4), st.integers(0, 1))
    each = [[draw(pod) for _ in range(size)] for _ in range(groups)]
    return Grouped(nodes, each, size, draw(st.integers(1, groups)), close)


@settings(deadline=None, max_examples=examples(60))
@given(grouped())
def test_a_gang_of_sub_groups_starts_if_and_only_if_it_fits(gang: Grouped) -> None:
    assert starts(decide(gang.manifests(), GANGS, proved=True)) is gang.fits()


class Near(NamedTuple):
    """Pods of one kind with rules about other pods."""

    count: int
    zone: str
    near: str
    """The kind that has to be in their zone, where there is one."""
    even: int
    """The skew allowed of the kinds ``spread`` over the zones; 0 for any."""
    spread: bool

    def manifests(self, name: str) -> Iterator[Manifest]:
        selector = f" selector=zone:{self.zone}" if self.zone else ""
        labels = f"kind:{name}" + (",spread:yes" if self.spread else "")
        for one in manifests(f"pods ns/a {self.count} cpu=1 role={name}{selector} labels={labels}"):
            one["metadata"]["name"] = f"{name}-{one['metadata']['name']}"
            one["metadata"]["uid"] = f"{name}-{one['metadata']['uid']}"
            if self.near:
                term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"kind": self.near}}}
                one["spec"]["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
            if self.even:
                one["spec"]["topologySpreadConstraints"] = [
                    {
                        "maxSkew": self.even,
                        "topologyKey": "zone",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "nodeAffinityPolicy": "Ignore",
                        "labelSelector": {"matchLabels": {"spread": "yes"}},
                    }
                ]
            yield one


class Neighbours(NamedTuple):
    """A gang with rules about other pods, on nodes of some cpu in zones a and b; all of its pods are needed."""

    nodes: list[tuple[int, str]]
    kinds: list[Near]

    def manifests(self) -> Iterator[Manifest]:
        nodes = "\n".join(f"node n{at} cpu={cpu} zone={zone}" for at, (cpu, zone) in enumerate(self.nodes))
        yield from manifests(f"{nodes}\njob ns/a min={sum(kind.count for kind in self.kinds)}")
        for at, kind in enumerate(self.kinds):
            yield from kind.manifests(f"k{at}")

    def fits(self) -> bool:
        """Whether it does, by placing the pods in all orders and ways."""
        zones = sorted({zone for _, zone in self.nodes})
        known: dict[tuple[tuple[int, ...], ...], bool] = {}

        def go_on(placed: tuple[tuple[int, ...], ...]) -> bool:
            """``placed``: by node, how many of each kind."""
            if placed not in known:
                known[placed] = is_complete(placed) or any(go_on(after) for after in steps(placed))
            return known[placed]

        def is_complete(placed: tuple[tuple[int, ...], ...]) -> bool:
            return all(sum(node[at] for node in placed) == kind.count for at, kind in enumerate(self.kinds))

        def steps(placed: tuple[tuple[int, ...], ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
            here = {
                zone: [
                    sum(node[at] for node, (_, of) in zip(placed, self.nodes, strict=True) if of == zone)
                    for at in range(len(self.kinds))
                ]
                for zone in zones
            }
            spread = {
                zone: sum(c for c, kind in zip(counts, self.kinds, strict=True) if kind.spread)
                for zone, counts in here.items()
            }
            for at, kind in enumerate(self.kinds):
                if sum(node[at] for node in placed) == kind.count:
                    continue
                for number, (cpu, zone) in enumerate(self.nodes):
                    if sum(placed[number]) == cpu or kind.zone not in ("", zone):
                        continue
                    if kind.near:
                        wanted = int(kind.near[1:])
                        is_first = wanted == at and not any(counts[at] for counts in here.values())
                        if not (wanted < len(self.kinds) and here[zone][wanted]) and not is_first:
                            continue
                    if kind.even and spread[zone] + kind.spread - min(spread.values()) > kind.even:
                        continue
                    mine = list(placed[number])
                    mine[at] += 1
                    yield (*placed[:number], tuple(mine), *placed[number + 1 :])

        return go_on(((0,) * len(self.kinds),) * len(self.nodes))


@st.composite
def neighbours(draw: st.DrawFn) -> Neighbours:
    nodes = draw(st.lists(st.tuples(st.integers(1, 3), st.sampled_from("ab")), min_size=1, max_size=3))
    kind = st.builds(
        Near,
        st.integers(1, 2),
        st.sampled_from(("", "", "a", "b")),
        st.sampled_from(("", "", "k0", "k1", "k2")),
        st.sampled_from((0, 0, 1, 2)),
        st.booleans(),
    )
    return Neighbours(nodes, draw(st.lists(kind, min_size=1, max_size=3)))


@settings(deadline=None, max_examples=examples(60))
@given(neighbours())
def test_a_gang_with_affinity_and_spread_starts_if_and_only_if_it_fits(gang: Neighbours) -> None:
    assert starts(decide(gang.manifests(), GANGS, proved=True)) is gang.fits()


def test_searches_of_one_session_take_so_many_steps_in_all_and_what_is_left_out_is_told() -> None:
    """Each of the gangs has seven pods with one port on six nodes."""
    nodes = "\n".join([f"node n{at} cpu=4" for at in range(6)])
    jobs = [
        f"job ns/a{at} min=7\npods ns/a{at} 4 cpu=1 port={at}\npods ns/a{at} 3 cpu=3 port={at}"
        for at in range(1, SEARCHES_MAX + 6)
    ]
    session = run_actions(mirror(manifests("\n".join([nodes, *jobs]))).snapshot(NOW), GANGS, REGISTRY, Trace())
    assert SEARCHES_MAX * 300 <= session.node_selection.searched < (SEARCHES_MAX + 1) * 300
    assert all(why.cut for why in session.refused.tasks.values() if isinstance(why, NodeReasons))


@pytest.mark.parametrize("pods", [24, 32])
def test_a_gang_that_fits_and_that_its_queue_may_not_hold_takes_no_more_steps(
    pods: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counting says how all of it would fit, and the queue refuses the last pod that it needs, in whatever way."""
    placed: list[int] = []
    place = GangAssignment._place

    def counted(self: GangAssignment, task: Task, row: int) -> None:
        placed.append(row)
        assert len(placed) < 1_000
        place(self, task, row)

    monkeypatch.setattr(GangAssignment, "_place", counted)
    nodes = [
        f"node n{at} cpu=32\njob y/e{at} queue=b min=1 phase=Running\npods y/e{at} 32 cpu=1 on=n{at}\n"
        for at in range(4)
    ]
    text = f"queue a weight=1\nqueue b weight=2\n{''.join(nodes)}job x/g queue=a min=22\npods x/g {pods} cpu=2\n"
    report = Busy(
        text, taking("allocate, reclaim", "priority gang conformance proportion", "predicates nodeorder")
    ).cycle()
    assert placed
    assert report.evictions == ()
    assert "queue a deserves" in report.jobs["x/g"].message


def test_what_came_to_nothing_in_one_choice_of_domains_is_tried_in_the_next() -> None:
    """The second pod has to be near the first, and its port is taken on the node that is tried first."""
    text = """
    node n0 cpu=4 zone=a
    node n1 cpu=4 zone=a
    pods ns/b 1 cpu=1 port=80 on=n0
    job ns/a min=2
    pods ns/a 1 cpu=1 role=first labels=kind:first
    pods ns/a 1 cpu=1 role=second port=80
    """
    objects = manifests(text)
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"kind": "first"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    next(one for one in objects if one["metadata"]["name"] == "a.1")["spec"]["affinity"] = near
    session = Session(mirror(objects).snapshot(NOW), GANGS, REGISTRY, Trace())
    job = session.view("ns/a")
    kinds = kinds_of(session, session.plugins.ordered_tasks(job.job.pending.values()), lambda task: task.role)
    n0, n1 = (mask_of(session, np.array([row])) for row in (0, 1))
    domains = [KindsInDomain(frozenset({0}), [n0]), KindsInDomain(frozenset({1}), [n0, n1])]
    with session.statement() as statement:
        budget, goal = search_budget(session), goal_of(session, job)
        search = GangAssignment(session, session.queue(job), job, kinds, statement, goal, budget, later=False)
        assert search.run(domains)
        assert [(step.task.role, step.row) for step in statement.steps] == [("first", 0), ("second", 1)]


def test_what_is_too_much_to_count_on_all_nodes_is_counted_in_a_small_domain() -> None:
    kinds = "\n".join(f"pods ns/a 20 cpu=3 memory={at}Mi" for at in range(1, 6))
    text = f"node n0 cpu=400 memory=1Ti\nnode n1 cpu=8 memory=1Ti\njob ns/a min=3\n{kinds}"
    session = Session(mirror(manifests(text)).snapshot(NOW), GANGS, REGISTRY, Trace())
    job, budget = session.view("ns/a"), search_budget(session)
    tasks = kinds_of(session, list(job.job.pending.values()), lambda task: task.role)
    counts = GangCounts(session, tasks, goal_of(session, job), budget, later=False)
    assert counts.may_be_met()
    assert not counts.is_counted
    counts.reach = dict.fromkeys(range(5), mask_of(session, np.array([1])))
    assert not counts.may_be_met()
    assert not budget.cut
