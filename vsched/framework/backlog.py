"""The active jobs of a session: it goes on with what the last session left of them.

Where the snapshot says which jobs have changed since then, no other job is looked at.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sortedcontainers import SortedDict

from vsched.framework.classes import JobClasses
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.obstacles import obstacle
from vsched.framework.refusal import Refusal
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot

FEW = 256
MANY_AT_FRACTION = 4
"""Where a fourth of the jobs have changed, and more than a few, it takes less to put all in order anew."""


class Backlog(NamedTuple):
    """What a session leaves of the active jobs."""

    views: SortedDict[str, JobView]
    """Of those that it could work on, by key."""
    worn: Collection[str]
    """The keys of those whose views are not as new."""
    refusals: SortedDict[str, Refusal]
    """Why it skipped the others."""
    queues: Mapping[str, Queue] | None
    """The queues there were."""
    state: object | None
    """``Snapshot.state`` of its snapshot."""
    classes: JobClasses | None
    """None where it had none."""


def nothing_left() -> Backlog:
    """What there is for the first session."""
    return Backlog(SortedDict(), (), SortedDict(), None, None, None)


class Opened(NamedTuple):
    """The active jobs of a session."""

    views: SortedDict[str, JobView]
    """Of those that it may work on, by key."""
    refusals: SortedDict[str, Refusal]
    """Why it skips the others."""
    fresh: Mapping[str, JobView]
    """Views that the last session did not leave, by key."""
    left: Collection[str] | None
    """The keys of jobs that the last session could work on, and this one cannot; None where nothing is left of it."""


def opened_on(snapshot: Snapshot, before: Backlog) -> Opened:
    """The active jobs of the session on this snapshot. It uses up what the session before has left."""
    is_next = before.state is not None and before.state is snapshot.since and before.queues is snapshot.queues
    count = len(snapshot.changed) + len(before.worn)
    differs = count > FEW and count * MANY_AT_FRACTION > len(before.views)
    return _gone_on(snapshot, before) if is_next and not differs else _begun(snapshot, before)


def _gone_on(snapshot: Snapshot, before: Backlog) -> Opened:
    """Look at the jobs that have changed."""
    views, refusals, active, queues = before.views, before.refusals, snapshot.active, snapshot.queues
    fresh: dict[str, JobView] = {}
    left: list[str] = []
    for key in sorted({*snapshot.changed, *before.worn}):
        job, view = snapshot.jobs[key] if _is_in(active, key) else None, views.get(key)
        refusal = None if job is None else obstacle(job, queues)
        if refusal is None:
            refusals.pop(key, None)
        else:
            refusals[key] = refusal
        if job is None or refusal is not None:
            if views.pop(key, None) is not None:
                left.append(key)
        elif view is None or view.job is not job or key in before.worn:
            views[key] = fresh[key] = JobView(job)
    return Opened(views, refusals, fresh, left)


def _begun(snapshot: Snapshot, before: Backlog) -> Opened:
    """Look at all active jobs."""
    records, queues, known = snapshot.jobs, snapshot.queues, before.views
    for key in before.worn:
        known.pop(key, None)
    views, refusals, fresh = dict[str, JobView](), dict[str, Refusal](), dict[str, JobView]()
    may_refuse = queues is not before.queues
    for key in snapshot.active:
        job, view = records[key], known.get(key)
        if view is None or view.job is not job or may_refuse:
            refusal = obstacle(job, queues)
            if refusal is not None:
                refusals[key] = refusal
                continue
            if view is None or view.job is not job:
                view = fresh[key] = JobView(job)
        views[key] = view
    left = None if before.queues is None else {*known, *before.worn}.difference(views)
    return Opened(SortedDict(views), SortedDict(refusals), fresh, left)


def _is_in(active: Sequence[str], key: str) -> bool:
    """Whether a key is among sorted keys."""
    at = bisect_left(active, key)
    return at < len(active) and active[at] == key


def classes_of(plugins: PluginSet, opened: Opened, before: JobClasses | None, *, alone: bool) -> JobClasses:
    """The classes of a session's jobs; those of the last session are brought up to date where they may be kept.

    ``alone``: something besides the jobs tells all of them apart.
    """
    keep = plugins.judges_by_job_alone and not alone
    if keep and before is not None:
        before.follow(plugins, opened.left or (), opened.fresh.values())
        return before
    found = JobClasses()
    found.may_be_kept = keep
    if alone:
        found.others.update(opened.views)
    else:
        found.follow(plugins, (), opened.views.values())
    return found
