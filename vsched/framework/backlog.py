"""The active jobs of a session, carried over from the last one.

Where the snapshot says which jobs have changed since then, no other job is examined.
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

REBUILT_MIN = 256
REBUILT_AT_FRACTION = 4
"""Where a fourth of the jobs have changed, and more than so many, sorting all of them again takes less time."""


class Backlog(NamedTuple):
    """The active jobs of a session, for the next one."""

    views: SortedDict[str, JobView]
    """Of the jobs that it could work on, by key."""
    modified: Collection[str]
    """The keys of the jobs whose views it modified."""
    refusals: SortedDict[str, Refusal]
    """Why it skipped the other jobs."""
    queues: Mapping[str, Queue] | None
    state: object | None
    """``Snapshot.state`` of its snapshot."""
    classes: JobClasses | None


def nothing_left() -> Backlog:
    """The backlog for the first session."""
    return Backlog(SortedDict(), (), SortedDict(), None, None, None)


class Opened(NamedTuple):
    """The active jobs of a session."""

    views: SortedDict[str, JobView]
    """Of the jobs that it may work on, by key."""
    refusals: SortedDict[str, Refusal]
    """Why it skips the other jobs."""
    fresh: Mapping[str, JobView]
    """Views that the last session did not leave, by key."""
    left: Collection[str] | None
    """The keys of jobs that only the last session could work on; None where there is no last session."""


def opened_on(snapshot: Snapshot, before: Backlog) -> Opened:
    """The active jobs of the session on this snapshot. The backlog is changed in place and may not be used again."""
    is_next = before.state is not None and before.state is snapshot.since and before.queues is snapshot.queues
    count = len(snapshot.changed) + len(before.modified)
    differs = count > REBUILT_MIN and count * REBUILT_AT_FRACTION > len(before.views)
    return _updated(snapshot, before) if is_next and not differs else _rebuilt(snapshot, before)


def _updated(snapshot: Snapshot, before: Backlog) -> Opened:
    """Examines only the jobs that have changed."""
    views, refusals, active, queues = before.views, before.refusals, snapshot.active, snapshot.queues
    fresh: dict[str, JobView] = {}
    left: list[str] = []
    for key in sorted({*snapshot.changed, *before.modified}):
        job, view = snapshot.jobs[key] if _is_in(active, key) else None, views.get(key)
        refusal = None if job is None else obstacle(job, queues)
        if refusal is None:
            refusals.pop(key, None)
        else:
            refusals[key] = refusal
        if job is None or refusal is not None:
            if views.pop(key, None) is not None:
                left.append(key)
        elif view is None or view.job is not job or key in before.modified:
            views[key] = fresh[key] = JobView(job)
    return Opened(views, refusals, fresh, left)


def _rebuilt(snapshot: Snapshot, before: Backlog) -> Opened:
    """Examines all active jobs."""
    records, queues, known = snapshot.jobs, snapshot.queues, before.views
    for key in before.modified:
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
    left = None if before.queues is None else {*known, *before.modified}.difference(views)
    return Opened(SortedDict(views), SortedDict(refusals), fresh, left)


def _is_in(active: Sequence[str], key: str) -> bool:
    """Whether a key is among sorted keys."""
    at = bisect_left(active, key)
    return at < len(active) and active[at] == key


def classes_of(plugins: PluginSet, opened: Opened, before: JobClasses | None, *, alone: bool) -> JobClasses:
    """The classes of a session's jobs; those of the last session are updated where they may be carried over.

    ``alone``: each job is in a class of its own, because something besides the jobs distinguishes them.
    """
    carries = plugins.judges_by_job_alone and not alone
    if carries and before is not None:
        before.follow(plugins, opened.left or (), opened.fresh.values())
        return before
    found = JobClasses()
    found.may_be_carried = carries
    if alone:
        found.others.update(opened.views)
    else:
        found.follow(plugins, (), opened.views.values())
    return found
