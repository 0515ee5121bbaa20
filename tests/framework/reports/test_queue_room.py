"""Queues that may not hold all that waits in them: nodes are wanted for the first jobs, as far as queues may grow."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.backlogged import CAPPED, Backlogged, change, job
from tests.support.clusters import seeded
from tests.support.examples import examples
from tests.support.plans import policy_of
from tests.support.taking import taking
from vsched.model.plan import UNSCHEDULABLE

FULL = ("pods y/full 6 cpu=1 on=n1", "pods y/also-full 4 cpu=1 on=n2")
"""With these no node has room."""
FACTS = (
    *(f"queue q capability=cpu:{amount}" for amount in (0, 1, 7, 8, 20, 21, 60)),
    "queue q capability=cpu:9,memory:1Gi",
    "queue q parent=s capability=cpu:30",
    "queue s capability=cpu:12 deserved=cpu:4",
    "queue s deserved=cpu:4",
    "pods y/also-full 3 cpu=1 on=n2",
    "job y/reserving queue=q min=1 pods=1 cpu=2",
    "node n3 cpu=1",
)
POLICIES = {
    "shares": policy_of("priority gang", "overcommit drf predicates proportion"),
    "capacity": policy_of("priority gang", "predicates capacity"),
    "a tree": taking("enqueue, allocate, backfill", "priority gang", "predicates capacity-H"),
}


@settings(max_examples=examples(120), deadline=None)
@given(name=st.sampled_from([*POLICIES]), random=seeded, steps=st.integers(2, 8))
def test_what_queues_may_hold_is_shared_out_as_if_jobs_were_taken_one_by_one(
    name: str, random: Random, steps: int
) -> None:
    kinds = random.sample([*CAPPED], 2)
    waiting = (job(number, kind, age=random.randint(0, 3)) for kind in kinds for number in range(9))
    cluster = Backlogged(*FULL, f"queue q capability=cpu:{random.randint(2, 24)}", *waiting)
    for _ in range(steps):
        cluster.run(POLICIES[name], assume=True)
        for _ in range(random.choice((0, 1, 1, 2))):
            change(random, cluster, CAPPED, FACTS)


def told(cluster: Backlogged) -> list[str]:
    """What is said of the nodes that are wanted for each pod, in order: A where some are, else -."""
    return ["A" if said.reason == UNSCHEDULABLE else "-" for said in cluster.last.unschedulable.values()]


@pytest.mark.parametrize(
    ("name", "line", "anew"),
    [
        pytest.param("job x/one40", job(40, "one"), ["x/one40.0"], id="one more at the end"),
        pytest.param("job x/one12", None, ["x/one19.0"], id="one of the first goes, and the next takes its place"),
        pytest.param("job x/one30", None, [], id="one of the last goes"),
        pytest.param(
            "job x/one5", job(5, "one", age=1), ["x/one18.0", "x/one5.0"], id="one more at the start takes room"
        ),
    ],
)
def test_only_those_are_told_anew_for_which_what_the_queue_may_hold_has_changed(
    name: str, line: str | None, anew: list[str]
) -> None:
    cluster = Backlogged(*FULL, *(job(number, "one") for number in range(10, 40)))
    policy = POLICIES["capacity"]
    for _ in range(2):
        before = cluster.run(policy, assume=True)
    assert "".join(told(cluster)) == 9 * "A" + 21 * "-"
    if line is None:
        cluster.drop(name)
    else:
        cluster.put(line)
    after = cluster.run(policy, assume=True)
    assert [key for key, said in after.unschedulable.items() if before.unschedulable.get(key) is not said] == anew
