"""consolidate, against all ways to move pods on small clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import plan, policy_from

POLICY = policy_from(
    """
actions: "allocate, consolidate"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: nodeorder}]
configurations:
- name: allocate
  arguments: {gangSearchSteps: 5000}
- name: consolidate
  arguments: {moveSearchSteps: 100000}
"""
)

Size = tuple[int, int]
"""So much cpu, and so many devices."""


class Pod(NamedTuple):
    """A running pod."""

    job: str
    size: Size
    node: int
    moves: bool
    """Whether it may be moved, as far as it says itself."""


class Cluster(NamedTuple):
    """A small cluster, and a gang that waits."""

    nodes: tuple[Size, ...]
    pods: tuple[Pod, ...]
    allowed: Mapping[str, int]
    """By job with a disruption budget: how many of its pods may leave."""
    gang: tuple[Size, ...]
    needed: int
    """How many of the gang's pods have to start together."""

    def text(self) -> str:
        """In the language of plans."""
        lines = [f"node n{at} cpu={cpu} gpu={gpu}" for at, (cpu, gpu) in enumerate(self.nodes)]
        lines += [f"job ns/{job} phase=Running min=1" for job in dict.fromkeys(pod.job for pod in self.pods)]
        for job, (cpu, gpu), node, moves in self.pods:
            lines.append(f"pods ns/{job} 1 cpu={cpu} gpu={gpu} on=n{node} started=3600 {'owned' if moves else ''}")
        lines += [f"pdb ns/{job} selector=job:{job} allowed={number}" for job, number in self.allowed.items()]
        lines.append(f"job ns/want min={self.needed} phase=Inqueue")
        lines += [f"pods ns/want 1 cpu={cpu} gpu={gpu}" for cpu, gpu in self.gang]
        return "\n".join(lines)


def sizes(cpu: int, gpu: int) -> st.SearchStrategy[Size]:
    return st.tuples(st.integers(1, cpu), st.integers(0, gpu))


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    nodes = draw(st.lists(sizes(6, 3), min_size=2, max_size=4))
    left, pods = [list(size) for size in nodes], list[Pod]()
    for job, size, node, moves in draw(
        st.lists(
            st.tuples(
                st.sampled_from("abc"),
                sizes(4, 2),
                st.integers(0, len(nodes) - 1),
                st.sampled_from([True] * 4 + [False]),
            ),
            max_size=6,
        )
    ):
        if all(has >= asks for has, asks in zip(left[node], size, strict=True)):
            left[node] = [has - asks for has, asks in zip(left[node], size, strict=True)]
            pods.append(Pod(job, size, node, moves))
    kinds = draw(
        st.lists(
            st.builds(
                lambda node, cpu, gpu: (max(1, node[0] - cpu), max(0, node[1] - gpu)),
                st.sampled_from(nodes),
                st.integers(0, 2),
                st.integers(0, 2),
            ),
            min_size=1,
            max_size=2,
        )
    )  # about as much as a node has: moves help where all together have enough
    gang = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
    allowed = draw(st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=1))
    used = {pod.job for pod in pods}
    return Cluster(
        tuple(nodes),
        tuple(pods),
        {job: number for job, number in allowed.items() if job in used},
        tuple(gang),
        draw(st.integers(1, len(gang))),
    )


def ways(sizes: Sequence[Size], room: list[list[int]], besides: Sequence[int], least: int) -> Iterator[None]:
    """Each way to put at least so many of these on other nodes than their own; ``room`` is what is left."""
    if len(sizes) == 0:
        if least <= 0:
            yield
        return
    size, *others = sizes
    for node, left in enumerate(room):
        if node != besides[0] and all(has >= asks for has, asks in zip(left, size, strict=True)):
            room[node] = [has - asks for has, asks in zip(left, size, strict=True)]
            yield from ways(others, room, besides[1:], least - 1)
            room[node] = left
    if least <= len(others):
        yield from ways(others, room, besides[1:], least)


def fits(cluster: Cluster, leaving: Sequence[Pod]) -> bool:
    """Whether the gang fits once these pods have left, with a place now for each of them."""
    idle = [list(size) for size in cluster.nodes]
    for pod in cluster.pods:
        idle[pod.node] = [has - asks for has, asks in zip(idle[pod.node], pod.size, strict=True)]
    for _ in ways([pod.size for pod in leaving], idle, [pod.node for pod in leaving], len(leaving)):
        room = [list(left) for left in idle]
        for pod in leaving:
            room[pod.node] = [has + asks for has, asks in zip(room[pod.node], pod.size, strict=True)]
        if next(ways(cluster.gang, room, [-1] * len(cluster.gang), cluster.needed), "none") is None:
            return True
    return False


def fewest(cluster: Cluster) -> int | None:
    """The fewest pods that have to be moved; None where no moves let the gang start."""
    movable = [pod for pod in cluster.pods if pod.moves]
    for number in range(len(movable) + 1):
        for leaving in combinations(movable, number):
            counts = Counter(pod.job for pod in leaving)
            if all(counts[job] <= most for job, most in cluster.allowed.items()) and fits(cluster, leaving):
                return number
    return None


@settings(max_examples=examples(200), deadline=None)
@given(clusters())
def test_as_few_pods_are_moved_as_possible(cluster: Cluster) -> None:
    report = plan(cluster.text(), POLICY).reports[0]  # the checker says whether each has a place now
    wanted = fewest(cluster)
    assert len(report.evictions) == (wanted or 0)
    gets_room = len(report.binds) + len(report.nominations)
    assert (gets_room >= cluster.needed) is (wanted is not None)
