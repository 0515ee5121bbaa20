"""What sessions know of nodes, carried from one cycle to the next: the private node table, and scores by shape.

A session takes it over, and leaves it once its report is made. Only the rows that the mirror has written since, and
those that the last session changed, are read again. It saves time and changes no answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from vsched.framework.nodes.shapes import FITS_MAX, ShapeNodes, Stamp
from vsched.model.memo import Memo
from vsched.model.pods.shape import Shape
from vsched.model.snapshot import Snapshot

OWNER = "nodes"
BYTES_MAX = 16 << 20
"""The most memory for scores that are carried, whatever the number of nodes."""
BYTES_OF_A_NODE = 9
"""What one node takes of it for each shape."""

REREAD_MAX = 64
REREAD_FRACTION = 4
"""Up to so many changed rows, or this part of all, are read one by one; where there are more, all rows are read."""

STAMPS_MAX = 128
"""The amounts of so many changed nodes are known by a stamp. Where more change at once, none is."""

JOURNAL_MAX = 8192
"""A journal of this length is emptied, and scores are forgotten."""


class CarriedNodes:
    """The private table of the current session, its journal, and scores by shape."""

    __slots__ = ("_begun", "_fits", "_masks", "_most", "_read", "_source", "_stamps", "journal", "table")

    def __init__(self, snapshot: Snapshot) -> None:
        self._source = snapshot.nodes
        self._masks = snapshot.masks
        self._read = 0 if snapshot.nodes.changes is None else snapshot.nodes.changes.position
        """How many changes of the source have been read."""
        self._begun = 0
        """The length of the journal when the session began."""
        self._most = min(FITS_MAX, BYTES_MAX // (BYTES_OF_A_NODE * max(1, len(snapshot.nodes))))
        """For how many shapes scores are carried at most."""
        self._fits: dict[Shape, ShapeNodes] = {}
        """Those that were used last come last."""
        self._stamps: dict[int, Stamp] = {}
        """By row: the amounts with which the session began, of those that changed lately."""
        self.table = snapshot.nodes.copy()
        self.journal: list[int] = []
        """Rows whose amounts changed, in order, in this session and in those before."""

    def take(self, shape: Shape) -> ShapeNodes | None:
        """The scores of a shape; the caller keeps them current, and gives them back (``give``)."""
        return self._fits.pop(shape, None)

    def give(self, fits: Iterable[ShapeNodes]) -> None:
        """Take back the scores of shapes at the end of the session; those that were used last come last."""
        for fit in fits:
            self._fits.pop(fit.shape, None)
            self._fits[fit.shape] = fit
        while len(self._fits) > self._most:
            del self._fits[next(iter(self._fits))]

    def follow(self, snapshot: Snapshot) -> bool:
        """Bring the table up to date for the next session; False where it has to be copied again."""
        source, changes = snapshot.nodes, snapshot.nodes.changes
        if source is not self._source or changes is None:
            return False
        written = changes.since(self._read)
        if written is None:
            return False
        rows = {*written, *self.journal[self._begun :]}
        if len(rows) > max(REREAD_MAX, len(source) // REREAD_FRACTION):
            return False
        if self.table.axis is not source.axis or self._masks != snapshot.masks or len(self.journal) >= JOURNAL_MAX:
            self._fits.clear()
            self.journal.clear()
            self._masks = snapshot.masks
        self.table.follow(source, rows)
        if rows:
            self._stamp(rows)
            self.journal.extend(rows)
        self._read, self._begun = changes.position, len(self.journal)
        return True

    def _stamp(self, rows: Collection[int]) -> None:
        if len(self._stamps) + len(rows) > STAMPS_MAX:
            self._stamps.clear()
        if len(rows) > STAMPS_MAX:
            return
        table = self.table
        arrays = table.allocatable, table.idle, table.releasing, table.pipelined, table.requested, table.scoring
        for row in rows:
            self._stamps[row] = b"".join([amounts[:, row].tobytes() for amounts in arrays])

    def changed_since(self, position: int, seen: dict[int, Stamp]) -> list[int]:
        """The rows that changed since this position in the journal, but for those that a fit has scored as they are.

        It will have scored all of these, and ``seen`` says so. A pod that comes and goes leaves a node as it was.
        """
        changed = self.journal[position:]
        if position >= self._begun:
            for row in changed if seen else ():
                seen.pop(row, None)
            return changed
        rows = dict.fromkeys(changed)
        found: list[int] = []
        if len(rows) > STAMPS_MAX:
            seen.clear()
            return [*rows]
        in_session = set(self.journal[self._begun :])
        for row in rows:
            stamp = None if row in in_session else self._stamps.get(row)
            if stamp is None:
                seen.pop(row, None)
            elif seen.get(row) == stamp:
                continue
            elif row in seen or len(seen) < STAMPS_MAX:
                seen[row] = stamp
            found.append(row)
        return found


def carried_nodes(memo: Memo, snapshot: Snapshot) -> CarriedNodes:
    """What the last session left, up to date; new where nothing of it can be used."""
    found = memo.take(OWNER, CarriedNodes)
    return found if found is not None and found.follow(snapshot) else CarriedNodes(snapshot)
