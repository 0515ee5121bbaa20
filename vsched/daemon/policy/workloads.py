"""The table of workload kinds of a file: a good edit takes effect at once, and a bad one changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from vsched.daemon.policy.edits import LOOK_MS, edits_of
from vsched.daemon.words import log as words
from vsched.errors import BadInput
from vsched.mirror.ingest.workload_kinds import WorkloadTable
from vsched.settings.workloads import load_table


class WorkloadFile:
    """Reads a table again whenever its file may have changed."""

    def __init__(self, path: Path, in_force: WorkloadTable, look_ms: int = LOOK_MS) -> None:
        self._path = path
        self._in_force = in_force
        self._look_ms = look_ms
        self._refused = ""

    async def tables(self, note: Callable[..., None], worry: Callable[..., None]) -> AsyncIterator[WorkloadTable]:
        """Each table that takes the place of the one before; ``note`` and ``worry`` are told what is read."""
        async for _ in edits_of(self._path, self._look_ms):
            try:
                table = await asyncio.to_thread(load_table, self._path)
            except (BadInput, OSError) as error:
                if str(error) != self._refused:
                    self._refused = str(error)
                    worry(words.WORKLOADS_REJECTED, problem=str(error))
                continue
            if self._refused and table == self._in_force:
                note(words.WORKLOADS_VALID)
            self._refused = ""
            if table != self._in_force:
                note(words.WORKLOADS_LOADED, **_changes(self._in_force, table))
                self._in_force = table
                yield table


def _changes(before: WorkloadTable, after: WorkloadTable) -> dict[str, str]:
    """The kinds that are new, gone or described otherwise."""
    known, found = before.by_id, after.by_id
    kinds = {
        "new": sorted(found.keys() - known.keys()),
        "gone": sorted(known.keys() - found.keys()),
        "changed": sorted(id for id in found.keys() & known.keys() if found[id] != known[id]),
    }
    return {what: ", ".join(names) for what, names in kinds.items() if names}
