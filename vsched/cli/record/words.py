"""What ``vsched record`` says."""

from __future__ import annotations

# -- recording ---------------------------------------------------------------------------------------------------------


def recording(folder: object, sizes: str) -> str:
    return f"recording into {folder}: {sizes} (Ctrl-C ends it)"


def sizes(nodes: int, pods: int) -> str:
    return f"{nodes:,} nodes, {pods:,} pods"


def recorded(lines: int, folder: object) -> str:
    return f"{lines:,} lines written into {folder}"


NO_FOLDER = "--out FOLDER is missing: where to record"
FOLDER_AND_COMMAND = "--out is for recording, not for a command about a trace"


def no_moment(value: object) -> str:
    return f"{value!r}: expected a date such as 2026-11-30 or 2026-11-30T14:05 (UTC), or a duration after the beginning"


def nothing_between(since: str, until: str) -> str:
    return f"--since {since} is not before --until {until}"


def written(path: object, lines: int, kilobytes: float) -> str:
    return f"{path}: {lines:,} lines, {kilobytes:,.0f} kB"


# -- what is in a trace ------------------------------------------------------------------------------------------------

TIME, GAPS, SCHEDULERS, NODES, JOBS, PODS = "time", "not seen", "schedulers", "nodes", "jobs", "pods"
QUEUE, STARTED, WAITING, MEDIAN, P95, LONGEST = "queue", "started", "never started", "median", "p95", "longest"
ANONYMOUS = "names are made up"
ENDED = {
    "succeeded": "succeeded",
    "failed": "failed",
    "deleted": "deleted",
    "unseen": "ended unseen",
    "there": "there at the end",
}


def span(begin: str, end: str, long: str) -> str:
    return f"{begin} to {end} UTC ({long})"


def gap(begin: str, long: str) -> str:
    return f"{long} from {begin}"


def gangs(jobs: int, gangs: int) -> str:
    return f"{jobs:,}, {gangs:,} of them gangs"


def bound_by(scheduler: str, count: int) -> str:
    return f"{scheduler} bound {count:,}"
