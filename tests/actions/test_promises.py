"""What admitted jobs that cannot be placed were promised: it keeps out nobody who would run now."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import plan
from tests.support.taking import Busy, taking
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.status import Phase
from vsched.settings.built_in import REGISTRY

ACTIONS, FIRST = "enqueue, allocate, backfill", "priority gang conformance"
BY_WEIGHT = taking(ACTIONS, FIRST, "overcommit drf predicates proportion nodeorder")
BY_AMOUNT = taking(ACTIONS, FIRST, "overcommit drf predicates capacity nodeorder")
IN_A_TREE = taking(ACTIONS, FIRST, "overcommit drf predicates capacity-H nodeorder")
POLICIES = (BY_WEIGHT, BY_AMOUNT, IN_A_TREE)
NODES = "node n1 cpu=4 zone=a\nnode n2 cpu=4 zone=a\n"
SMALL = "job ns/small min=2 pods=2 cpu=1 minResources=cpu:2\n"
"""It asks for two of the eight cores, of which 9.6 may be promised."""


@pytest.mark.parametrize("policy", POLICIES, ids=["proportion", "capacity", "capacity in a tree"])
@pytest.mark.parametrize(
    ("admitted", "enters"),
    [
        pytest.param("job ns/a min=2 pods=2 cpu=4 minResources=cpu:8", False, id="a gang that has room keeps it"),
        pytest.param("job ns/a min=2 minResources=cpu:8", False, id="and so does one whose pods are yet to be made"),
        pytest.param("job ns/a min=1 pods=1 cpu=8 minResources=cpu:8", True, id="a pod that is larger than all nodes"),
        pytest.param(
            "job ns/a min=2 pods=2 cpu=4 selector=zone:b minResources=cpu:8", True, id="pods that no node is open to"
        ),
        pytest.param(
            "job ns/a min=3 pods=3 cpu=3 minResources=cpu:9", True, id="a gang that is too large for the nodes"
        ),
        pytest.param(
            "job ns/a min=2 roles=ps:1,worker:1 minResources=cpu:8\n"
            "pods ns/a 1 cpu=6 role=ps\npods ns/a 3 cpu=2 role=worker",
            True,
            id="a gang of which one role has no room",
        ),
        pytest.param(
            "job ns/a min=2 pods=2 cpu=4 minResources=cpu:8\njob ns/x phase=Running\npods ns/x 1 cpu=1 on=n1",
            True,
            id="a gang without room at present",
        ),
        pytest.param(
            "job ns/a min=2 pods=2 cpu=4 minResources=cpu:8\njob ns/x phase=Running\npods ns/x 1 cpu=1 on=n1 leaving",
            False,
            id="but not where it has room once pods have left",
        ),
    ],
)
def test_a_job_that_would_run_now_beside_an_admitted_one(policy: Policy, admitted: str, enters: bool) -> None:
    text = NODES + admitted.replace(" min=", " phase=Inqueue min=") + "\n" + SMALL
    found = plan(text, policy)

    assert found.phases()["small"] == (Phase.INQUEUE if enters else Phase.PENDING)
    assert found.bound.get("small", 0) == (2 if enters else 0)


@pytest.mark.parametrize(
    ("nodes", "job", "enters"),
    [
        pytest.param(NODES, "min=2 minResources=cpu:2", True, id="pods yet to be made that would have room"),
        pytest.param(NODES, "min=1 minResources=cpu:4", False, id="a pod yet to be made that would have none"),
        pytest.param(NODES, "min=1 pods=1 cpu=4 minResources=cpu:4", False, id="a pod that has no room either"),
        pytest.param(NODES, "min=2 pods=2 cpu=1 selector=zone:b minResources=cpu:2", False, id="pods for other nodes"),
        pytest.param(
            NODES.replace("zone=a", "zone=a cordoned"), "min=2 minResources=cpu:2", False, id="nodes that take nobody"
        ),
    ],
)
def test_who_enters_beside_a_gang_without_room_at_present(nodes: str, job: str, enters: bool) -> None:
    text = (
        f"{nodes}job ns/x phase=Running\npods ns/x 1 cpu=1 on=n1\npods ns/x 1 cpu=1 on=n2\n"
        f"job ns/a phase=Inqueue min=2 pods=2 cpu=4 minResources=cpu:8\njob ns/new {job}\n"
    )
    assert (plan(text, BY_WEIGHT).phases()["new"] != Phase.PENDING) is enters


def test_what_can_never_be_placed_keeps_nobody_out_whether_he_would_run_now_or_not() -> None:
    text = (
        f"{NODES}job ns/x phase=Running\npods ns/x 1 cpu=3 on=n1\npods ns/x 1 cpu=3 on=n2\n"
        "job ns/a phase=Inqueue min=1 pods=1 cpu=8 minResources=cpu:8\njob ns/new min=1 pods=1 cpu=3 minResources=cpu:3"
    )

    assert plan(text, BY_WEIGHT).phases()["new"] == Phase.INQUEUE


@pytest.mark.parametrize("policy", POLICIES, ids=["proportion", "capacity", "capacity in a tree"])
def test_a_queue_that_is_promised_to_such_a_gang(policy: Policy) -> None:
    text = (
        "node n1 cpu=8\nnode n2 cpu=8\nqueue up capability=cpu:9\nqueue q capability=cpu:9 parent=up\nqueue other\n"
        "job ns/a phase=Inqueue queue=q min=1 pods=1 cpu=9 minResources=cpu:9\n"
    ) + SMALL.replace("min=2", "queue=q min=2")

    assert plan(text, policy).bound == {"small": 2}


def test_a_gang_whose_queue_cannot_hold_it_keeps_out_no_other_queue() -> None:
    text = (
        f"{NODES}queue q capability=cpu:2\nqueue other\njob ns/x phase=Running queue=q\npods ns/x 1 cpu=2 on=n1\n"
        "job ns/a phase=Inqueue queue=q min=4 pods=4 cpu=1 minResources=cpu:4\n"
        "job ns/new queue=other min=4 pods=4 cpu=1 minResources=cpu:4"
    )
    assert plan(text, BY_AMOUNT).bound == {"new": 4}


def test_those_who_are_let_in_count_for_the_next_ones() -> None:
    text = f"{NODES}job ns/a phase=Inqueue min=2 pods=2 cpu=5 minResources=cpu:10\n" + "".join(
        f"job ns/j{number} min=2 pods=2 cpu=2 minResources=cpu:4\n" for number in range(4)
    )
    found = plan(text, BY_WEIGHT)

    assert found.bound == {"j0": 2, "j1": 2}
    assert [found.phases()[f"j{number}"] for number in range(4)] == ["Inqueue", "Inqueue", "Pending", "Pending"]


# -- random clusters


def waiting_cluster(random: Random) -> str:
    """Nodes that are partly full, and jobs some of which were admitted."""
    lines, free = [], dict[str, int]()
    for number in range(random.randint(1, 4)):
        free[f"n{number}"] = random.randint(2, 8)
        lines.append(f"node n{number} cpu={free[f'n{number}']} zone={random.choice('ab')}")
    for queue in "ab":
        deserved, most = random.choice(["", " deserved=cpu:3"]), random.choice(["", " capability=cpu:6"])
        lines.append(f"queue {queue} weight={random.randint(1, 3)}{deserved}{most}")
    for number in range(random.randint(3, 10)):
        phase = random.choice(["Running", "Inqueue", "Pending", "Pending"])
        cpu, pods = random.choice([1, 1, 2, 3, 5, 9]), random.randint(1, 4)
        least, where = random.randint(1, pods), random.choice(["", "", "", "selector=zone:a"])
        lines.append(
            f"job ns/j{number} min={least} queue={random.choice('ab')} phase={phase} age={random.randint(0, 9)}"
            f" minResources=cpu:{least * cpu}"
        )
        for _ in range(pods):
            nodes = [name for name, left in free.items() if left >= cpu] if phase == "Running" else []
            node = random.choice(nodes) if nodes else ""
            free[node] = free.get(node, 0) - cpu
            lines.append(f"pods ns/j{number} 1 cpu={cpu} {f'on={node}' if node else where}")
    return "\n".join(lines)


@settings(max_examples=examples(100), deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(POLICIES))
def test_once_all_is_at_rest_nobody_waits_to_be_admitted_who_would_run_now(random: Random, policy: Policy) -> None:
    world = Busy(waiting_cluster(random), policy)
    for _ in range(8):
        world.cycle()
    waiting = [key for key, job in world.snapshot().jobs.items() if job.spec.phase == Phase.PENDING]
    for key in waiting:
        snapshot = world.snapshot()
        stated: JobSpec = snapshot.jobs[key].spec
        snapshot.jobs[key].spec = msgspec.structs.replace(stated, phase=Phase.INQUEUE)
        bound = {bind.job for bind in run_cycle(snapshot, policy, REGISTRY).binds}
        snapshot.jobs[key].spec = stated

        assert key not in bound


def test_jobs_that_never_fit_count_for_nobody_whoever_asks_first() -> None:
    """Of 9.6 cores, 8 are promised in vain, and the first to ask would not fit without these, either."""
    found = plan(
        f"{NODES}job ns/a min=1 pods=1 cpu=8 phase=Inqueue minResources=cpu:8\n"
        "job ns/x phase=Running\npods ns/x 4 cpu=1 on=n1\n"
        "job ns/b min=1 pods=1 cpu=6 minResources=cpu:6 age=9\njob ns/c min=1 pods=1 cpu=6 minResources=cpu:6 age=5",
        BY_WEIGHT,
    )
    assert ["4 held" in found.message(f"ns/{name}") for name in "bc"] == [True, True], found.message("ns/b")
