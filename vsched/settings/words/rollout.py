"""What is wrong with the rollout of a policy."""

from __future__ import annotations

WHAT = "rollout"
HOLDS = "candidate, steps and limits"
STEP = "one of shadow, window (with for), shard (with for), all"
COUNT = "a number, as in '<= 20' or '<= 120 % of baseline'"
SPAN = "a duration, as in '<= 200ms' or '<= 120 % of baseline'"
WINDOW = "hours of the day in UTC, as in 22:00-06:00"
NOT_PREDICTED = (
    "only a shadow step predicts, and only evictions per hour and session p99 (expected shadow as the first step, or "
    "another limit)"
)
SHARD = "the number of a shard, from 0"
WITHOUT_SHARDS = "this daemon decides for the whole cluster (expected --shards of 2 or more, or a step for all)"
CANDIDATE = "the key of the same ConfigMap that has the candidate"
EMPTY_WINDOW = "a window that begins and ends at different times"
NO_LIMIT = "at least one limit: without one nothing would take the candidate back"


def unknown_key(close: str) -> str:
    return f"unknown key{close}"


def unknown_measure(known: str, close: str) -> str:
    return f"nobody measures this{close} (expected one of {known})"


def expected(what: str, got: str) -> str:
    return f"expected {what}, got {got}"


def steps_expected(most: int, got: str) -> str:
    return f"expected a list of 1 to {most} steps, got {got}"


def one_policy_beside(candidate: str, got: str) -> str:
    return f"expected one key with a policy beside rollout and its candidate {candidate}, got {got}"


def no_such_shard(shards: int, got: int) -> str:
    return f"expected a shard from 0 to {shards - 1} (--shards {shards}), got {got}"


def no_shard(shards: int) -> str:
    return f"expected a step shard, as {shards} shards are decided for by daemons of their own (--shards {shards})"


def beside_shard(shard: int) -> str:
    return (
        f"expected shadow or shard {shard}, as the rollout is one of shard {shard} (after its last step the candidate "
        "is in force in all)"
    )


def another_shard(shard: int, got: int) -> str:
    return f"expected shard {shard}, as in the steps before, got {got}"


def without_length(key: str) -> str:
    return f"a step without its length (expected {key})"


EVICTIONS_PER_HOUR, EVICTIONS_IN_VAIN = "evictions per hour", "evictions in vain"
"""Keys of ``limits``."""
