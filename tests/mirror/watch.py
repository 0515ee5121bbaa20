"""A watch of many objects that a mirror follows."""

from __future__ import annotations

from typing import Any

from tests.support import builders as make
from vsched.mirror.events import MirrorEvents
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings

Fields = dict[str, Any]


class Watch:
    """A mirror that is told of objects, each in a newer version than the last."""

    def __init__(self) -> None:
        self.wakes = self.version = 0
        self.cache = Mirror(MirrorSettings(frozenset({"volcano"})), MirrorEvents(on_change=self._woken))

    def _woken(self) -> None:
        self.wakes += 1

    def tell(self, fields: Fields, type: str = "MODIFIED") -> bool:
        """Whether the object woke the loop."""
        before, self.version = self.wakes, self.version + 1
        versioned = make.merged(fields, {"metadata": {"resourceVersion": str(self.version)}})
        self.cache.intake.apply(fields["kind"], type, make.read(versioned))
        return self.wakes > before

    def budgets(self) -> dict[str, dict[str, int]]:
        found = self.cache.snapshot(0.0).budgets
        return {namespace: {one.name: one.allowed for one in budgets} for namespace, budgets in found.items()}

    def quotas(self) -> dict[str, dict[str, int]]:
        found = self.cache.snapshot(0.0).quotas
        return {namespace: {one.name: one.lines[0].hard for one in quotas} for namespace, quotas in found.items()}

    def complaint(self, kind: str, key: str) -> str:
        return self.cache.blemished[kind, key].message
