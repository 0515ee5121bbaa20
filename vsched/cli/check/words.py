"""What ``vsched check`` says of the rollout in a ConfigMap."""

from __future__ import annotations


def rollout(candidate: str, *, take_back: bool) -> str:
    return f"rollout of {candidate}, {'taken back' if take_back else 'held'} where a limit is broken:"


def step(number: int, text: str) -> str:
    return f"  step {number}: {text}"


def limit(measure: str, text: str) -> str:
    return f"  limit: {measure} {text}"


def candidate(key: str) -> str:
    return f"candidate {key}:"
