"""What ``vsched plan --consolidate`` says."""

from __future__ import annotations

from vsched.framework.words.lists import counted

NOT_WITH_BUY = "--consolidate, --buy: give one of them"
NOT_BY_ITSELF = "the policy would not make these moves by itself: it has no action consolidate"
EXTENDER_NOT_CALLED = "the extender is not called: it may refuse these nodes"


def no_job(name: str, instead: str) -> str:
    return f"--consolidate: there is no job {name!r} {instead}"


# -- the page ----------------------------------------------------------------------------------------------------------


def would_start(job: str, moves: int) -> str:
    return f"{job} would start after {counted(moves, 'move', 'moves')}"


def without_moves(job: str, why: str) -> str:
    return f"{job}: {why}"


def lost_work(length: str) -> str:
    return f"{length} of work"


PAUSES_JOB = "its job pauses until the new pod runs"


def asked_first(length: str) -> str:
    return f"is asked to end first, for {length} at most"


def starts_on(pods: int, node: str) -> str:
    return f"{counted(pods, 'pod', 'pods')} on {node}"
