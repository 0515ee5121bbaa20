"""Why pods are not evicted, and what those that are asked to end by themselves say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vsched.framework.words.lists import clock_time
from vsched.model.pods.cooperation import EvictionRequest

# -- what protects them -------------------------------------------------------------------------------------------

BUDGETS_SPENT = "disruption budgets are used up"
BUDGETS_NAMED = 3
"""How many budgets a message names at most."""


def plugin_disagrees(plugin: str) -> str:
    """A plugin that does not say why."""
    return f"{plugin} does not agree"


def budgets_forbid(budgets: Sequence[str]) -> str:
    """The budgets of the only victims, each with its namespace, are used up."""
    named = f"disruption budget {budgets[0]}" if len(budgets) == 1 else f"disruption budgets {_first(budgets)}"
    forbid, allow = ("forbids", "it allows") if len(budgets) == 1 else ("forbid", "they allow")
    return f"{named} {forbid} the only victims (retried as soon as {allow} more)"


def in_several_budgets(budgets: Sequence[str]) -> str:
    """The only victims are in more than one of these."""
    several = f"the only victims are in more than one disruption budget ({_first(budgets)})"
    return f"{several}: the Eviction API refuses such pods"


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:BUDGETS_NAMED]) + (", …" if len(names) > BUDGETS_NAMED else "")


# -- those that are asked to end by themselves --------------------------------------------------------------------

UNNEEDED = "its resources are no longer needed"
NO_OTHER_PLACE = "no other node has room for it any more"
EVICTION_REFUSED = "the API server refuses its eviction"
"""Why a pod is asked no more."""


def leaving_by_themselves(asked: Sequence[tuple[str, EvictionRequest]]) -> str:
    """``ml/train-0 is done, expected at 14:05:30 UTC``, of the pod (by its key) that is done last.

    Times are moments, not spans: a message in a condition is not to change with each second.
    """
    last, request = max(asked, key=lambda one: (one[1].end, one[0]))
    others = f" and {len(asked) - 1} more" if len(asked) > 1 else ""
    verb = "are" if others else "is"
    if request.expects:
        return f"{last}{others} {verb} done, expected at {clock_time(request.end)}"
    return f"{last}{others} {verb} done, which {'were' if others else 'was'} asked to end by {clock_time(request.end)}"


def asked_to_end(request: EvictionRequest | None, called: Callable[[str], str]) -> str:
    """What a pod that was asked to end by itself is waited for; empty for others. ``called`` names a job by its key."""
    if request is None:
        return ""
    expected = f"expects to be done at {clock_time(request.expects)}" if request.expects else "has not answered"
    expected += said_by_responder(request)
    who = f" for {called(request.beneficiary)}" if request.beneficiary else ""
    return f"asked to end{who}: {expected}, is evicted at {clock_time(request.deadline)} at the latest"


def said_by_responder(request: EvictionRequest) -> str:
    """What a responder says of its progress, as an addition to a sentence; empty where it says nothing."""
    return f" ({request.answer.message})" if request.answer.message else ""
