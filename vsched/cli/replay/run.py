"""Running recorded cycles again, and comparing what is decided with what was."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from traceback import format_exception
from typing import NamedTuple

from vsched.cli.plan.live import OUR_NAMES, load
from vsched.cli.replay.differences import Difference, differences
from vsched.framework.answers import Repeating
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.trace import Trace
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.model.dump import Recording, report_bytes
from vsched.model.plan import CycleReport
from vsched.plugins.allocation import ALLOCATION
from vsched.settings import load_file
from vsched.settings.installed import registry
from vsched.version import build
from vsched.web.pages.recording import error_text, policy_of

Span = tuple[str, str, float]
"""Kind, name, seconds."""


class Replayed(NamedTuple):
    """A recorded cycle, and what came of running it again."""

    recording: Recording
    config: Path | None
    """The policy it was run by, None for the one that was in force."""
    reports: Sequence[CycleReport]
    """One a cycle; empty where the first ended in an error."""
    same: bool
    found: Sequence[Difference]
    """What is decided otherwise in the first cycle."""
    notes: Sequence[str]
    seconds: float
    """What the first cycle took."""
    spans: Sequence[Span] = ()
    """Where that time went, where it was asked for."""
    error: str = ""
    """What running it again ended in."""
    traceback: str = ""


def run(file: Path, config: Path | None, *, cycles: int = 1, profile: bool = False) -> Replayed:
    """Run the cycle in a file again; raises BadInput where the file or the policy cannot be used."""
    recording = load(file)
    in_force = policy_of(recording, registry())
    policy = in_force if config is None else _instead(config, in_force)
    notes = list(_notes(recording))
    answers = Repeating(recording.calls)
    trace = Trace(time.perf_counter, plugins=profile)
    began = time.perf_counter()
    try:
        report = run_cycle(recording.snapshot, policy, registry(), trace, answers)
    except Exception as error:  # what the cycle dies of is the answer here
        seconds = time.perf_counter() - began
        same = config is None and _kind(error_text(error)) == _kind(recording.head.error)
        told = "".join(format_exception(error))
        spans = trace.spans() if profile else ()
        return Replayed(recording, config, (), same, (), notes, seconds, spans, error_text(error), told)
    seconds = time.perf_counter() - began
    if answers.unknown:
        notes.append(f"{answers.unknown} questions to an extender had not been asked then: they count as not answered")
    reports = (report, *_further(recording, policy, report, cycles - 1, notes))
    before = recording.report
    same = before is not None and report_bytes(before) == report_bytes(report)
    found = () if same or before is None else differences(before, report)
    return Replayed(recording, config, reports, same, found, notes, seconds, trace.spans() if profile else ())


def _instead(config: Path, in_force: Policy) -> Policy:
    """Another policy; where the daemon arbitrated, it does so whatever the file says."""
    policy = load_file(config, registry()).policy
    return policy if in_force.plugin(ALLOCATION.name) is None else policy.with_plugin(ALLOCATION)


def _further(
    recording: Recording, policy: Policy, report: CycleReport, cycles: int, notes: list[str]
) -> Sequence[CycleReport]:
    """More cycles, before each of which what was decided comes true."""
    if cycles < 1:
        return ()
    head, reports = recording.head, []
    mirror = ClusterEditor(recording.snapshot, head.scheduler_names or OUR_NAMES, head.default_queue)
    mirror.snapshot(recording.snapshot.now)
    mirror.settle(report)
    for _ in range(cycles):
        nobody = Repeating(())
        reports.append(run_cycle(mirror.snapshot(mirror.moment), policy, registry(), None, nobody))
        mirror.settle(reports[-1])
        if nobody.unknown and "in further cycles no extender is asked" not in notes:
            notes.append("in further cycles no extender is asked")
    return reports


def _notes(recording: Recording) -> Iterator[str]:
    """What may keep the replay from being exact."""
    head, here = recording.head, build()
    if head.version and (head.version, head.commit) != (here.version, here.commit):
        yield f"recorded by vsched {head.version} ({head.commit}), run again by {here.version} ({here.commit})"
    if head.unrecorded:
        yield f"{head.unrecorded} answers of an extender are not in the file: it cannot be run again exactly"


def _kind(error: str) -> str:
    """An error without the place in the code, which may have moved."""
    return error.rpartition(" (")[0] if error.endswith(")") else error
