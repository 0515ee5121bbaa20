"""The policy and the pods of tests that move pods."""

from __future__ import annotations

from tests.support.plans import policy_from
from vsched.framework.policy import Policy

OLD = "owned started=3600"
"""A pod that a controller makes again, and that has run for an hour."""


def policy(
    actions: str = "enqueue, allocate, consolidate, backfill",
    plugins: str = "eviction-cost conformance cdp predicates nodeorder capacity",
    **arguments: object,
) -> Policy:
    tier = "".join(f"  - name: {name}\n" for name in ("priority", "gang", *plugins.split()))
    given = "".join(f"    {name}: {value}\n" for name, value in arguments.items())
    told = f"configurations:\n- name: consolidate\n  arguments:\n{given}" if given else ""
    return policy_from(f'actions: "{actions}"\ntiers:\n- plugins:\n{tier}{told}')


POLICY = policy()
