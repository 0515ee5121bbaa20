"""What ``vsched explain`` says."""

from __future__ import annotations

# -- what is asked, and of what nothing can be explained ---------------------------------------------------------------

FILE_DOES_NOT_CHANGE = "--watch and --from: a file does not change"
IS_KNOWN_HERE = "is known here"


def searching_on(seconds: float) -> str:
    return f"Not all was tried. Searching for {seconds} s more; Ctrl+C ends it."


NOTHING_ELSE = "Nothing else was found."
NOT_LOOKED_AT = "no controller has looked at it yet"


def of_scheduler(name: str) -> str:
    return f"; its spec.schedulerName is {name}"


def in_phase(phase: str) -> str:
    return f"it is {phase}"


def no_podgroup(vcjob: str, why: str) -> str:
    return f"vcjob {vcjob} has no PodGroup: {why}"


def cycle_ended_in_error(file: object) -> str:
    return f"{file}: the cycle in it ended in an error, so nothing was decided"


def other_kind(found: str, asked: object) -> str:
    return f"a {found}, and no {asked}"


NOT_IN_IT = "not in it"


# -- the page ----------------------------------------------------------------------------------------------------------

AS_THINGS_ARE = "cannot start as things are"
WAITS_TO_START = "has its nodes and waits to start"
HAS_WAITING_JOBS = "has jobs that wait"
HAS_STUCK_JOBS = f"has jobs that {AS_THINGS_ARE}"
IN_THE_WAY = "in the way"


def gang_waits(gang: str) -> str:
    return f"its gang {gang} waits: "


WOULD_START_WITH = "would start with"


def position_in_all(position: int, of: int) -> str:
    return f"{position} of {of} in all"


def pods_pending(jobs: str, pending: int, pods: int) -> str:
    return f"{jobs}, with {pending} of {pods} pods pending"


def of_at_least(minimum: int) -> str:
    return f" of at least {minimum}"


WAITING_DOES_NOT_HELP = " (waiting does not help)"


def other_reasons(number: int) -> str:
    return f"and {number} other reasons (-o wide)"
