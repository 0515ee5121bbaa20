"""Nodes that a ProvisioningRequest asked for are kept for its gang until it starts."""

from __future__ import annotations

import pytest

from tests.support.plans import NOW, manifests, mirror, policy_of
from tests.support.start_plans import easy
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.jobs.provisioning import Provisioning
from vsched.model.plan import CycleReport
from vsched.settings.built_in import REGISTRY

PLAIN = policy_of("priority gang", "predicates", actions="allocate, backfill")
FAIR = policy_of("priority gang", "predicates proportion", actions="allocate")
ASKED = Provisioning("r", "c", kept_until=NOW + 60, kept_since=NOW - 50)
THERE = Provisioning("r", "c", "provisioned", kept_until=NOW + 60, kept_since=NOW - 50)
OVER = Provisioning("r", "c", kept_since=NOW - 50)
CLUSTER = """
class high 9
node new cpu=8 age=10
job x/wide min=16 pods=16 cpu=1 age=60
"""
"""A gang of 16, with the first of the two nodes that were bought for it."""
OTHER = "job x/other min=1 pods=4 cpu=2 age=90"


def report(text: str, found: Provisioning | None = ASKED, policy: Policy = PLAIN) -> CycleReport:
    mirrored = mirror(manifests(text))
    mirrored.inputs.provision({} if found is None else {"x/wide": found})
    return run_cycle(mirrored.snapshot(NOW), policy, REGISTRY)


def bound(found: CycleReport) -> dict[str, int]:
    """How many pods of each job are bound."""
    counts: dict[str, int] = {}
    for bind in found.binds:
        counts[bind.job] = counts.get(bind.job, 0) + 1
    return counts


@pytest.mark.parametrize("policy", [PLAIN, FAIR, easy()], ids=["plain", "with shares", "with planned starts"])
@pytest.mark.parametrize(
    ("text", "found", "placed"),
    [
        pytest.param(OTHER, ASKED, 0, id="an older job of equal priority does not get them"),
        pytest.param(OTHER, THERE, 0, id="nor once the autoscaler says that they are provisioned"),
        pytest.param(OTHER, None, 4, id="where no nodes are asked for, it does"),
        pytest.param(OTHER, OVER, 4, id="nor are they kept once the time is over"),
        pytest.param(f"{OTHER} class=high", ASKED, 4, id="a job of higher priority may have them"),
        pytest.param(f"node two cpu=8\n{OTHER}", ASKED, 4, id="other nodes stay free for all"),
        pytest.param(
            "node two cpu=4 age=10\njob x/other min=1 pods=1 cpu=5 age=90", ASKED, 0, id="as much as it needs"
        ),
    ],
)
def test_who_gets_the_nodes_while_some_are_missing(
    text: str, found: Provisioning | None, placed: int, policy: Policy
) -> None:
    assert bound(report(f"{CLUSTER}{text}", found, policy)) == ({"x/other": placed} if placed else {})


def test_nothing_is_kept_for_a_gang_that_its_queue_does_not_let_run() -> None:
    text = f"queue q capability=cpu:15\n{CLUSTER.replace('min=16', 'queue=q min=16')}{OTHER}"

    assert bound(report(text, ASKED, FAIR)) == {"x/other": 2}  # its share of what is there


def test_what_is_left_beside_the_gang_is_free() -> None:
    text = "node new cpu=8 age=10\njob x/wide min=6 pods=6 cpu=1 age=60\njob x/other min=1 pods=4 cpu=1 age=90"

    assert bound(report(text)) == {"x/wide": 6, "x/other": 2}


def test_nodes_of_gangs_that_start_are_theirs_and_those_of_gangs_that_wait_stay_kept() -> None:
    nodes = "\n".join(f"node new{number} cpu=4 age=10" for number in range(4))
    jobs = "\n".join(
        (
            "job x/one min=4 pods=4 cpu=1 age=60",
            "job x/two min=16 pods=16 cpu=1 age=60",
            "job x/three min=4 pods=4 cpu=1 age=60",
            "job x/other min=1 pods=4 cpu=1 age=90",
        )
    )
    mirrored = mirror(manifests(f"{nodes}\n{jobs}"))
    mirrored.inputs.provision({"x/one": THERE, "x/two": ASKED, "x/three": THERE})

    assert bound(run_cycle(mirrored.snapshot(NOW), PLAIN, REGISTRY)) == {"x/one": 4, "x/three": 4}


def test_the_gang_starts_with_the_last_node_though_its_turn_is_later() -> None:
    found = report(f"{CLUSTER}{OTHER}\nnode next cpu=8 age=1", THERE, FAIR)

    assert bound(found) == {"x/wide": 16}


def test_a_job_that_finds_them_kept_says_so() -> None:
    found = report(f"{CLUSTER}job x/other min=4 pods=4 cpu=2 age=90")

    assert found.jobs["x/other"].code == "Reserved"
    assert (
        "1 node has resources that are reserved for gang x/wide until all its nodes are there"
        in found.jobs["x/other"].message
    )


def test_of_two_gangs_the_one_whose_nodes_are_provisioned_goes_first() -> None:
    mirrored = mirror(manifests(f"{CLUSTER}job x/late min=16 pods=16 cpu=1 age=5\nnode next cpu=8 age=1"))
    mirrored.inputs.provision({"x/wide": ASKED, "x/late": THERE})

    assert bound(run_cycle(mirrored.snapshot(NOW), PLAIN, REGISTRY)) == {"x/late": 16}


LAUNCHED = """
node new cpu=4 gpu=1 age=10
node next cpu=4 age=10
job x/wide min=2 age=60
pods x/wide 1 cpu=4 role=launcher
pods x/wide 1 cpu=1 gpu=1 role=worker
"""
"""In order, the launcher takes the only node with a GPU."""


@pytest.mark.parametrize("found", [ASKED, THERE], ids=["on their way", "provisioned"])
def test_they_are_kept_in_a_way_in_which_the_whole_gang_fits(found: Provisioning) -> None:
    assert bound(report(f"{LAUNCHED}job x/other min=1 pods=1 cpu=4 age=90", found)) == {"x/wide": 2}


def test_the_minima_of_roles_count() -> None:
    text = """
        node new cpu=4 age=10
        job x/wide min=2 roles=ps:1,worker:1 age=60
        pods x/wide 2 cpu=1 role=worker
        pods x/wide 1 cpu=3 role=ps
        job x/other min=1 pods=1 cpu=2 age=90
    """
    assert bound(report(text, THERE)) == {"x/wide": 2}
