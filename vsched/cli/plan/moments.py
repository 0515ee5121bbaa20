"""The time between the cycles of a plan: pods that were asked to end by themselves take theirs."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.cli.plan.words import pages as words
from vsched.framework.times import length
from vsched.mirror.whatif.paper import PaperMirror
from vsched.model.plan import CycleReport


def next_moment(mirror: PaperMirror, reports: Sequence[CycleReport], now: float, told: list[str]) -> float:
    """When the next cycle runs, after those of ``reports``; ``told`` gets a sentence if pods end before."""
    passed = mirror.pass_time(reports[-1], now)
    if passed.ended:
        first, others = passed.ended[0].key, len(passed.ended) - 1
        who = words.more_end(first, others) if others else f"{first} ends"
        told.append(words.time_passes(len(reports) + 1, length(passed.now - now), who))
    return passed.now
