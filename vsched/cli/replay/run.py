"""Running a recorded cycle again, and comparing its decisions with the recorded ones."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from traceback import format_exception
from typing import NamedTuple

from vsched.cli.ask.recordings import load
from vsched.cli.plan.live import OUR_NAMES
from vsched.cli.plan.moments import next_moment
from vsched.cli.replay import words
from vsched.cli.replay.differences import Difference, differences
from vsched.framework.answers import Repeating
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.trace import Trace
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.model.dump.cycle import Recording, report_bytes
from vsched.model.plan import CycleReport
from vsched.plugins.allocation import ALLOCATION
from vsched.settings import load_file
from vsched.settings.installed import registry
from vsched.version import build
from vsched.web.pages.recording import error_text, policy_of

TimeSpan = tuple[str, str, float]
"""Kind, name and seconds of a part of a cycle."""


class Replayed(NamedTuple):
    """A recorded cycle, and the result of running it again."""

    recording: Recording
    config: Path | None
    """Another policy that was used; None for the recorded one."""
    reports: Sequence[CycleReport]
    """The report of each cycle; empty where the first ended in an error."""
    same: bool
    found: Sequence[Difference]
    """Differences in the first cycle."""
    notes: Sequence[str]
    seconds: float
    """The duration of the first cycle."""
    spans: Sequence[TimeSpan] = ()
    """Its parts, where a profile was asked for."""
    error: str = ""
    """The error in which it ended."""
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
    except Exception as error:  # an error of the cycle is a result, too
        seconds = time.perf_counter() - began
        same = config is None and _kind(error_text(error)) == _kind(recording.head.error)
        traceback = "".join(format_exception(error))
        spans = trace.spans() if profile else ()
        return Replayed(recording, config, (), same, (), notes, seconds, spans, error_text(error), traceback)
    seconds = time.perf_counter() - began
    if answers.unknown:
        notes.append(words.not_asked_then(answers.unknown))
    reports = (report, *_further(recording, policy, report, cycles - 1, notes))
    before = recording.report
    same = before is not None and report_bytes(before) == report_bytes(report)
    found = () if same or before is None else differences(before, report)
    return Replayed(recording, config, reports, same, found, notes, seconds, trace.spans() if profile else ())


def _instead(config: Path, in_force: Policy) -> Policy:
    """The other policy; with arbitration where the recorded daemon arbitrated."""
    policy = load_file(config, registry()).policy
    return policy if in_force.plugin(ALLOCATION.name) is None else policy.with_plugin(ALLOCATION)


def _further(
    recording: Recording, policy: Policy, report: CycleReport, cycles: int, notes: list[str]
) -> Sequence[CycleReport]:
    """The reports of more cycles; before each, the decisions of the one before are carried out in the snapshot."""
    if cycles < 1:
        return ()
    head, reports = recording.head, list[CycleReport]()
    mirror = ClusterEditor(recording.snapshot, head.scheduler_names or OUR_NAMES, head.default_queue)
    mirror.snapshot(recording.snapshot.now)
    mirror.settle(report)
    for _ in range(cycles):
        mirror.moment = next_moment(mirror, [report, *reports], mirror.moment, notes)
        nobody = Repeating(())
        reports.append(run_cycle(mirror.snapshot(mirror.moment), policy, registry(), None, nobody))
        mirror.settle(reports[-1])
        if nobody.unknown and words.NO_EXTENDER_ASKED not in notes:
            notes.append(words.NO_EXTENDER_ASKED)
    return reports


def _notes(recording: Recording) -> Iterator[str]:
    """Remarks on what may make the replay differ."""
    head, here = recording.head, build()
    if head.version and (head.version, head.commit) != (here.version, here.commit):
        yield words.recorded_by(head.version, head.commit, here.version, here.commit)
    if head.unrecorded:
        yield words.unrecorded(head.unrecorded)


def _kind(error: str) -> str:
    """An error without its place in the code, which may have moved."""
    return error.rpartition(" (")[0] if error.endswith(")") else error
