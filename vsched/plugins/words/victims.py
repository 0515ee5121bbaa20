"""Why plugins keep victims from being evicted, or an evictor from evicting; and why one job or queue goes first."""

from __future__ import annotations

# -- why they are no victims --------------------------------------------------------------------------------------

COOLING_DOWN = "their cool-down after the start is not over"
SYSTEM_CRITICAL = "they are system-critical"
NO_LARGER_SHARE = "their jobs do not hold a larger share"
BELOW_MINIMUM = "their gangs would fall below the minimum"
MIN_RUNTIME = "their minimum run time is not over"
PRIORITY_NOT_LOWER = "their priority is not lower"
QUEUES_HOLD_NO_MORE = "their queues do not hold more than they deserve"
OWN_BUDGETS_SPENT = "their jobs' own disruption budgets are used up"
USAGE_NOT_HIGHER = "the usage of their nodes is not higher"

# -- why it may not evict yet -------------------------------------------------------------------------------------

DELAYED = "its preemption delay is not over"

# -- why it goes first --------------------------------------------------------------------------------------------

SMALLER_SHARE = "has the smaller share"
MINIMUM_NOT_REACHED = "has not reached its minimum yet"
EARLIER_DEADLINE = "has the earlier deadline"
NOT_FOR_WINDOWS = "is not for time windows"
USED_LESS = "has used less of its share"
