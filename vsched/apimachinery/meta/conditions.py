"""Conditions of a status."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.times import format_time


def with_condition(conditions: Sequence[Obj] | None, new: Obj, now: datetime) -> list[Obj]:
    """The conditions with a new one, which replaces the old one of its type.

    Its transition time changes only when its status does.
    """
    kept = list(conditions or ())
    for index, old in enumerate(kept):
        if old.get("type") == new["type"]:
            moved = old.get("status") != new["status"]
            since = format_time(now) if moved else old.get("lastTransitionTime", format_time(now))
            kept[index] = {**new, "lastTransitionTime": since}
            return kept
    return [*kept, {**new, "lastTransitionTime": format_time(now)}]
