"""Remembers what came of searches for places of gangs: none is made again until something changes that matters.

All that matters is named, so that the answer is that of a search made anew, with the same steps: the job and its pods,
the nodes with room for them, the counts of pods that their rules are about, and what there is to claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from operator import is_
from typing import NamedTuple

import msgspec

from vsched.actions.gang_assignment import GangAssignment
from vsched.actions.task_kinds import KindsInDomain
from vsched.framework.session import Session
from vsched.kernels.assignment import digest_of
from vsched.model.amounts.resources import Vector, add
from vsched.model.claims.catalogue import ClaimChanges
from vsched.model.pods.claims import PodDevices

OWNER, INPUTS = "gang searches", "search inputs"


class PastSearch(NamedTuple):
    """What came of a search."""

    found: bool
    cut: bool
    """Whether not all ways were tried."""
    steps: int
    """How many it took."""


class Unchanged:
    """Stands for objects of snapshots: the same as long as all of them are."""

    __slots__ = ("changes", "objects")

    def __init__(self, objects: Sequence[object], changes: ClaimChanges | None = None) -> None:
        """``changes`` names what changed in these objects though they are the same."""
        self.objects, self.changes = objects, changes

    def is_still(self, objects: Sequence[object], changes: ClaimChanges | None) -> bool:
        """Whether these are the same, with nothing changed in them."""
        if not all(map(is_, self.objects, objects)):
            return False
        return changes is None or changes.since(self.changes) == frozenset()


def search_once(search: GangAssignment, domains: Sequence[KindsInDomain]) -> bool:
    """Whether a search places enough tasks; it is not made where it is known to come to nothing."""
    session, budget = search.session, search.budget
    had, before = budget.steps, len(session.ledger.log)

    def run() -> PastSearch:
        budget.steps, budget.cut = had, False
        found = search.run(domains)
        return PastSearch(found, budget.cut, had - budget.steps)

    state = session.node_selection.state(search.kinds.firsts, later=search.later)
    is_known = search.goal.subject is not None and session.plugins.ready_by_job_alone
    if not is_known or state is None or not _are_granted(search):
        return run().found
    question = blake2b(msgspec.msgpack.encode([state, *_asked(search, domains)]), digest_size=16).digest()
    outcome = session.memo.of(OWNER, question, _inputs(search), lambda *inputs: run())
    budget.steps, budget.cut = had - outcome.steps, outcome.cut
    if outcome.found and len(session.ledger.log) == before:
        run()  # that there are places is known, and not which
    return outcome.found


def _are_granted(search: GangAssignment) -> bool:
    """Whether queue and namespace allow all tasks together, so that they refuse none of them on the way."""
    plugins, queue, tasks = search.session.plugins, search.queue, search.kinds.usable
    total: Vector = {}
    for task in tasks:
        add(total, task.shape.request)
    if plugins.allocatable(queue, tuple(sorted(total.items()))) is not None:
        return False
    if not plugins.limits_amounts_elsewhere:
        return True
    each = (plugins.namespace_limit(one.namespace, one.shape, len(tasks)) for one in search.kinds.firsts)
    return all(refusal is None for refusal in each) and plugins.claim_limit(queue, tasks) is None


def _asked(search: GangAssignment, domains: Sequence[KindsInDomain]) -> Iterator[object]:
    """What is searched for, and where."""
    session, job, goal, budget = search.session, search.job, search.goal, search.budget
    yield msgspec.structs.replace(job.spec, conditions=(), written_phase=""), job.phase
    yield [(task.uid, task.status, task.node, task.role) for task in job.job.tasks.values()]
    yield [(uid, status, node) for uid, (status, node, _) in job.moved.items()]
    yield [(one.uid, one.shape, one.labels, one.claims) for one in search.kinds.usable]
    yield [session.decisions.nominated.get(task.uid) for task in search.kinds.usable]
    yield goal.subject, goal.missing(), goal.missing_later(), goal.parts_missing(False), goal.parts_missing(True)
    yield search.later, budget.steps, budget.cells
    yield [(sorted(one.kinds), digest_of(*one.domains)) for one in domains]
    if not search.kinds.are_plain:
        claims = session.snapshot.claims.devices.claims
        yield [claims.get(one.claim) for one in _device_claims(search)]
        taken = (step for step in session.ledger.log if session.claims.concerns(step.task))
        yield [(step.task.uid, step.row, step.before, step.status) for step in taken]


def _device_claims(search: GangAssignment) -> Iterator[PodDevices]:
    return (one for task in search.kinds.usable if task.claims is not None for one in task.claims.devices)


def _inputs(search: GangAssignment) -> tuple[object, ...]:
    """The same objects as long as nothing else changes that counts."""
    session, snapshot, firsts = search.session, search.session.snapshot, search.kinds.firsts
    volumes, devices = snapshot.claims.volumes, snapshot.claims.devices
    rules = snapshot.namespaces, snapshot.selections, snapshot.masks
    found = [_unchanged(session, "nodes", (snapshot.nodes.statics, *rules))]
    if any(task.claims is not None and task.claims.volumes for task in firsts):
        found.append(_unchanged(session, "volumes", (volumes, snapshot.claims.unread)))
    if any(map(session.claims.has_devices, firsts)):
        things = devices.pools, devices.classes, snapshot.device_shares, snapshot.axis, snapshot.claims.unread
        if session.claims.implicit:  # which pods have claims that they do not name, no record of changes tells
            found.append(_unchanged(session, "all devices", (devices, *things)))
        else:
            found.append(_unchanged(session, "devices", things, devices.changes))
    return tuple(found)


def _unchanged(session: Session, key: str, objects: Sequence[object], changes: ClaimChanges | None = None) -> Unchanged:
    def renewed(before: Unchanged | None) -> Unchanged:
        if before is None or not before.is_still(objects, changes):
            return Unchanged(objects, changes)
        before.changes = changes
        return before

    return session.memo.renewed(INPUTS, key, Unchanged, renewed)
