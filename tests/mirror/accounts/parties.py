"""Accounts of namespaces beside what a plain reading of the objects says."""

from __future__ import annotations

from tests.support import builders as make
from tests.support.mirrors import World
from vsched.model.amounts.counted import counted_name
from vsched.model.arbitration.records import Arbitration, NamespaceAccount
from vsched.model.snapshot import Snapshot

Fields = make.Fields


class Parties(World):
    """A mirror that arbitrates."""

    def __init__(self, *objects: Fields) -> None:
        super().__init__(*objects, arbitrating=True)

    def arbitration(self) -> Arbitration:
        self.snapshot()
        return self.cache.arbitration()

    def party(self, namespace: str = "ns") -> NamespaceAccount:
        return self.arbitration().parties[namespace]

    def held(self, namespace: str = "ns") -> dict[str, int]:
        """What a namespace keeps, as snapshots and the live view agree on."""
        live = self.cache.held(namespace)
        assert published(self.snapshot(), namespace) == live
        return live


def published(snapshot: Snapshot, namespace: str) -> dict[str, int]:
    """What a namespace keeps by a snapshot, by counted name."""
    by_column = snapshot.held.get(namespace, {})
    named = {counted_name(snapshot.axis.names[column]): value for column, value in by_column.items()}
    return named | dict(snapshot.held_limits.get(namespace, {}))
