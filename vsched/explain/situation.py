"""A situation: a snapshot and a policy, the two inputs of a cycle, with edits applied to either.

Situations are immutable: ``apply`` returns a new one. All situations made from one snapshot share one cluster editor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from vsched.explain.edits.base import ClusterEdit, Edit, PolicyEdit
from vsched.explain.edits.namespaces import SetQuota
from vsched.explain.edits.pods import AddPods
from vsched.explain.records import Change
from vsched.framework.policy import Policy
from vsched.mirror.whatif.editor import ClusterChange, ClusterEditor
from vsched.model.snapshot import Snapshot


class Situation:
    """A snapshot and a policy, with edits; situations derived from one another share one cluster editor."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        edits: tuple[ClusterChange, ...] = (),
        cluster: ClusterEditor | None = None,
    ) -> None:
        self._origin = snapshot
        self._edits = edits
        self._cluster = cluster
        self.policy = policy

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot with the edits applied; valid until a caller reads that of another edited situation."""
        return self.cluster.edited(self._edits) if self._edits else self._origin

    @property
    def cluster(self) -> ClusterEditor:
        """The cluster editor that this and all derived situations share; made on first use."""
        if self._cluster is None:
            self._cluster = ClusterEditor(self._origin)
        return self._cluster

    def leave(self) -> None:
        """Let go of the cluster editor, also for all derived situations."""
        if self._cluster is not None:
            self._cluster.let_go()

    def with_edit(self, edit: ClusterChange) -> Situation:
        """The situation with one more edit of the cluster; raises BadInput if the edited object does not exist."""
        edits = (*self._edits, edit)
        self.cluster.edited(edits)
        return Situation(self._origin, self.policy, edits, self.cluster)

    def with_policy(self, policy: Policy) -> Situation:
        """The situation with another policy."""
        return Situation(self._origin, policy, self._edits, self._cluster)


def apply(situation: Situation, edit: Edit) -> Situation:
    """The situation with one edit applied; raises BadInput if the edited object does not exist."""
    if isinstance(edit, PolicyEdit):
        return situation.with_policy(edit.changed(situation.policy))
    assert isinstance(edit, ClusterEdit)
    return situation.with_edit(edit)


def apply_all(situation: Situation, edits: Iterable[Edit]) -> Situation:
    """The situation with several edits applied, one after the other."""
    return reduce(apply, edits, situation)


def change_of(situation: Situation, made: Sequence[Edit]) -> Change:
    """The edits as one change, in this order: a later edit may need an object that an earlier one creates."""
    sentences, commands = [], []
    refused = any(isinstance(edit, SetQuota) for edit in made)
    for edit in made:
        if not (refused and isinstance(edit, AddPods) and _is_made_by_controller(situation.snapshot, edit)):
            sentences.append(edit.sentence(situation))
            commands.append(edit.command(situation.snapshot))
        situation = apply(situation, edit)
    return Change(" and ".join(sentences), tuple(made), "\n".join(commands) if all(commands) else "")


def _is_made_by_controller(snapshot: Snapshot, edit: AddPods) -> bool:
    """Whether a controller makes the pods by itself, once nothing refuses them any more."""
    tasks = snapshot.jobs[edit.job].tasks.values()
    return any(one.name == edit.like and one.owned for one in tasks)
