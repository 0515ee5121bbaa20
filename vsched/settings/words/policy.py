"""What is said of a policy: its actions, its tiers with their plugins, and what a new one changes."""

from __future__ import annotations

from collections.abc import Sequence

# -- the file ----------------------------------------------------------------------------------------------------------


def cannot_be_read(where: str, why: object) -> str:
    return f"{where}: cannot be read: {why}"


def too_large(where: str, kib: int) -> str:
    return f"{where}: too large for a policy: more than {kib} KiB"


def mapping_expected(got: str) -> str:
    return f"expected a mapping with actions and tiers at the top, got {got}"


def another_kind(kind: str) -> str:
    return f"a Kubernetes {kind}; expected a policy, or a ConfigMap with one"


def key_expected(key: str, got: str) -> str:
    return f"expected the key {key} in this ConfigMap, got {got}"


def one_key_expected(got: str) -> str:
    return f"expected exactly one key with a policy in this ConfigMap, got {got}"


def these(keys: str) -> str:
    return f"these: {keys}"


# -- actions -----------------------------------------------------------------------------------------------------------

ACTIONS_EXPECTED = 'a comma separated text such as "enqueue, allocate, backfill"'
EMPTY_TEXT = "an empty text"
NAME_MISSING_BETWEEN_COMMAS = "a name is missing between the commas"


def action_twice(name: str, line: int) -> str:
    return f"action {name!r} is there twice (first on line {line})"


def not_among_actions(name: str) -> str:
    return f"{name} is not among the actions"


def configurations_expected(got: str) -> str:
    return f"expected a list of actions with arguments, got {got}"


def action_expected(got: str) -> str:
    return f"expected a mapping with the name of an action, got {got}"


ACTION_NAME_MISSING = "missing; expected the name of an action"


def unknown_plugin(name: str, meant: str) -> str:
    return f"unknown plugin {name!r}{meant}"


def no_score(plugin: str) -> str:
    return f"{plugin} gives queues no score in this policy"


def without_plugin(plugin: str) -> str:
    return f"the policy has no plugin {plugin}"


def arguments_not_read(why: str) -> str:
    return f"{why}; its arguments are not read"


def action_not_yet(name: str) -> str:
    return f"action {name!r} does not exist in vsched yet"


def unknown_action(name: str, meant: str) -> str:
    return f"unknown action {name!r}{meant}"


# -- tiers and their plugins -------------------------------------------------------------------------------------------

TIERS_MISSING = "missing; expected a list of tiers with plugins"
EMPTY_LIST = "an empty list"


def tiers_expected(got: str) -> str:
    return f"expected a list of tiers with plugins, got {got}"


def tier_expected(got: str) -> str:
    return f"expected a mapping with plugins, got {got}"


PLUGINS_EXPECTED = "expected a list of at least one plugin"


def plugin_expected(got: str) -> str:
    return f"expected a mapping with the name of a plugin, got {got}"


PLUGIN_NAME_MISSING = "missing; expected the name of a plugin"


def plugin_not_yet(name: str) -> str:
    return f"plugin {name!r} does not exist in vsched yet"


def no_hierarchy(plugin: str) -> str:
    return f"{plugin} knows no hierarchy"


def nobody_evicted(action: str, point: str) -> str:
    """No plugin of the policy names victims for an action."""
    return f"{action} evicts nobody where no plugin takes part in {point}"


def no_part_in(plugin: str, point: str) -> str:
    return f"{plugin} has no part in {point}"


def switch_twice(line: int) -> str:
    return f"the same switch twice (first on line {line})"


def flag_expected(got: str) -> str:
    return f"expected true or false, got {got}"


def plugin_twice(name: str, line: int) -> str:
    return f"plugin {name!r} is there twice (first on line {line})"


PROPORTION_AND_CAPACITY = "proportion and capacity both divide the cluster among queues; use one of them"
DRF_AND_PROPORTION = (
    "drf with enableHierarchy and proportion in one tier contradict each other; use one, or separate tiers"
)

# -- what a new policy changes -----------------------------------------------------------------------------------------

LAYOUT_ONLY = "layout or comments only"


def added(plugin: str, tier: int) -> str:
    return f"{plugin} added to tier {tier}"


def moved(plugin: str, was: int, tier: int) -> str:
    return f"{plugin} moved from tier {was} to {tier}"


def order_in_tier(tier: int, plugins: str) -> str:
    return f"order in tier {tier} is {plugins}"


NOT_ACTED_ON = "this policy does not act on (plugins that would):"
"""A heading: what objects may state follows, and has no effect."""


def not_acted_on(kind: str, field: str, actors: Sequence[str]) -> str:
    """A field of objects of this kind, and the plugins of which one would act on it."""
    return f"{kind} {field} ({' or '.join(actors)})"
