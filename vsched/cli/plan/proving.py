"""Checking what is planned against the rules, cycle by cycle."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vsched.cli.plan.words import pages as words
from vsched.cli.show.drawing import count_text
from vsched.cli.show.output import say
from vsched.cli.verify.run import together
from vsched.errors import VschedError
from vsched.framework.policy import Policy
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.proof.verify import RuleFinding, verify
from vsched.settings.proving import facts_of

OnDecided = Callable[[Snapshot, Policy, CycleReport], object]
"""Is told of each cycle of a plan, before it comes true."""


def unchecked(snapshot: Snapshot, policy: Policy, report: CycleReport) -> None:
    """Nobody wants to know."""


class Proof:
    """Checks every cycle that it is told of."""

    def __init__(self) -> None:
        self._findings: list[Sequence[RuleFinding]] = []

    def decided(self, snapshot: Snapshot, policy: Policy, report: CycleReport) -> None:
        """Check a cycle."""
        self._findings.append(verify(snapshot, facts_of(policy), report))

    def tell(self) -> None:
        """Say on standard error that there are no violations; raises VschedError with each one where there are."""
        found = together(self._findings)
        broken = [f"{one.rule}: {text}" for one in found for text in one.violations]
        if broken:
            raise VschedError("\n".join(broken))
        checks = count_text(sum(one.looked_at for one in found), "check", "checks")
        say(words.no_violations(checks), err=True)
