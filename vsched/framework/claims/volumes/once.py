"""Claims that one pod may use at a time (ReadWriteOncePod): who uses them."""

from __future__ import annotations

from collections.abc import Container, Mapping

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.words.nodes import VOLUME_IN_USE
from vsched.model.nodes.table import NodeStatics
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task


class OncePodUsers:
    """The pods that use one claim."""

    __slots__ = ("rows", "staying")

    def __init__(self) -> None:
        self.rows: list[int] = []
        """The row of each pod, leaving ones included; -1 for a node that is not known."""
        self.staying = 0
        """How many of them do not leave."""


class OncePodClaims:
    """Follows the users of claims in one session."""

    def __init__(self, users: Mapping[str, Mapping[str, Task]], statics: NodeStatics, evicted: Container[str]) -> None:
        """``evicted`` has the uids of the pods that the session evicted."""
        self._catalogue = users
        self._statics = statics
        self._evicted = evicted
        self._users: dict[str, OncePodUsers] = {}

    def is_free(self, claim: str, *, later: bool) -> bool:
        """Whether nobody uses the claim now, or once those have left that are leaving."""
        users = self._of(claim)
        return not (users.staying if later else users.rows)

    def checks(self, claim: str) -> list[Check]:
        """No node can serve the claim as long as it is in use; evicting its user helps, and only on the user's node."""
        users = self._of(claim)
        if not users.rows:
            return []
        size = len(self._statics)
        later = None if users.staying else np.ones(size, dtype=np.bool_)
        elsewhere = np.ones(size, dtype=np.bool_)
        elsewhere[[row for row in users.rows if row >= 0]] = False
        found = [Check(VOLUME_IN_USE, elsewhere, resolvable=True, code=Code.VOLUMES, later=later)]
        if elsewhere.any():
            found.insert(0, Check(VOLUME_IN_USE, ~elsewhere, code=Code.VOLUMES, later=later))
        return found

    def come(self, claim: str, row: int) -> None:
        """A pod that this session places uses the claim."""
        users = self._of(claim)
        users.rows.append(row)
        users.staying += 1

    def go(self, claim: str, row: int) -> None:
        """That placement is undone."""
        users = self._of(claim)
        users.rows.remove(row)
        users.staying -= 1

    def shift(self, claim: str, by: int) -> None:
        """A user is evicted (-1), or its eviction is undone (1)."""
        if claim in self._users:
            self._users[claim].staying += by

    def _of(self, claim: str) -> OncePodUsers:
        users = self._users.get(claim)
        if users is None:
            users = self._users[claim] = OncePodUsers()
            for uid, task in self._catalogue.get(claim, {}).items():
                users.rows.append(self._statics.row.get(task.node, -1))
                users.staying += not HOLDS[task.status].releasing and uid not in self._evicted
        return users
