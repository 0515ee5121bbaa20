"""All that actions say to people: why a job waits, and which arguments have no effect."""

from __future__ import annotations

from vsched.framework.words.lists import counted

# -- arguments without effect -------------------------------------------------------------------------------------

ERRORS_REUSED = "what holds for one pod is always reused for its like"
ONE_AFTER_THE_OTHER = "one node is tried after the other"

# -- why a job waits ----------------------------------------------------------------------------------------------


def queue_overused(queue: str) -> str:
    """Its queue gets no more in this cycle."""
    return f"queue {queue} holds all that it deserves"


def room_for(message: str, room: int, wanted: int) -> str:
    """The nodes' reason, and how many of its pods would fit."""
    return f"{message} There is room for {room} of {wanted}."


def also(message: str, refusal: str) -> str:
    """The nodes' reason, and what else stands in its way."""
    return f"{message} Also, {refusal}."


def not_in(domain: str, why: str) -> str:
    """What stopped a domain that had room for each of its pods alone; an addition to a sentence."""
    return f"; not in {domain}: {why}"


def not_tried(domains: int) -> str:
    """How many domains with room the action did not get to; an addition to a sentence."""
    return f"; {domains} more with room were not tried"


def may_evict_from(time: str, why: str, *, reclaims: bool) -> str:
    """Its victims are still protected; ``why`` says what protects the first that it may evict."""
    what = "reclaim from other queues" if reclaims else "preempt other jobs"
    return f"it can {what} from {time} UTC at the earliest ({why})"


# -- sub-groups ---------------------------------------------------------------------------------------------------

_SUB_GROUP = "sub-group "


def of_sub_group(name: str, message: str) -> str:
    """A message that concerns one sub-group."""
    return message if message.startswith(_SUB_GROUP) else f"{_SUB_GROUP}{name}: {message}"


def sub_group_lacks_groups(name: str, minimum: int) -> str:
    """A group of sub-groups has too few that can start."""
    return f"{_SUB_GROUP}{name} needs {minimum} of its groups, and these have too few pods"


def sub_group_lacks_pods(name: str, minimum: int, have: int) -> str:
    """Too few pods of a sub-group exist."""
    return f"{_SUB_GROUP}{name} needs {minimum} pods, and {counted(have, 'exists', 'exist')}"
