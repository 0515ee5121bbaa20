"""HyperNodes as last watched, and the catalogue of them that snapshots show."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.mirror.ingest.hypernodes import ParsedHyperNode, ShownStatus
from vsched.model.topology.hypernodes import NO_TOPOLOGY, HyperNode, TopologyCatalogue


class TopologyStore:
    """Every HyperNode by name."""

    def __init__(self) -> None:
        self._hypernodes: dict[str, HyperNode] = {}
        self._unread: dict[str, str] = {}
        self._problem = ""
        self._published = NO_TOPOLOGY
        self._is_new = False
        self._shown: dict[str, ShownStatus] = {}
        self.uids: dict[str, str] = {}
        """By name: the uids of all objects, also of those that cannot be read."""
        self.statuses_seen = 0
        """How often a status has changed."""

    @property
    def shown(self) -> Mapping[str, ShownStatus]:
        """By name: the status that each object shows."""
        return self._shown

    def adopt(self, catalogue: TopologyCatalogue) -> None:
        """Take over the HyperNodes of a snapshot."""
        self._hypernodes = {one.name: one for one in catalogue.hypernodes}
        self._unread, self._problem = dict(catalogue.unread), catalogue.problem
        self._published, self._is_new = catalogue, False

    def put(self, found: ParsedHyperNode) -> bool:
        """Take in a HyperNode; True where it has changed in more than its status."""
        name = found.hypernode.name
        self._show(name, found.hypernode.uid, found.shown)
        changed = self._hypernodes.get(name) != found.hypernode or self._unread.get(name, "") != found.problem
        self._hypernodes[name] = found.hypernode
        if found.problem:
            self._unread[name] = found.problem
        else:
            self._unread.pop(name, None)
        self._is_new |= changed
        return changed

    def put_unread(self, name: str, uid: str, why: str) -> None:
        """Take in a HyperNode of which nothing can be read."""
        self._show(name, uid, ShownStatus())
        self._hypernodes.pop(name, None)
        self._unread[name] = why
        self._is_new = True

    def drop(self, name: str) -> bool:
        """A HyperNode is gone; True where it was known."""
        self._shown.pop(name, None)
        self.uids.pop(name, None)
        hypernode, why = self._hypernodes.pop(name, None), self._unread.pop(name, None)
        known = hypernode is not None or why is not None
        self._is_new |= known
        return known

    def get(self, name: str) -> HyperNode | None:
        """A HyperNode that can be read, None where there is none."""
        return None if name in self._unread else self._hypernodes.get(name)

    def names(self) -> list[str]:
        """The names of all that can be read, sorted."""
        return sorted(self._hypernodes.keys() - self._unread.keys())

    def set_problem(self, problem: str) -> bool:
        """Say why no HyperNode can be read, empty where they can; True where that has changed."""
        changed = self._problem != problem
        self._problem = problem
        self._is_new |= changed
        return changed

    def publish(self) -> TopologyCatalogue:
        """What snapshots show; the same object while nothing changes."""
        if self._is_new:
            found = tuple(self._hypernodes[name] for name in sorted(self._hypernodes))
            self._published = TopologyCatalogue(found, dict(sorted(self._unread.items())), self._problem)
            self._is_new = False
        return self._published

    def __len__(self) -> int:
        return len(self._hypernodes)

    def _show(self, name: str, uid: str, shown: ShownStatus) -> None:
        self.uids[name] = uid
        if self._shown.get(name) != shown:
            self._shown[name] = shown
            self.statuses_seen += 1
