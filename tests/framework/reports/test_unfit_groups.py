"""Gangs with sub-groups that fit on the nodes in no way: the message names the sub-groups that do not fit together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, product
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.hypernodes import hypernode_object
from tests.support.packing import Size, fits, most
from tests.support.plans import Plan, decide, manifests, plan, policy_of
from vsched.framework.words import jobs as words

GANGS = policy_of("gang", "predicates nodeorder", actions="allocate")
GPU = "example.com/gpu"
XY = words.sub_groups_of(["part/x", "part/y"])


def lacking(who: str, needed: str, resource: str, has: str) -> str:
    return words.lack_together(who, needed, resource, words.USABLE_NODES, words.free(has, leaving=False))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "node n1 cpu=4 gpu=3\njob ns/a min=4 subGroups=part:2:2\npods ns/a 2 cpu=1 gpu=1 labels=part:x\n"
            "pods ns/a 2 cpu=1 gpu=1 labels=part:y",
            f"{words.needs(words.THE_GANG, 4, 4, 3)}: {lacking(XY, '4', GPU, '3')}",
            id="pods of one kind, in two sub-groups",
        ),
        pytest.param(
            "node n1 cpu=4\nnode n2 cpu=4\njob ns/a min=3 subGroups=part:1:3\npods ns/a 1 cpu=3 labels=part:x\n"
            "pods ns/a 1 cpu=3 labels=part:y\npods ns/a 1 cpu=2 labels=part:z",
            f"{words.needs(words.THE_GANG, 3, 3, 2)}: "
            + words.few_fit(words.sub_groups_of(["part/x", "part/y", "part/z"]), 3, 2, ["cpu"]),
            id="the sum is enough, and the pieces are too small",
        ),
        pytest.param(
            "node n1 cpu=9 gpu=3\njob ns/a min=6 subGroups=part:2:3\npods ns/a 2 gpu=1 labels=part:x\n"
            "pods ns/a 2 gpu=1 labels=part:y\npods ns/a 2 cpu=1 labels=part:z",
            f"{words.needs(words.THE_GANG, 6, 6, 5)}: {lacking(XY, '4', GPU, '3')}",
            id="one that has room beside any other is not named",
        ),
        pytest.param(
            "node n1 cpu=9\njob ns/a min=4 subGroups=part:2:2\npods ns/a 1 cpu=1 on=n1 labels=part:x\n"
            "pods ns/a 1 cpu=4 labels=part:x\npods ns/a 2 cpu=3 labels=part:y",
            f"{words.needs(words.THE_GANG, 4, 3, 2)}: {lacking(XY, '10', 'cpu', '8')}",
            id="a part of one runs",
        ),
        pytest.param(
            "node n1 cpu=4 gpu=3\njob ns/a min=4 subGroups=part:2:2\npods ns/a 2 cpu=1 labels=part:x\n"
            "pods ns/a 2 cpu=2 labels=part:y\npods ns/a 2 cpu=2 gpu=1 labels=part:z",
            f"{words.needs(words.THE_GANG, 4, 4, 3)}: "
            + lacking(words.pods_like(["a.0", "a.2", "a.4"]), words.at_least("6"), "cpu", "4"),
            id="of three it needs any two, and the smallest pods of all are too much",
        ),
    ],
)
def test_which_sub_groups_do_not_fit_together(text: str, message: str) -> None:
    assert plan(text, GANGS).message("ns/a") == message


def test_a_gang_that_would_not_fit_in_the_whole_cluster_is_not_told_about_domains() -> None:
    found = Grouped([(4, 1, "x"), (4, 1, "y")], [[(1, 1), (1, 0)], [(1, 1), (2, 1)]], 2, True).decided()
    groups = words.sub_groups_of(["part/p0", "part/p1"])
    assert found.message("ns/a") == f"{words.needs(words.THE_GANG, 4, 4, 3)}: {lacking(groups, '3', GPU, '2')}"


def test_sub_groups_that_each_fit_in_a_domain_may_not_fit_together() -> None:
    found = Grouped([(4, 2, "x"), (4, 0, "y"), (9, 0, "y")], [[(1, 1), (1, 0)], [(1, 1), (2, 0)]], 2, True).decided()
    groups = words.sub_groups_of(["part/p0", "part/p1"])
    assert found.message("ns/a") == f"{words.needs(words.THE_GANG, 4, 4, 2)}: {words.in_no_domains(groups)}"


class Grouped(NamedTuple):
    """A gang of sub-groups on an empty cluster."""

    nodes: list[tuple[int, int, str]]
    """Cpu, GPUs and rack of each."""
    groups: list[list[Size]]
    """By group: cpu and GPUs of each pod; all of them are needed."""
    needed: int
    """How many of the groups it needs."""
    close: bool
    """Whether the pods of each group have to be in one rack."""

    def fit(self, groups: Sequence[int]) -> bool:
        """Whether these groups fit together, by trying all ways."""
        racks = sorted({rack for *_, rack in self.nodes}) if self.close else [""]
        return any(
            all(
                fits(
                    [(cpu, gpu) for cpu, gpu, one in self.nodes if rack in ("", one)],
                    [pod for at, of in zip(groups, way, strict=True) if of == rack for pod in self.groups[at]],
                )
                for rack in racks
            )
            for way in product(racks, repeat=len(groups))
        )

    def decided(self) -> Plan:
        nodes = [f"node n{at} cpu={cpu} gpu={gpu}" for at, (cpu, gpu, _) in enumerate(self.nodes)]
        size = len(self.groups[0])
        job = f"job ns/a min={size * self.needed} subGroups=part:{size}:{self.needed}"
        pods = [
            f"pods ns/a 1 cpu={cpu} gpu={gpu} labels=part:p{at}"
            for at, some in enumerate(self.groups)
            for cpu, gpu in some
        ]
        objects = manifests("\n".join([*nodes, job, *pods]))
        for one in objects:
            if one["kind"] == "PodGroup" and self.close:
                one["spec"]["subGroupPolicy"][0]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
        for rack in sorted({rack for *_, rack in self.nodes}):
            objects.append(
                hypernode_object(rack, 1, *(f"n{at}" for at, node in enumerate(self.nodes) if node[2] == rack))
            )
        return decide(objects, GANGS, proved=True)


@st.composite
def grouped(draw: st.DrawFn) -> Grouped:
    node = st.tuples(st.integers(1, 7), st.integers(0, 2), st.sampled_from("xy"))
    size, count = draw(st.integers(1, 2)), draw(st.integers(2, 3))
    pod = st.tuples(st.integers(1, 4), st.integers(0, 1))
    groups = [[draw(pod) for _ in range(size)] for _ in range(count)]
    nodes = draw(st.lists(node, min_size=1, max_size=3))
    return Grouped(nodes, groups, draw(st.integers(1, count)), draw(st.booleans()))


@settings(deadline=None, max_examples=examples(60))
@example(Grouped([(1, 0, "y"), (2, 0, "x"), (3, 0, "x")], [[(1, 0), (3, 0)], [(1, 0), (1, 0)]], 2, True))
@given(grouped())
def test_sub_groups_that_are_named_do_not_fit_together_and_any_fewer_do(gang: Grouped) -> None:
    found = gang.decided()
    sizes = [(cpu, gpu) for cpu, gpu, _ in gang.nodes]
    every = [pod for some in gang.groups for pod in some]
    wanted = len(gang.groups[0]) * gang.needed
    if found.bound:
        return
    message, is_choice = found.message("ns/a"), gang.needed < len(gang.groups)
    numbers = range(len(gang.groups))
    sets = [some for size in range(1, len(numbers) + 1) for some in combinations(numbers, size)]
    names = {some: words.sub_groups_of([f"part/p{at}" for at in some]) for some in sets}
    unfit = _smallest(some for some in sets if not fits(sizes, [pod for at in some for pod in gang.groups[at]]))
    if words.pods_like([""]).strip() in message:
        assert most(sizes, every) < wanted
    if is_choice:
        return
    if not unfit:
        apart = _smallest(some for some in sets if not gang.fit(some))
        assert len(apart[0]) == 1 or any(words.in_no_domains(names[some]) in message for some in apart)
    elif len(unfit[0]) > 1:
        assert any(f"{names[some]}{end}" in message for some in unfit for end in " ,")
        assert message.startswith(words.needs(words.THE_GANG, wanted, wanted, most(sizes, every)))


def _smallest(sets: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    found = list(sets)
    return [some for some in found if len(some) == len(found[0])]
