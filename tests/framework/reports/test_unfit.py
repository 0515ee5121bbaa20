"""Gangs that fit on the nodes in no way: the message names the roles that do not fit there together."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.packing import fits, most
from tests.support.plans import NOW, manifests, mirror, plan, policy_of
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.reports.unfit import LOOKS_MAX, MEMO
from vsched.framework.words import jobs as words
from vsched.framework.words import nodes
from vsched.model.memo import Memo, Mode
from vsched.settings.built_in import REGISTRY

GANGS = policy_of("gang", "predicates nodeorder", actions="allocate")
GPU = "example.com/gpu"
LAUNCHED = "job ns/a min=2\npods ns/a 1 cpu=4 role=launcher\npods ns/a 1 cpu=1 gpu=1 role=worker"
ROLES = words.roles_of(["launcher", "worker"])


def lacking(who: str, needed: str, resource: str, has: str, nodes: str = words.USABLE_NODES) -> str:
    return words.lack_together(who, needed, resource, nodes, words.free(has, leaving=False))


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        pytest.param(f"node n1 cpu=4 gpu=1\nnode n2 cpu=4\n{LAUNCHED}", "", "", id="another order does"),
        pytest.param(
            f"node n1 cpu=4 gpu=1\n{LAUNCHED}",
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 2, 2, 1)}: {lacking(ROLES, '5', 'cpu', '4')}",
            id="each fits by itself, and there is too little cpu for both",
        ),
        pytest.param(
            f"node n1 cpu=4 gpu=1\nnode n2 cpu=1\n{LAUNCHED}",
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 2, 2, 1)}: {lacking(ROLES, '5', 'cpu', '4', words.NODES_WITH_ROOM)}",
            id="a node with room for neither does not count",
        ),
        pytest.param(
            "node n1 cpu=4 gpu=1 zone=a\nnode n2 cpu=9 zone=b\njob ns/a min=2\n"
            "pods ns/a 1 cpu=4 role=launcher selector=zone:a\npods ns/a 1 cpu=1 gpu=1 role=worker selector=zone:a",
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 2, 2, 1)}: {lacking(ROLES, '5', 'cpu', '4')}",
            id="nor does one that they do not select",
        ),
        pytest.param(
            "node n1 cpu=4\nnode n2 cpu=4\njob ns/a min=3\npods ns/a 2 cpu=3 role=worker\npods ns/a 1 cpu=2 role=ps",
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 3, 3, 2)}: "
            + words.few_fit(words.roles_of(["worker", "ps"]), 3, 2, ["cpu"]),
            id="the sum is enough, and the pieces are too small",
        ),
        pytest.param(
            "node n1 cpu=4 gpu=1\njob ns/a min=2\npods ns/a 1 cpu=4\npods ns/a 1 cpu=1 gpu=1",
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 2, 2, 1)}: {lacking(words.pods_like(['a.0', 'a.1']), '5', 'cpu', '4')}",
            id="pods without roles",
        ),
        pytest.param(
            "node n1 cpu=9 memory=3Gi gpu=2\njob ns/a min=3 roles=ps:1,worker:2\npods ns/a 1 memory=2Gi role=ps\n"
            "pods ns/a 2 memory=1Gi gpu=1 role=worker\npods ns/a 1 cpu=1 role=spare",
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 3, 3, 2)}: "
            + lacking(words.roles_of(["ps", "worker"]), "4Gi", "memory", "3Gi"),
            id="a role that is not needed is not named",
        ),
        pytest.param(
            "node n1 cpu=9 gpu=3\njob ns/a min=3 roles=ps:1,worker:2\npods ns/a 1 gpu=2 role=ps\n"
            "pods ns/a 4 gpu=1 role=worker",
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 3, 3, 2)}: "
            + lacking(words.roles_of(["ps", "worker"]), words.at_least("4"), GPU, "3"),
            id="it does not need all of its pods",
        ),
        pytest.param(
            "node n1 cpu=9 gpu=3\njob ns/a min=5\npods ns/a 1 cpu=1 role=ps\npods ns/a 4 gpu=1 role=worker",
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 5, 5, 4)}: "
            + words.lack_together(
                "role worker", "4", GPU, words.USABLE_NODES, words.free("3", leaving=False), several=False
            )
            + f"; {nodes.on_nodes([(f'Insufficient {GPU}', 1)])}",
            id="one role is too many by itself",
        ),
        pytest.param(
            "node n1 cpu=9 gpu=3\njob ns/a min=5 roles=ps:1,worker:4\npods ns/a 1 cpu=1 role=ps\n"
            "pods ns/a 4 gpu=1 role=worker",
            Code.ROLE_MINIMUM,
            f"{words.needs('role worker', 4, 4, 3)}: {nodes.on_nodes([(f'Insufficient {GPU}', 1)])}",
            id="and has a minimum",
        ),
        pytest.param(
            "node n1 cpu=9 gpu=3\njob ns/a min=4\npods ns/a 1 cpu=1 role=ps on=n1\npods ns/a 2 gpu=1 role=worker\n"
            "pods ns/a 1 gpu=2 role=chief",
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 4, 3, 2)}: {lacking(words.roles_of(['worker', 'chief']), '4', GPU, '3')}",
            id="a part of it runs",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/b min=1 pods=1 cpu=2 on=n1 leaving\njob ns/a min=2\n"
            "pods ns/a 1 cpu=4 role=launcher\npods ns/a 1 cpu=1 role=worker",
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 2, 2, 1)}: "
            + words.lack_together(ROLES, "5", "cpu", words.USABLE_NODES, words.free("4", leaving=True)),
            id="what pods are leaving counts as well",
        ),
        pytest.param(
            "node n1 cpu=9 pods=2\njob ns/a min=3\npods ns/a 1 cpu=1 role=ps\npods ns/a 2 cpu=2 role=worker",
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 3, 3, 2)}: {lacking(words.roles_of(['ps', 'worker']), '3', 'pods', '2')}",
            id="slots for pods",
        ),
    ],
)
def test_which_roles_do_not_fit_together(text: str, code: str, message: str) -> None:
    found = plan(text, GANGS).jobs["ns/a"]
    assert (found.code, found.message) == (code, message)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "node n1 cpu=9\njob ns/a min=2\npods ns/a 1 cpu=1 port=80 role=ps\npods ns/a 1 cpu=2 port=80 role=worker",
            id="a port is in the way",
        ),
        pytest.param(
            "node n1 cpu=9\njob ns/a min=2\npods ns/a 1 cpu=1 role=ps\npods ns/a 1 cpu=2 apart=a role=worker",
            id="they do not share a node",
        ),
        pytest.param(
            "node n1 cpu=9\nqueue q capability=cpu:2\njob ns/a min=2 queue=q\npods ns/a 1 cpu=1 role=ps\n"
            "pods ns/a 1 cpu=2 role=worker",
            id="the queue allows no more",
        ),
    ],
)
def test_nothing_is_said_of_roles_where_amounts_on_nodes_are_enough(text: str) -> None:
    found = plan(text, policy_of("gang", "predicates capacity", actions="allocate")).message("ns/a")
    assert found
    assert "role" not in found


def test_each_pod_of_the_gang_says_so_as_well() -> None:
    text = "node n1 cpu=4\njob ns/a min=3\npods ns/a 1 cpu=4 role=launcher\npods ns/a 2 cpu=1 role=worker"
    found = plan(text, GANGS)
    assert ROLES in found.message("ns/a")
    assert found.why("ns/a.2") == words.gang_waits("ns/a", found.message("ns/a"))


def test_it_is_counted_for_gangs_that_wait_alone_and_again_where_something_has_changed() -> None:
    memo = Memo(Mode.ON)

    def counted(text: str) -> tuple[int, int]:
        run_cycle(mirror(manifests(text)).snapshot(NOW), GANGS, REGISTRY, memo=memo)
        return memo.counted().get(MEMO, (0, 0))

    assert counted(f"node n1 cpu=4 gpu=1\nnode n2 cpu=4\n{LAUNCHED}") == (0, 0)
    assert counted(f"node n1 cpu=4 gpu=1\n{LAUNCHED}") == (0, 1)
    assert counted(f"node n1 cpu=4 gpu=1\n{LAUNCHED}") == (1, 0)
    assert counted(f"node n1 cpu=4 gpu=2\n{LAUNCHED}\njob ns/b min=1 pods=1 gpu=2") == (0, 1)


def test_so_many_gangs_are_looked_at_in_a_session() -> None:
    jobs = "\n".join(
        f"job ns/a{at} min=2\npods ns/a{at} 1 cpu=4 role=launcher\npods ns/a{at} 1 cpu=1 memory={at}Mi role=worker"
        for at in range(1, LOOKS_MAX + 3)
    )
    found = plan(f"node n1 cpu=4\n{jobs}", GANGS)
    assert sum(ROLES in job.message for job in found.jobs.values()) == LOOKS_MAX


# -- compared with trying all ways ---------------------------------------------------------------------------------


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """Cpu and GPUs of each node; how many pods each role has, and what each of them asks for."""
    sizes = [(draw(st.integers(1, 8)), draw(st.integers(0, 2))) for _ in range(draw(st.integers(1, 3)))]
    pod = st.tuples(st.integers(1, 2), st.integers(1, 5), st.integers(0, 1))
    return sizes, [draw(pod) for _ in range(draw(st.integers(2, 3)))]


@settings(deadline=None, max_examples=examples(60))
@given(clusters())
def test_as_many_fit_as_is_said_and_a_smallest_set_of_roles_is_named(
    cluster: tuple[list[tuple[int, int]], list[tuple[int, int, int]]],
) -> None:
    sizes, roles = cluster
    of_role = {f"r{at}": [(cpu, gpu)] * count for at, (count, cpu, gpu) in enumerate(roles)}
    pods = [pod for some in of_role.values() for pod in some]
    lines = [f"node n{at} cpu={cpu} gpu={gpu}" for at, (cpu, gpu) in enumerate(sizes)]
    lines += [f"job ns/a min={len(pods)}"]
    lines += [f"pods ns/a {count} cpu={cpu} gpu={gpu} role=r{at}" for at, (count, cpu, gpu) in enumerate(roles)]
    found = plan("\n".join(lines), GANGS)
    if fits(sizes, pods):
        assert found.bound == {"a": len(pods)}
        return
    message = found.message("ns/a")
    assert message.startswith(words.needs(words.THE_GANG, len(pods), len(pods), most(sizes, pods)))
    unfit = [
        some
        for size in range(1, len(roles) + 1)
        for some in combinations(of_role, size)
        if not fits(sizes, [pod for role in some for pod in of_role[role]])
    ]
    smallest = [some for some in unfit if len(some) == len(unfit[0])]
    fits_nowhere = any(len(some) == 1 and not most(sizes, of_role[some[0]]) for some in smallest)
    assert fits_nowhere or any(words.roles_of(some) in message for some in smallest)
