"""What the engine says of itself: to those who write plugins, and where a recording is played again."""

from __future__ import annotations

from collections.abc import Sequence


def registered_twice(name: str) -> str:
    """Two plugins or actions of one name."""
    return f"{name!r} is registered twice"


def not_called(verb: str) -> str:
    """An extender, when the recording was made."""
    return f"{verb}: was not called when this was recorded"


def not_answered(verb: str) -> str:
    """The same."""
    return f"{verb}: was not answered when this was recorded"


def keeps_too_much(promises: Sequence[str]) -> str:
    """Answers that were kept from earlier cycles were wrong; plugins of others and what they promise of theirs."""
    who = f"; look at what these plugins promise: {', '.join(promises)}" if promises else ""
    return f"a cycle that nothing was kept for reports something else{who}"


def not_acted_on(field: str, actors: Sequence[str], *, tree: bool) -> str:
    """An object states it; names the plugins of which one would act on it. ``tree``: it makes a tree of queues."""
    what = "does not share by a tree of queues" if tree else "has no plugin that acts on it"
    return f"{field}: the policy {what} (expected {' or '.join(actors)})"


def with_hierarchy(plugin: str) -> str:
    """A plugin that acts on it in a mode of its own only."""
    return f"{plugin} with enableHierarchy"
