"""What ``vsched bench-arbitrate`` says."""

from __future__ import annotations


def too_many_overused(overused: int) -> str:
    return f"--overused {overused}: expected fewer than there are namespaces"


def never_settles(rounds: int) -> str:
    return f"after {rounds} rounds there is still something to be written"


# -- the extender ------------------------------------------------------------------------------------------------------

NONE_MAY_BE_PLACED = "no pod that waits may be placed (expected more of them, or fewer namespaces)"


def cannot_be_asked(problem: str) -> str:
    return f"the extender cannot be asked: {problem}"


WRONG_ANSWER = "the extender gave another answer than the namespaces' ceilings do"
CLOSED_TOO_SOON = "the connection was closed before the answer was complete"


def other_answer(status_line: str) -> str:
    return f"expected an answer 200 of stated length, got {status_line}"


# -- tables ------------------------------------------------------------------------------------------------------------

OBJECTS_TO_WRITE = "objects to be written"
ANSWERS = "\nan answer to kube-scheduler, p50 / p99 / longest (ms)"
PLACEABLE = "pod that may be placed"
REFUSED = "pod that may not"
