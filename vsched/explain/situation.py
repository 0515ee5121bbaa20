"""A situation: a snapshot and a policy, the two inputs of a cycle, with edits applied to either.

Situations are immutable: ``apply`` returns a new one. All situations made from one snapshot share one cluster editor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, reduce
from typing import Any

import msgspec

from vsched.errors import BadInput
from vsched.framework.points.levers import argument_of
from vsched.framework.policy import PluginConf, Policy
from vsched.mirror.whatif import words
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.mirror.whatif.edits import (
    ClusterEdit,
    Edit,
    PolicyEdit,
    SetArgument,
    SetOvercommit,
    SetThreshold,
    UseAction,
)
from vsched.model.snapshot import Snapshot

FIRST_ACTIONS = ("enqueue", "allocate", "backfill")
"""Actions that keep their place before a new action; a new one goes before ``backfill``."""


class Situation:
    """A snapshot and a policy, with edits; situations derived from one another share one cluster editor."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        edits: tuple[ClusterEdit, ...] = (),
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

    def with_edit(self, edit: ClusterEdit) -> Situation:
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
        return situation.with_policy(_edit_policy(situation.policy, edit))
    return situation.with_edit(edit)


def apply_all(situation: Situation, edits: Iterable[Edit]) -> Situation:
    """The situation with several edits applied, one after the other."""
    return reduce(apply, edits, situation)


def _edit_policy(policy: Policy, edit: PolicyEdit) -> Policy:
    if isinstance(edit, UseAction):
        if edit.action in policy.actions:
            return policy
        # Actions that evict belong before backfill; the next session allocates what they free.
        first = [action for action in policy.actions if action in FIRST_ACTIONS[:2]]
        others = [action for action in policy.actions if action not in first]
        return msgspec.structs.replace(policy, actions=(*first, edit.action, *others))
    return _with_args(policy, edit.plugin, partial(_changed, edit))


def _changed(edit: SetThreshold | SetOvercommit | SetArgument, args: Any) -> dict[str, Any]:
    match edit:
        case SetThreshold():
            return {"thresholds": {**args.thresholds, edit.name: edit.percent}}
        case SetOvercommit():
            return {"factor": edit.factor}
        case SetArgument():
            argument = argument_of(args, edit.key)
            if argument is None:
                raise BadInput(words.no_argument(edit.plugin, edit.key))
            value = int(edit.value) if edit.value == int(edit.value) else edit.value
            return {argument.name: msgspec.convert(value, argument.type)}


def _with_args(policy: Policy, plugin: str, change: Callable[[Any], dict[str, Any]]) -> Policy:
    """The policy with some arguments of a plugin changed; raises BadInput if the policy does not use the plugin."""
    if policy.plugin(plugin) is None:
        raise BadInput(words.plugin_not_used(plugin))
    with_ = msgspec.structs.replace

    def changed(conf: PluginConf) -> PluginConf:
        return with_(conf, args=with_(conf.args, **change(conf.args))) if conf.name == plugin else conf

    tiers = tuple(with_(tier, plugins=tuple(changed(conf) for conf in tier.plugins)) for tier in policy.tiers)
    return with_(policy, tiers=tiers)
