"""The statuses of a task, and what each one holds of its node and counts for its job."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Status(IntEnum):
    """The status of a task; the numbers are positions in per-job counters."""

    PENDING = 0
    ALLOCATED = 1
    PIPELINED = 2
    BINDING = 3
    BOUND = 4
    RUNNING = 5
    RELEASING = 6
    SUCCEEDED = 7
    FAILED = 8
    UNKNOWN = 9
    UNTAKEN = 10
    """It names its node itself: no scheduler has bound it, and no node has taken it."""


class Holds(NamedTuple):
    """How a task in a status counts in the amounts of its node."""

    uses: bool
    """Takes its request from the node's idle amounts."""
    releasing: bool
    """Its resources are being released."""
    reserves: bool
    """It waits for resources being released."""
    allocated: bool
    """Counts as allocated for job, queue and namespace."""
    ready: bool
    """Counts towards the gang's minimum."""


HOLDS: tuple[Holds, ...] = (
    Holds(False, False, False, False, False),  # PENDING
    Holds(True, False, False, True, True),  # ALLOCATED
    Holds(False, False, True, False, False),  # PIPELINED
    Holds(True, False, False, True, True),  # BINDING
    Holds(True, False, False, True, True),  # BOUND
    Holds(True, False, False, True, True),  # RUNNING
    Holds(True, True, False, False, False),  # RELEASING
    Holds(False, False, False, False, True),  # SUCCEEDED
    Holds(False, False, False, False, False),  # FAILED
    Holds(True, False, False, False, False),  # UNKNOWN
    Holds(True, False, False, False, False),  # UNTAKEN
)
"""One row a status, in the order of ``Status``."""

READY = tuple(status for status in Status if HOLDS[status].ready)
ALLOCATED = tuple(status for status in Status if HOLDS[status].allocated)
SCHEDULED = (Status.RUNNING, Status.BOUND, Status.SUCCEEDED, Status.FAILED)
"""Statuses that count as scheduled for the PodGroup's phase."""


class Phase:
    """The phases of a PodGroup, as text."""

    PENDING = "Pending"
    INQUEUE = "Inqueue"
    RUNNING = "Running"
    UNKNOWN = "Unknown"
    COMPLETED = "Completed"
