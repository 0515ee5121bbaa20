"""The states of queues and the transitions between them. Pure: facts in, a decision out.

Who asks: a Command, which is carried out once, and the annotation ``scheduling.volcano.sh/queue-state``, which stands.
A Command is the later word: where there is an annotation it is changed to what the Command asked for, so that there is
one truth. A queue below one that is not open is not open either; it opens again with its parent, unless it was closed
for its own sake.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from vsched.api.resources import PODGROUPS
from vsched.controllers import words
from vsched.model.queues.queue import CLOSED, CLOSING, OPEN, ROOT, SHUT, UNKNOWN

STATE_WISH = "scheduling.volcano.sh/queue-state"
"""Annotation: the state that a queue should have."""
WISHES = {"open": OPEN, "closed": CLOSED}
"""Values of ``STATE_WISH``, and the state each asks for."""
ACTIONS = {"OpenQueue": OPEN, "CloseQueue": CLOSED}
"""Actions of Commands about queues, and the state each asks for."""

_USUAL = ("", OPEN, CLOSING, CLOSED)
"""States with transitions of their own. Any other word leads to Unknown, which only a request ends."""


class QueueState(NamedTuple):
    """The facts that the state of a queue depends on."""

    name: str
    state: str = OPEN
    """``status.state`` as its object has it: empty, or any word."""
    wish: str = ""
    """The state its annotation asks for, empty where there is none."""
    by_parent: bool = False
    """Closed only because its parent is."""
    podgroups: int = 0
    parent: str = ""
    parent_state: str = OPEN


class QueueDecision(NamedTuple):
    """The decision about a queue."""

    state: str
    by_parent: bool
    wish: str
    refusal: str = ""
    """Why a request is not carried out."""


def decide(queue: QueueState, asked: str = "") -> QueueDecision:
    """The next state of a queue, given the state that a Command asks for, if any."""
    refusal = refusal_of(queue, asked) if asked else ""
    if refusal:
        asked = ""
    wish = asked if asked and queue.wish else queue.wish
    wanted = asked or ("" if refusal_of(queue, queue.wish) else queue.wish)
    state, by_parent = _below_a_shut_one(queue, queue.wish) if _is_shut_above(queue) else (None, False)
    if wanted == CLOSED:
        state, by_parent = _shut(queue), False
    return QueueDecision(state or _on_its_own(queue, wanted), by_parent, wish, refusal)


def refusal_of(queue: QueueState, asked: str) -> str:
    """Why a queue cannot have the requested state; empty if it can."""
    if asked == CLOSED and queue.name == ROOT:
        return words.root_cannot_be_closed(ROOT)
    if asked == OPEN and _is_shut_above(queue):
        return words.parent_first(queue.parent, queue.parent_state)
    return ""


def _is_shut_above(queue: QueueState) -> bool:
    return queue.parent_state in SHUT


def _on_its_own(queue: QueueState, wanted: str) -> str:
    """The state of a queue that no queue above it closes."""
    if wanted == OPEN or queue.by_parent or not queue.state:
        return OPEN
    if queue.state == CLOSING:
        return _shut(queue)
    return queue.state if queue.state in _USUAL else UNKNOWN


def _below_a_shut_one(queue: QueueState, wish: str) -> tuple[str, bool]:
    """The state of a queue whose parent is not open, and whether it is closed only because of the parent."""
    if queue.state not in _USUAL and wish != OPEN:
        return UNKNOWN, queue.by_parent
    return _shut(queue), queue.by_parent or wish == OPEN or queue.state not in SHUT


def _shut(queue: QueueState) -> str:
    return CLOSING if queue.podgroups and queue.state != CLOSED else CLOSED


def boot_queues(default_queue: str) -> dict[str, dict[str, Any]]:
    """The queues that must exist, by name, as objects."""
    specs: dict[str, dict[str, Any]] = {ROOT: {"weight": 1, "reclaimable": False}}
    specs.setdefault(default_queue, {"weight": 1, "reclaimable": True, "parent": ROOT})
    return {
        name: {"apiVersion": PODGROUPS.api_version, "kind": "Queue", "metadata": {"name": name}, "spec": spec}
        for name, spec in specs.items()
    }
