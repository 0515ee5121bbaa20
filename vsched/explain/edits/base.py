"""What all edits are: frozen records of a change of a cluster or of a policy.

An amount is the new total in base units, not the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Protocol, TypeVar

import msgspec

from vsched.explain.words.lines import is_plain
from vsched.framework.policy import Policy
from vsched.mirror.whatif.records import EditableMirror
from vsched.model.snapshot import Snapshot

E = TypeVar("E", bound="Edit")


class Before(Protocol):
    """What an edit is about: the cluster and the policy before it."""

    @property
    def snapshot(self) -> Snapshot:
        """The cluster."""

    @property
    def policy(self) -> Policy:
        """The policy."""


class Edit(msgspec.Struct, frozen=True, tag_field="edit"):
    """A change that a search may find to let a job start."""

    own: ClassVar[bool] = False
    """Whether it is of the waiting job itself."""
    once: ClassVar[bool] = False
    """Whether a job has one value of it, so that a later edit overrides an earlier one."""

    def sentence(self, before: Before) -> str:
        """A noun phrase, with the amounts that the edit adds or removes; a page puts "would start with" before it."""
        raise NotImplementedError

    def command(self, snapshot: Snapshot) -> str:
        """The commands that make the edit, one on each line; empty if commands cannot make it.

        A command changes only the field that the edit is about. Amounts are entries of maps, so a merge patch is
        enough. For a list, a JSON patch tests first that the list is still the one in the snapshot. All words are
        quoted for the shell. There is no command for names that Kubernetes would not accept.
        """
        return "\n".join(self.lines(snapshot)) if is_plain(msgspec.structs.astuple(self)) else ""

    def lines(self, snapshot: Snapshot) -> list[str]:
        """The lines of ``command``, where all names are plain."""
        return []

    def smaller(self: E) -> Iterator[E]:
        """The edit with one part less, for each part that it may go without."""
        yield from ()

    def is_named_by(self, other: Edit) -> bool:
        """Whether another edit could not be carried out without this one."""
        return False

    @property
    def nodes_named(self) -> tuple[str, ...]:
        """The nodes that have to exist already."""
        return ()


class ClusterEdit(Edit, frozen=True):
    """A change of the cluster."""

    def apply(self, cluster: EditableMirror) -> None:
        """Make the change; raises BadInput if its object does not exist."""
        raise NotImplementedError


class JobEdit(ClusterEdit, frozen=True):
    """A change of a job: of the waiting one, unless it says otherwise."""

    job: str
    own: ClassVar[bool] = True


class PolicyEdit(Edit, frozen=True):
    """A change of the policy."""

    def changed(self, policy: Policy) -> Policy:
        """The policy with the change; raises BadInput if it does not use what is changed."""
        raise NotImplementedError


def without(amounts: dict[str, int], name: str) -> dict[str, int]:
    """The amounts but for one."""
    return {each: amount for each, amount in amounts.items() if each != name}
