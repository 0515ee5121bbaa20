"""What if: a running cluster as its daemon sees it, changed on paper, and decided on. Nothing is written anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from vsched.cli.ask.recordings import decoded_recording
from vsched.cli.plan.buy.answer import Bought, bought, limit_of
from vsched.cli.plan.buy.flags import BuyFlags
from vsched.cli.plan.changes import Changes, Ran, changes_between
from vsched.cli.plan.moments import next_moment
from vsched.cli.plan.moving.answer import Consolidated, consolidated
from vsched.cli.plan.proving import OnDecided, unchecked
from vsched.cli.plan.trial import PlanEdit, PlanTrial
from vsched.cli.plan.view import Planned
from vsched.cli.plan.words import pages as words
from vsched.daemon.loop.callouts import Caller
from vsched.errors import BadInput
from vsched.explain.estimate.start_times import estimate
from vsched.explain.menu.menus import lacking
from vsched.explain.order import waiting_order
from vsched.explain.records import Estimate
from vsched.explain.simulation import Goal
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.mirror.ingest.workload_kinds import NO_WORKLOADS, WorkloadTable
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.model.dump.cycle import Recording
from vsched.model.frozen import freeze
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.plugins.allocation import ALLOCATION
from vsched.settings import load_text
from vsched.settings.installed import registry

if TYPE_CHECKING:
    from vsched.client.target import DaemonTarget

OUR_NAMES = ("vsched", "volcano", "")
"""Whose pods are planned for where the recording does not say; the empty name stands for pods that name none."""


class WhatIf(NamedTuple):
    """A question and its answer."""

    recording: Recording
    edits: Sequence[str]
    today: Planned
    """What is decided without any change."""
    then: Planned
    changes: Changes
    notes: Sequence[str]
    """What has to be said of the changes, a sentence each."""
    policy: Policy
    """The one that is in force then."""
    final: Snapshot
    """How the cluster stands then, once what was decided has come true."""


def fetch(target: DaemonTarget) -> Recording:
    """The next session of a running daemon."""
    return asyncio.run(fetched(target))


async def fetched(target: DaemonTarget) -> Recording:
    """The same for those who have an event loop."""
    from vsched.cli.ask.daemon import answer_of
    from vsched.client.target import address_of

    return decoded_recording(await answer_of(target, lambda daemon: daemon.dump()), address_of(target))


def what_if(
    recording: Recording,
    edits: Sequence[PlanEdit],
    *,
    policy: Policy | None = None,
    config: str = "",
    names: Sequence[str] = (),
    cycles: int = 1,
    workloads: WorkloadTable = NO_WORKLOADS,
    on_decided: OnDecided = unchecked,
) -> WhatIf:
    """What would be decided if the edits were made, in this order, against what is decided without them.

    What the recorded session decided has come true before either. A policy, of the file ``config``, takes the place of
    the one in force. ``workloads`` says what pods operators make of what is submitted.
    """
    in_force, policy = _policies(recording, policy)
    today = PlanTrial(_restored(recording, names, NO_WORKLOADS))
    then = PlanTrial(_restored(recording, names, workloads))
    for edit in edits:
        edit.apply(then)
    with Caller() as caller:
        try:
            before = _run(today, in_force, cycles, caller)
        except Exception as error:  # a cycle that died of an error when it was recorded does so again
            if recording.report is not None:
                raise
            raise BadInput(words.session_ended_in_error(recording.head.number, recording.head.error)) from error
        after = _run(then, policy or in_force, cycles, caller, on_decided)
    if caller.problem:
        then.notes.append(words.extender_does_not_answer(caller.problem))
    if recording.snapshot.ceilings:
        then.notes.append(words.DIVISION_STAYS)
    then.notes += after.planned.ended
    changes = changes_between(before, after, then.sent)
    asked = _asked(edits, policy, config)
    chosen = policy or in_force
    return WhatIf(recording, asked, before.planned, after.planned, changes, then.notes, chosen, after.final)


def buy_live(
    recording: Recording,
    edits: Sequence[PlanEdit],
    buying: BuyFlags,
    *,
    policy: Policy | None = None,
    config: str = "",
    names: Sequence[str] = (),
    cycles: int = 1,
    workloads: WorkloadTable = NO_WORKLOADS,
    on_decided: OnDecided = unchecked,
) -> Bought:
    """The menus of the gangs that still wait once the edits are made and so many cycles have decided."""
    in_force, policy = _policies(recording, policy)
    trial, ran = _tried(recording, edits, policy or in_force, names, cycles, workloads, on_decided)
    return bought(
        ran.final,
        policy or in_force,
        buying,
        edits=_asked(edits, policy, config),
        notes=[*trial.notes, *ran.planned.ended],
        session=recording.head.number,
    )


def starts_of(what: WhatIf, seconds: float) -> list[Estimate]:
    """When the gangs that the edits bring, and that still wait then, may start.

    Looks for so long at each of them, at most.
    """
    fixed = freeze(what.final)
    report = run_cycle(fixed, what.policy, registry())
    order, begin = waiting_order(fixed, what.policy, registry()), limit_of(seconds)
    return [
        estimate(fixed, what.policy, registry(), report, Goal(key), order, over := begin(), over)
        for key in lacking(fixed, report)
        if key not in what.recording.snapshot.jobs
    ]


def consolidate_live(
    recording: Recording,
    edits: Sequence[PlanEdit],
    job: str,
    *,
    policy: Policy | None = None,
    config: str = "",
    names: Sequence[str] = (),
    cycles: int = 1,
    workloads: WorkloadTable = NO_WORKLOADS,
    on_decided: OnDecided = unchecked,
) -> Consolidated:
    """The moves for a job in the last of so many cycles, after the edits."""
    in_force, policy = _policies(recording, policy)
    trial, ran = _tried(recording, edits, policy or in_force, names, cycles - 1, workloads, on_decided)
    return consolidated(
        ran.final,
        policy or in_force,
        job,
        edits=_asked(edits, policy, config),
        notes=[*trial.notes, *ran.planned.ended],
        session=recording.head.number,
    )


def _tried(
    recording: Recording,
    edits: Sequence[PlanEdit],
    policy: Policy,
    names: Sequence[str],
    cycles: int,
    workloads: WorkloadTable,
    on_decided: OnDecided,
) -> tuple[PlanTrial, Ran]:
    """The cluster with the edits, once so many cycles have decided."""
    trial = PlanTrial(_restored(recording, names, workloads))
    for edit in edits:
        edit.apply(trial)
    with Caller() as caller:
        ran = _run(trial, policy, cycles, caller, on_decided)
    if recording.snapshot.ceilings:
        trial.notes.append(words.DIVISION_STAYS)
    return trial, ran


def _policies(recording: Recording, policy: Policy | None) -> tuple[Policy, Policy | None]:
    """The policy in force, and the other one as it would be in force, if there is one."""
    in_force = load_text(recording.policy, words.RECORDED_POLICY, registry()).policy
    if policy is not None and in_force.plugin(ALLOCATION.name) is not None:
        policy = policy.with_plugin(ALLOCATION)  # the daemon arbitrates, whatever the file says
    return in_force, policy


def _asked(edits: Sequence[PlanEdit], policy: Policy | None, config: str) -> list[str]:
    return [*(edit.text for edit in edits), *([f"--config {config}"] if policy is not None else [])]


def _restored(recording: Recording, names: Sequence[str], workloads: WorkloadTable) -> ClusterEditor:
    head = recording.head
    ours = names or head.scheduler_names or OUR_NAMES
    mirror = ClusterEditor(recording.snapshot, ours, head.default_queue, workloads)
    mirror.inputs.advise({})  # it was found for the cluster as it is: of a changed one, nobody has tried it
    if recording.report is not None:
        mirror.settle(recording.report)
    return mirror


def _run(trial: PlanTrial, policy: Policy, cycles: int, caller: Caller, on_decided: OnDecided = unchecked) -> Ran:
    """Decide so often; between cycles what was decided has come true."""
    mirror, reports = trial.mirror, list[CycleReport]()
    queues, called = mirror.origin.queues, mirror.origin.called
    ended: list[str] = []
    for number in range(cycles):
        if number:
            mirror.moment = next_moment(mirror, reports, mirror.moment, ended)
        snapshot = mirror.snapshot(mirror.moment)
        report = run_cycle(snapshot, policy, registry(), callout=caller.cycle())
        on_decided(snapshot, policy, report)
        queues, called = snapshot.queues, snapshot.called
        reports.append(report)
        mirror.settle(report)
    planned = Planned(reports, queues, trial.ignored, mirror.moment, ended, called=called)
    return Ran(planned, mirror.snapshot(mirror.moment))
