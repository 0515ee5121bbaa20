"""Edits of the policy."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec.structs import replace

from vsched.errors import BadInput
from vsched.explain.edits.base import Before, PolicyEdit
from vsched.explain.words import edits as words
from vsched.framework.points.levers import argument_of
from vsched.framework.policy import PluginConf, Policy
from vsched.mirror.whatif import words as refusals

FIRST_ACTIONS = ("enqueue", "allocate", "backfill")
"""Actions that keep their place before a new action; a new one goes before ``backfill``."""


def with_args(policy: Policy, plugin: str, **args: object) -> Policy:
    """The policy with some arguments of a plugin changed."""

    def changed(conf: PluginConf) -> PluginConf:
        return replace(conf, args=replace(conf.args, **args)) if conf.name == plugin else conf

    tiers = tuple(replace(tier, plugins=tuple(changed(conf) for conf in tier.plugins)) for tier in policy.tiers)
    return replace(policy, tiers=tiers)


def args_of(policy: Policy, plugin: str) -> Any:
    """The arguments of a plugin; raises BadInput if the policy does not use it."""
    conf = policy.plugin(plugin)
    if conf is None:
        raise BadInput(refusals.plugin_not_used(plugin))
    return conf.args


class SetThreshold(PolicyEdit, frozen=True, tag="threshold"):
    """Set a usage threshold of plugin ``usage``; nodes above it take no new pods."""

    name: str
    """As the policy names it: ``cpu``, ``MEMUsageAvg.5m``."""
    percent: float
    plugin: ClassVar[str] = "usage"

    def changed(self, policy: Policy) -> Policy:
        thresholds = args_of(policy, self.plugin).thresholds
        return with_args(policy, self.plugin, thresholds={**thresholds, self.name: self.percent})

    def sentence(self, before: Before) -> str:
        return words.usage_threshold(self.name, self.percent)


class SetOvercommit(PolicyEdit, frozen=True, tag="overcommit"):
    """Set the overcommit factor: how much of the cluster's resources jobs may ask for and still be admitted."""

    factor: float
    plugin: ClassVar[str] = "overcommit"

    def changed(self, policy: Policy) -> Policy:
        args_of(policy, self.plugin)
        return with_args(policy, self.plugin, factor=self.factor)

    def sentence(self, before: Before) -> str:
        return words.overcommit_factor(self.factor)


class SetArgument(PolicyEdit, frozen=True, tag="argument"):
    """Set an argument of a plugin."""

    plugin: str
    key: str
    """As the policy names it."""
    value: float

    def changed(self, policy: Policy) -> Policy:
        args = args_of(policy, self.plugin)
        argument = argument_of(args, self.key)
        if argument is None:
            raise BadInput(refusals.no_argument(self.plugin, self.key))
        value = int(self.value) if self.value == int(self.value) else self.value
        return with_args(policy, self.plugin, **argument.replaced(args, value))

    def sentence(self, before: Before) -> str:
        """The value in the notation of a policy file; durations have the unit ``s``."""
        conf = before.policy.plugin(self.plugin)
        argument = None if conf is None else argument_of(conf.args, self.key)
        unit = "s" if argument is not None and argument.is_duration else ""
        return words.argument(self.key, f"{self.value:.10g}{unit}", self.plugin)


class UseAction(PolicyEdit, frozen=True, tag="action"):
    """Add an action to the policy."""

    action: str

    def changed(self, policy: Policy) -> Policy:
        if self.action in policy.actions:
            return policy
        # Actions that evict belong before backfill; the next session allocates what they free.
        first = [action for action in policy.actions if action in FIRST_ACTIONS[:2]]
        others = [action for action in policy.actions if action not in first]
        return replace(policy, actions=(*first, self.action, *others))

    def sentence(self, before: Before) -> str:
        return words.action(self.action)
