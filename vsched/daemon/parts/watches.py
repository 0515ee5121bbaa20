"""The watches of a daemon and their progress."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from vsched.daemon.observe.progress import Progress
from vsched.daemon.parts.base import Base
from vsched.daemon.tasks import LongLived
from vsched.daemon.watches import ObjectSink, awaited, is_expected, reflectors


class Watches:
    """One watch for each kind that is followed."""

    def __init__(self, base: Base, others: Mapping[str, ObjectSink]) -> None:
        options, telemetry = base.options, base.telemetry
        self.reflectors = reflectors(
            base.client,
            base.cache,
            others,
            telemetry.watch,
            scheduling=options.schedule,
            arbitrating=options.arbitrate,
            user_key=options.user_key,
        )
        watches = {kind: reflector.statistics for kind, reflector in self.reflectors.items()}
        self.progress = Progress(watches, telemetry.note)

    @property
    def tasks(self) -> tuple[LongLived, ...]:
        """What runs for long."""
        follow = (
            LongLived(f"watch {kind}", reflector.run, f"keeps the mirror in step with every {kind}")
            for kind, reflector in self.reflectors.items()
        )
        return (*follow, LongLived("progress", self.progress.run, "tells of lists that take long"))

    def awaited(self) -> Sequence[asyncio.Event]:
        """The events that the first session waits for."""
        return [awaited(kind, reflector) for kind, reflector in self.reflectors.items()]

    def synced(self) -> Mapping[str, bool]:
        """Whether each kind has been listed."""
        return {
            kind: reflector.synced.is_set()
            for kind, reflector in self.reflectors.items()
            if is_expected(kind, reflector.statistics)
        }

    def absent(self) -> Mapping[str, str]:
        """The optional kinds that cannot be listed, with the reason."""
        return {
            kind: reflector.statistics.problem
            for kind, reflector in self.reflectors.items()
            if awaited(kind, reflector).is_set()
            and not reflector.synced.is_set()
            and is_expected(kind, reflector.statistics)
        }
