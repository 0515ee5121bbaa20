"""Plans with planned starts: a policy that keeps room for the first job that finds none, and what is planned."""

from __future__ import annotations

from tests.support.plans import NOW, Plan, policy_from
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
