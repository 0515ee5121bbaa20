"""What ``vsched shadow report`` says. "There" is the scheduler in charge, "here" the candidate."""

from __future__ import annotations

LOG_OR_DAEMON = "--log: read a log or ask a daemon (expected --log FOLDER or --daemon URL, not both)"
TITLE = "What would be different here"

# -- headings ----------------------------------------------------------------------------------------------------------

STARTS = "Starts"
WAITING = "Gangs that wait there and would have started here"
LATER = "Gangs that started later there"
WAITS_HERE = "Gangs that started there and would wait here"
WOULD_EVICT = "Gangs that run there and would lose pods here"
IN_VAIN = "Evictions there in vain"
PARTIAL = "Gangs that held nodes there without their minimum"
IDLE = "Nodes idle there that had work here"
QUEUES = "Queues: share of what they deserve by the candidate policy"
OVER_DAYS = "How sure these sums are"
LIMITS = "What this cannot know"

# -- starts ------------------------------------------------------------------------------------------------------------

START_LATER = "later than here"
START_ALIKE = "as soon as here"
START_WAITS_HERE = "there, and would wait here"
START_UNSEEN = "not compared: not seen waiting as it started"

# -- figures over days -------------------------------------------------------------------------------------------------

FIGURES = {
    "later": "starts later than here",
    "later_seconds": "how much later, together",
    "waits_here": "starts of gangs that would wait here",
    "would_evict_pods": "pods evicted here",
    "in_vain": "evictions in vain",
    "partials": "gangs held without their minimum",
}

# -- lines -------------------------------------------------------------------------------------------------------------

NONE = "none"


def about(schedulers: str, policy: str) -> str:
    return f"pods of {schedulers}; candidate policy {policy}"


def over(since: str, until: str, lasts: str) -> str:
    return f"from {since} to {until} ({lasts})"


def not_seen(gaps: int, lasts: str) -> str:
    return f"not seen: {lasts} in {gaps} {'gap' if gaps == 1 else 'gaps'}"


def later_together(lasts: str) -> str:
    return f"together {lasts} later"


def more(count: int) -> str:
    return f"and {count:,} more"


def of_all(shown: int, total: int) -> str:
    return f"{shown:,} of {total:,}"


def evictions(in_vain: int, total: int) -> str:
    return f"{in_vain:,} of {total:,} evictions"


def pods_together(pods: int) -> str:
    return f"{pods:,} {'pod' if pods == 1 else 'pods'} in all"


def gangs_together(gangs: int, lasts: str) -> str:
    return f"{gangs:,} {'gang' if gangs == 1 else 'gangs'}, together {lasts}"


def written(path: str) -> str:
    return f"wrote {path}"


def resampled(days: int) -> str:
    return f"95 in 100 resamples of {days} days are between low and high"
