"""Planned starts and EASY backfill: room is kept for the first job that finds none, and others go before it in time."""

from __future__ import annotations

import pytest

from tests.support.plans import NOW, Plan, plan, policy_from
from vsched.framework.codes import Code
from vsched.framework.policy import Policy

HOUR = 3600.0
POLICY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: easy-backfill
{args}
- plugins:
  - name: drf
  - name: predicates
  - name: nodeorder
"""


def easy(**args: object) -> Policy:
    lines = "".join(f"\n      {key}: {value}" for key, value in args.items())
    return policy_from(POLICY.format(args=f"    arguments:{lines}" if args else ""))


def hours(minutes: float) -> str:
    return f"vsched.io/expected-duration={minutes:g}m"


CLUSTER = f"""
node n1 cpu=4
node n2 cpu=4
job x/long pods=0 min=1 age=900
pods x/long 1 cpu=3 on=n1 started=0 {hours(60)}
job x/short pods=0 min=1 age=900
pods x/short 1 cpu=3 on=n2 started=0 {hours(20)}
job x/big min=2 pods=2 cpu=4 age=600
"""
"""The gang x/big needs both nodes, and gets them in an hour."""


def starts(found: Plan, job: str = "x/big") -> tuple[float, tuple[str, ...]] | None:
    """In how many minutes a job has its planned start, and on which nodes."""
    planned = found.jobs[job].planned
    return None if planned is None else ((planned.at - NOW) / 60, planned.nodes)


def test_a_gang_without_room_starts_when_enough_has_ended() -> None:
    found = plan(CLUSTER, easy())
    assert starts(found) == (60, ("n1", "n2"))
    assert not found.bound


@pytest.mark.parametrize(
    ("job", "bound"),
    [
        pytest.param(f"cpu=1 {hours(30)}", True, id="work that ends in time goes before"),
        pytest.param(f"cpu=1 {hours(60)}", True, id="also work that ends just then"),
        pytest.param(f"cpu=1 {hours(61)}", False, id="work that ends later waits"),
        pytest.param("cpu=1", False, id="work of unknown duration waits"),
    ],
)
def test_who_goes_before(job: str, bound: bool) -> None:
    found = plan(f"{CLUSTER}\njob x/small min=1 pods=1 {job} age=60", easy())
    assert (found.bound == {"small": 1}) is bound
    assert found.jobs["x/small"].ahead_of == ("x/big" if bound else "")
    assert starts(found) == (60, ("n1", "n2"))
    if not bound:
        assert found.jobs["x/small"].code == Code.RESERVED
        kept = "2 nodes have room that is kept for the start of x/big at 09:00 UTC"
        assert found.message("x/small") == f"no node takes it: {kept}"
        told = "0/2 nodes are available: 2 node(s) had room that is kept for the start of x/big at 09:00 UTC."
        assert found.why("x/small.0") == told


def test_without_the_plugin_nothing_is_kept() -> None:
    text = f"{CLUSTER}\njob x/small min=1 pods=1 cpu=1 age=60"
    found = plan(text)
    assert found.bound == {"small": 1}
    assert starts(found) is None
