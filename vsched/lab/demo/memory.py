"""The demo of shares with memory: one queue has the cluster to itself at first, then another one wants it as well.

Pure. Both queues have the same weight, so without memory each would have half from the moment when both ask. With
memory the second one has more, until what both have used lately is even.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vsched.lab.demo.mix import DemoQueue

ALONE = 1 / 4
"""The part of the demo in which only one queue asks."""
EARLY, LATE = DemoQueue("early", 1, ("team-a",)), DemoQueue("late", 1, ("team-b",), begins=ALONE)
HALF_LIVES = 4
"""Half-lives in a demo: the second queue has caught up well before the end."""

POLICY = """\
# Written by vsched demo --memory: the built-in policy with memory.
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: usage-history
    arguments:
      halfLife: {half_life:.3f}s
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""


class Contest:
    """Adds up what queues hold while all of them ask."""

    def __init__(self, crowds: Iterable[DemoQueue]) -> None:
        self._held = {crowd.queue: 0.0 for crowd in crowds}
        self._seconds = 0.0

    def count(self, cpus: Mapping[str, float], seconds: float) -> None:
        """Note that queues held so many cpus for so long."""
        self._seconds += seconds
        for queue, amount in cpus.items():
            self._held[queue] += amount * seconds

    def parts(self, cpus: int) -> dict[str, float]:
        """The part of the cluster that each queue held on average; empty before all of them ask."""
        return {queue: held / (cpus * self._seconds) for queue, held in self._held.items()} if self._seconds else {}


def policy_for(seconds: float) -> str:
    """The policy of a demo of this length."""
    return POLICY.format(half_life=seconds / HALF_LIVES)
