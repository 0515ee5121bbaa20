"""What ``vsched profile`` says."""

from __future__ import annotations


def no_such_format(path: object, suffixes: str) -> str:
    return f"{path}: expected a name that ends in one of {suffixes}"


def sampled(samples: int, seconds: float, stacks: int) -> str:
    return f"{samples} samples in {seconds:.1f} s, {stacks} stacks of threads at work"


def share_of_a_core(cores: float) -> str:
    return f"threads at work: {cores:.0%} of the time"


NOTHING_AT_WORK = "no thread was at work"
