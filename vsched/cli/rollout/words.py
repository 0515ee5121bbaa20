"""What ``vsched rollout`` says."""

from __future__ import annotations


def place_expected(text: str) -> str:
    return f"{text!r} (expected NAMESPACE/NAME of the policy's ConfigMap)"


def not_found(where: str) -> str:
    return f"configmap {where}: not found"


def no_rollout(where: str) -> str:
    return f"configmap {where}: no key rollout: no rollout is under way"


def not_begun(where: str) -> str:
    return f"configmap {where}: no daemon has begun this rollout (vsched run --scheduler-configmap {where})"


def has_ended(where: str, phase: str, order: str) -> str:
    return f"configmap {where}: the rollout is {phase}: {order} changes nothing (edit the rollout to begin anew)"


def asked(where: str, order: str) -> str:
    return f"configmap {where}: asked for {order}; vsched rollout status {where} says when it is done"


def in_force(key: str, *, candidate: bool, shard: int | None = None) -> str:
    if candidate and shard is not None:
        return f"in force  the candidate {key} in shard {shard}, the policy in the others"
    return f"in force  {'the candidate' if candidate else 'the policy, not the candidate'} {key}"


def waits(shard: int) -> str:
    return f"waits     until the daemon of shard {shard} has no other shard (start as many daemons as there are shards)"


def at_step(phase: str, number: int, of: int, since: str) -> str:
    return f"phase     {phase}, step {number} of {of}, since {since}"


def before_steps(phase: str, since: str) -> str:
    return f"phase     {phase}, before the first step, since {since}"


def served(span: str, of: str) -> str:
    return f"time      {span} of {of} measured"


def why(message: str) -> str:
    return f"why       {message}"


def figure(measure: str, measured: str, limit: str) -> str:
    return f"limit     {measure}: measured {measured}, promised {limit}"


NOTHING = "nothing yet"
