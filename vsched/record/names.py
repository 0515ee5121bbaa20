"""The names in a work trace: as they are, or others that tell nothing but which are equal."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

from vsched.record.lines import NODE_LABELS

KEPT = frozenset({"", "default", "root"})
"""TraceNames that every cluster has."""
HARDWARE = frozenset(NODE_LABELS) - {"topology.kubernetes.io/zone"}
"""Labels that name a kind of machine or device, which stays: without it nobody could say what ran where."""
ID_BYTES, NAME_BYTES = 8, 5


class TraceNames:
    """TraceNames as they are."""

    anonymous = False

    def id(self, uid: str) -> str:
        """What tells a job or a pod apart: short, and the same whoever records it."""
        return blake2b(uid.encode(), digest_size=ID_BYTES).hexdigest()

    def name(self, kind: str, name: str) -> str:
        """How a thing of this kind is called in the trace."""
        return name

    def labels(self, labels: Mapping[str, str]) -> Mapping[str, str]:
        """The labels of a node that are recorded."""
        return {key: labels[key] for key in NODE_LABELS if key in labels}


class HiddenNames(TraceNames):
    """Made-up names: the same as long as the key is, and nobody without the key finds out whose they are."""

    anonymous = True

    def __init__(self, key: bytes) -> None:
        """``key``: 16 to 64 secret bytes."""
        self._key = key

    def id(self, uid: str) -> str:
        return blake2b(uid.encode(), digest_size=ID_BYTES, key=self._key).hexdigest()

    def name(self, kind: str, name: str) -> str:
        if name in KEPT:
            return name
        return f"{kind}-{blake2b(f'{kind} {name}'.encode(), digest_size=NAME_BYTES, key=self._key).hexdigest()}"

    def labels(self, labels: Mapping[str, str]) -> Mapping[str, str]:
        found = super().labels(labels)
        return {key: value if key in HARDWARE else self.name("zone", value) for key, value in found.items()}
