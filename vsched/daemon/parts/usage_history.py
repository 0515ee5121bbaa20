"""The part that keeps the usage history, where the options ask for it."""

from __future__ import annotations

from collections.abc import Callable

from vsched.daemon.history.keeper import HistoryKeeper, Past
from vsched.daemon.history.past import PastOfPrometheus
from vsched.daemon.history.stored import history_object
from vsched.daemon.parts.base import Base
from vsched.daemon.parts.watches import Watches
from vsched.daemon.parts.write_path import WritePath
from vsched.kube.lease.candidate import new_identity


def history_keeper(base: Base, writes: WritePath, watches: Watches) -> HistoryKeeper | None:
    """The keeper of the history of this daemon's mirror; None where it is not kept."""
    options = base.options
    if not options.keeps_history:
        return None
    stored = history_object(options, base.client, writes.writer, new_identity())
    past = _past(base, watches) if options.history_from_prometheus else None
    return HistoryKeeper(
        base.mirror.history,
        stored,
        writes.events,
        base.telemetry,
        base.clock,
        options.history_period_seconds,
        past,
        _writes(base),
    )


def _writes(base: Base) -> Callable[[], bool]:
    """Says whether this daemon is the one that writes: of several that each lead a shard, the first."""
    election = base.election
    return lambda: election.first.is_set() or not election.leading.is_set()


def _past(base: Base, watches: Watches) -> Past:
    async def listed() -> None:
        for event in watches.awaited():
            await event.wait()

    return PastOfPrometheus(base.settings, base.client, base.policy.reach, base.mirror, base.clock, listed)
