"""What is said of calls to an extender, and of the queue of a vcjob."""

from __future__ import annotations

# -- calls -------------------------------------------------------------------------------------------------------------


def no_longer_called(url: str) -> str:
    return f"{url}: no longer called"


def no_answer(url: str, seconds: float) -> str:
    return f"{url}: no answer within {seconds:.2g} s"


def earlier_call(url: str) -> str:
    return f"{url}: an earlier call has not ended yet"


SKIPPED = "is skipped after it did not answer"


def used_up(seconds: float) -> str:
    return f"used up the {seconds:g} s of the cycle"


TOO_OFTEN = "did not answer too often in this cycle"
CALLER_GONE = "the caller stopped waiting"


def answered_too_much(mib: int) -> str:
    return f"answered more than {mib} MiB"


BROKE_OFF = "the answer broke off"

# -- reviews -----------------------------------------------------------------------------------------------------------


def no_queue(queue: str) -> str:
    return f"spec.queue: queue {queue!r} does not exist"


def queue_not_open(queue: str, state: str) -> str:
    return f"spec.queue: queue {queue} is {state} (expected one that is open)"


def queue_has_children(queue: str) -> str:
    return f"spec.queue: queue {queue} has child queues (expected a queue without any)"
