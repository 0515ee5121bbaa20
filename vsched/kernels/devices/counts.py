"""How many devices are free for a request on each node: worked out once a session, then kept up to date."""

from __future__ import annotations

from array import array

from vsched.kernels.devices.books import DeviceBooks
from vsched.kernels.devices.inventory import NOWHERE, Inventory
from vsched.kernels.devices.matching import DeviceMatch, match
from vsched.model.nodes.table import Ints


class FreeCount:
    """The free devices of one request, by device and by node."""

    __slots__ = ("_inventory", "match", "nodes", "together", "units")

    def __init__(self, inventory: Inventory, want: DeviceMatch, books: DeviceBooks, *, later: bool) -> None:
        self._inventory = inventory
        self.match = match(want, inventory)
        self.units: Ints = self.match.units.copy()
        """int64[devices]: how often each can be allocated."""
        if not want.admin:
            self._take(books, later=later)
        self.nodes: Ints = inventory.per_node(self.units)
        """int64[nodes]: how many devices such a request could get there."""
        self.together = int(self.units.sum())
        """How many it could get on all nodes together."""

    def _take(self, books: DeviceBooks, *, later: bool) -> None:
        units = self.units
        units[books.in_use(later=later) & ~self._inventory.shareable] = 0
        for device in (*books.shared(), *books.counting()):
            if units[device]:
                units[device] = books.units(device, self.match.taken.get(device), later=later)

    def refresh(self, device: int, books: DeviceBooks, *, later: bool) -> None:
        """The state of a device changed."""
        if not self.match.units[device]:
            return
        units = books.units(device, self.match.taken.get(device), later=later)
        delta = units - int(self.units[device])
        if not delta:
            return
        self.units[device] = units
        self.together += delta
        group = int(self._inventory.group[device])
        if group != NOWHERE:
            self.nodes[self._inventory.rows(group)] += delta
        elif (row := int(self._inventory.row[device])) != NOWHERE:
            self.nodes[row] += delta


class FreeCounts:
    """The counts of all requests of a session, now and later."""

    def __init__(self, inventory: Inventory, books: DeviceBooks) -> None:
        self._inventory = inventory
        self._books = books
        self._now: dict[DeviceMatch, FreeCount] = {}
        self._later: dict[DeviceMatch, FreeCount] = {}
        """Only counts that were asked for while uses were leaving."""
        self.version = 0
        """Rises with each change."""
        self.journal = array("q")
        """Rows of nodes whose own devices changed, in order."""
        self.far = 0
        """The version in which a device changed last that several nodes reach."""
        self._versions: dict[int, int] = {}

    def of(self, want: DeviceMatch, *, later: bool) -> FreeCount:
        """The count of a request, as it is now."""
        self.follow()
        later = later and self.differ
        counts = self._later if later else self._now
        found = counts.get(want)
        if found is None:
            found = counts[want] = FreeCount(self._inventory, want, self._books, later=later)
        return found

    @property
    def differ(self) -> bool:
        """Whether more may be free later than now."""
        return self._books.moving > 0

    def version_of(self, row: int) -> int:
        """The version in which a device of a row changed last."""
        self.follow()
        return max(self._versions.get(row, 0), self.far)

    def follow(self) -> None:
        """Take over what changed in the books."""
        changed = self._books.changed
        if not changed:
            return
        self.version += 1
        for device in changed:
            if self._inventory.group[device] != NOWHERE:
                self.far = self.version
            else:
                row = int(self._inventory.row[device])
                self._versions[row] = self.version
                if row != NOWHERE:
                    self.journal.append(row)
        for counts, later in ((self._now, False), (self._later, True)):
            for want, count in counts.items():
                if not want.admin:
                    for device in changed:
                        count.refresh(device, self._books, later=later)
        changed.clear()
