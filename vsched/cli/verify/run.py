"""Checking recorded cycles, and those of plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from vsched.cli.ask.recordings import load
from vsched.cli.verify import words
from vsched.errors import BadInput
from vsched.model.dump.cycle import RecordingHead
from vsched.proof.verify import RuleFinding, verify
from vsched.settings.installed import registry
from vsched.settings.proving import facts_of
from vsched.web.pages.recording import error_text, policy_of, replay


class Verified(NamedTuple):
    """A recorded cycle, and what the rules say of it."""

    file: Path
    head: RecordingHead
    findings: Sequence[RuleFinding]


def verified(file: Path) -> Verified:
    """What the rules say of the cycle in a file; raises BadInput where it cannot be read, or decides nothing."""
    recording = load(file)
    policy, report = policy_of(recording, registry()), recording.report
    if report is None:
        try:
            report = replay(recording, policy, registry()).report
        except Exception as error:  # what a cycle dies of is a result, and nothing was decided
            raise BadInput(words.ends_in_error(file, error_text(error))) from None
    try:
        return Verified(file, recording.head, verify(recording.snapshot, facts_of(policy), report))
    except LookupError as error:
        raise BadInput(words.not_in_snapshot(file, error)) from None


def together(findings: Iterable[Sequence[RuleFinding]]) -> list[RuleFinding]:
    """What each rule says of several cycles."""
    return [
        RuleFinding(
            same[0].rule, sum(one.looked_at for one in same), tuple(text for one in same for text in one.violations)
        )
        for same in zip(*findings, strict=True)
    ]
