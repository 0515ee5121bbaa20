"""What plugins say of a job: what its gang lacks, limits on running jobs, its wall time, and notes on what it asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vsched.framework.words.lists import counted

# -- gang ---------------------------------------------------------------------------------------------------------

GANG_READY = "tasks in gang are ready to be scheduled"
NOT_ADMITTED = "its queue has not admitted it"


def some_exist(count: int, minimum: int, gone: str) -> str:
    """Fewer pods exist than the gang needs; ``gone`` says which are lost (``pods_gone``)."""
    return f"{count} of the gang's {minimum} pods exist{gone}"


def none_exists(minimum: int, gone: str) -> str:
    """No pod of the gang exists, or none any more."""
    return f"no pods {'are left' if gone else 'exist'}, and the gang needs {minimum}{gone}"


def none_is_for_it(minimum: int, others: str, gone: str) -> str:
    """No pod of the gang exists for this scheduler; ``others`` says whose they are."""
    return f"the gang needs {counted(minimum, 'pod', 'pods')}, and {others}{gone}"


def pods_gone(failed: int, leaving: int, unknown: int) -> str:
    """The pods that exist and do not count, as a note in brackets; empty where there are none."""
    counts = ((failed, "failed"), (leaving, "leaving"), (unknown, "in an unknown state"))
    notes = [f"{count} {what}" for count, what in counts if count]
    return f" ({', '.join(notes)})" if notes else ""


def others_too(message: str, others: str) -> str:
    """A message, and whose other pods of the gang are."""
    return f"{message}; {others}" if others else message


def roles_lack_pods(roles: Sequence[tuple[str, int, int]], more: int) -> str:
    """``role ps has 0 of the 1 pod that it needs, w 2 of 4``; of each role its name, how many it has, and needs."""
    shown = list[str]()
    for name, has, needs in roles:
        name = name or "(none)"
        shown.append(f"{name} {has} of {needs}" if shown else f"role {name} has {_of_pods(has, needs)} that it needs")
    return ", ".join(shown) + (f", and {more} more lack pods" if more else "")


def _of_pods(has: int, needs: int) -> str:
    return f"{has} of the {needs} {'pod' if needs == 1 else 'pods'}"


def sub_groups_lack_pods(shortages: str) -> str:
    """Too few pods exist (``sub_group_shortages``)."""
    return f"not enough pods exist for its sub-groups: {shortages}"


def sub_groups_to_place(shortages: str) -> str:
    """Too few are placed (``sub_group_shortages``)."""
    return f"sub-groups must be placed: {shortages}"


def tasks_to_place(missing: int, minimum: int) -> str:
    """Pods exist, and too few of them have a node."""
    return f"{missing} more of the minimum of {minimum} tasks must be placed"


def sub_group_shortages(shown: Iterable[str], more: int) -> str:
    """One for each policy of sub-groups (``sub_group_shortage``), and how many more there are."""
    return "; ".join(shown) + (f"; and {more} more policies" if more else "")


def sub_group_shortage(
    policy: str, complete: int, minimum: int, size: int | None, lacking: Sequence[tuple[str, int]], more: int
) -> str:
    """``workers has 1 of 2 sub-groups of 4 pods (workers/b lacks 1)``; ``size`` is None for groups of sub-groups."""
    parts = "groups" if size is None else f"sub-groups of {counted(size, 'pod', 'pods')}"
    notes = [f"{name} lacks {lacks}" for name, lacks in lacking]
    if more:
        notes.append(f"{more} more lack some")
    named = f" ({', '.join(notes)})" if notes else ""
    return f"{policy} has {complete} of {minimum} {parts}{named}"


# -- joblimits ----------------------------------------------------------------------------------------------------


def runs_enough_jobs(running: int, most: int, *, queue: str = "", namespace: str = "", user: str = "") -> str:
    """The scope of a limit (a queue, or a namespace or user in it or in the cluster) runs as many jobs as it may."""
    where = f"in queue {queue}" if queue else "in the cluster"
    runs = f"runs {running:,} of at most {counted(most, 'job', 'jobs')}" if most else "may run no job"
    if user:
        return f"user {user} {runs} {where}"
    if namespace:
        return f"namespace {namespace} {runs} {where}"
    return f"queue {queue} {runs}"


# -- task-topology ------------------------------------------------------------------------------------------------


def unknown_role(role: str) -> str:
    """The annotations name a role that no pod has."""
    return f"task-topology: no pod has the role {role!r}, so the roles' affinities do not count"


# -- walltime -----------------------------------------------------------------------------------------------------

NOT_ENDED = "its wall time does not end it: its controller would create new pods, which no PodGroup holds back"


def wall_time_over(length: str) -> str:
    """It is ended now, or was before."""
    return f"its wall time of {length} is over"


def asks_for_too_long(asked: str, longest: str, *, queue: str, user: str = "") -> str:
    """It asks for more than its queue allows, or the queue its user."""
    who = f"user {user} may have" if user else f"queue {queue} allows"
    return f"asks for {asked} of wall time, and {who} {longest}"
