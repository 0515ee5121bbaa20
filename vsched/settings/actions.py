"""The ``actions`` of a policy file, and the ``configurations`` that tell each what to do differently."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from vsched.framework.points.extension import Point, QueueScore
from vsched.framework.policy import NamingPlugins, NeedsPlugins, Policy
from vsched.framework.registry import Registry
from vsched.settings.names import ACTIONS_IN_THE_FIELD, PLUGINS_IN_THE_FIELD, point_label
from vsched.settings.reading.arguments import read_arguments
from vsched.settings.reading.problems import Problems, did_you_mean
from vsched.settings.reading.tree import Keyed, Listed, MappingEntry, Node, Scalar, got, is_null
from vsched.settings.reading.values import read_fields
from vsched.settings.words import policy as words


def read_actions(policy: Keyed, registry: Registry, problems: Problems) -> tuple[str, ...]:
    """The names in order; what cannot be used is left out and among the problems."""
    entry = policy.get("actions")
    if entry is None:
        problems.add(policy.line, "actions", f"missing; expected {words.ACTIONS_EXPECTED}")
        return ()
    node = entry.value
    if not isinstance(node, Scalar) or node.is_null or not node.text.strip():
        found = words.EMPTY_TEXT if isinstance(node, Scalar) and not node.is_null else got(node)
        problems.add(entry.line, "actions", f"expected {words.ACTIONS_EXPECTED}, got {found}")
        return ()
    names = [name.strip() for name in node.text.split(",")]
    for at, name in enumerate(names):
        if not name:
            problems.add(entry.line, f"actions[{at}]", words.NAME_MISSING_BETWEEN_COMMAS)
        elif name not in registry.actions:
            problems.add(entry.line, f"actions[{at}]", _absent(name, registry))
    return tuple(name for name in names if name in registry.actions)


def check_victims(policy: Policy, root: Keyed, registry: Registry, problems: Problems) -> None:
    """Report actions that can evict nobody, because no plugin of the policy names victims for them."""
    entry = root.get("actions")
    for at, name in enumerate(policy.actions if entry is not None and not problems else ()):
        point = registry.actions[name].victims
        if entry is not None and point is not None and not _has_part(point, policy, registry):
            problems.idle(entry.line, f"actions[{at}]", words.nobody_evicted(name, point_label(point.point)))


def _has_part(point: type[Point], policy: Policy, registry: Registry) -> bool:
    return any(
        issubclass(registry.plugins[conf.name], point) and conf.switches.enabled(point.point)
        for conf in policy.plugins()
    )


def read_configurations(
    entry: MappingEntry | None, policy: Policy, registry: Registry, problems: Problems
) -> Mapping[str, msgspec.Struct]:
    """The arguments of every action there is, defaults where the file says nothing; ``policy`` is still without."""
    args: dict[str, msgspec.Struct] = {}
    lines: dict[str, int] = {}
    for at, node in enumerate(_sections(entry, problems)):
        path = f"configurations[{at}]"
        name = _name(node, path, problems)
        if name is None or not isinstance(node, Keyed):
            continue
        if name.text not in registry.actions:
            _report_absent(name, path, registry, problems)
        elif name.text in lines:
            text = words.action_twice(name.text, lines[name.text])
            problems.add(name.line, f"{path}.name", text)
        else:
            lines[name.text] = name.line
            args_type = registry.actions[name.text].args_type
            given = node.get("arguments") or MappingEntry("arguments", node.line, Keyed((), node.line))
            found = read_arguments(given.value, args_type, f"{path}.arguments", given.line, problems)
            if found is not None:
                args[name.text] = found
                _check_plugins(found, given.value, f"{path}.arguments", policy, registry, problems)
            if name.text not in policy.actions:
                problems.idle(name.line, f"{path}.name", words.not_among_actions(name.text))
    for action in registry.actions.values():
        if action.name not in args:
            default = read_arguments(None, action.args_type, f"configurations.{action.name}", 1, problems)
            if default is not None:
                args[action.name] = default
    return {name: args[name] for name in registry.actions if name in args}


def _sections(entry: MappingEntry | None, problems: Problems) -> tuple[Node, ...]:
    if entry is None or is_null(entry.value):
        return ()
    if isinstance(entry.value, Listed):
        return entry.value.items
    problems.add(entry.line, "configurations", words.configurations_expected(got(entry.value)))
    return ()


def _name(node: Node, path: str, problems: Problems) -> Scalar | None:
    if not isinstance(node, Keyed):
        problems.add(node.line, path, words.action_expected(got(node)))
        return None
    for entry in node.entries:
        if entry.key not in ("name", "arguments"):
            hint = did_you_mean(entry.key, ("name", "arguments"))
            problems.add(entry.line, f"{path}.{entry.key}", f"unknown key{hint}")
    entry_of_name = node.get("name")
    if entry_of_name and isinstance(entry_of_name.value, Scalar) and not entry_of_name.value.is_null:
        return entry_of_name.value
    line = entry_of_name.line if entry_of_name else node.line
    problems.add(line, f"{path}.name", words.ACTION_NAME_MISSING)
    return None


def _check_plugins(
    args: msgspec.Struct, node: Node, path: str, policy: Policy, registry: Registry, problems: Problems
) -> None:
    """Report unknown plugins named in the arguments; a known plugin that the policy does not use is no mistake."""
    if not isinstance(args, NamingPlugins | NeedsPlugins) or not isinstance(node, Keyed):
        return
    known = PLUGINS_IN_THE_FIELD | set(registry.plugins)
    lines = read_fields(node, type(args), path, Problems(problems.where)).lines
    for key, plugin in args.needed_plugins().items() if isinstance(args, NeedsPlugins) else ():
        if policy.plugin(plugin) is None:
            problems.idle(lines[key], f"{path}.{key}", words.without_plugin(plugin))
    if not isinstance(args, NamingPlugins):
        return
    for key, plugin in args.named_plugins().items():
        if plugin not in known:
            problems.add(lines[key], f"{path}.{key}", words.unknown_plugin(plugin, did_you_mean(plugin, known)))
        elif not _gives_scores(plugin, policy, registry):
            problems.idle(lines[key], f"{path}.{key}", words.no_score(plugin))


def _gives_scores(name: str, policy: Policy, registry: Registry) -> bool:
    conf = policy.plugin(name)
    return conf is not None and issubclass(registry.plugins[name], QueueScore) and conf.switches.queue_score_order


def _report_absent(name: Scalar, path: str, registry: Registry, problems: Problems) -> None:
    if name.text in ACTIONS_IN_THE_FIELD:
        problems.warn(name.line, f"{path}.name", words.arguments_not_read(_absent(name.text, registry)))
    else:
        problems.add(name.line, f"{path}.name", _absent(name.text, registry))


def _absent(name: str, registry: Registry) -> str:
    if name in ACTIONS_IN_THE_FIELD:
        return words.action_not_yet(name)
    return words.unknown_action(name, did_you_mean(name, ACTIONS_IN_THE_FIELD | set(registry.actions)))
