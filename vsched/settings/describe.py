"""What a policy comes to, for people: which plugin decides what, in which order. Plain data and plain lines.

``enableX: false`` on a point that a plugin has never taken part in changes nothing, so it is not shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from vsched.framework.policy import PluginConf
from vsched.framework.registry import Registry, points_of
from vsched.framework.unserved import kind_of, unserved
from vsched.model.amounts.durations import format_duration
from vsched.settings.document import plain_text, shown_arguments
from vsched.settings.names import point_label
from vsched.settings.settings import Settings
from vsched.settings.words import policy as words


def describe(settings: Settings, registry: Registry) -> dict[str, Any]:
    """The policy as data: tiers, the extension points of each plugin, and every argument in force."""
    return {
        "source": settings.source,
        "sha256": settings.sha256,
        "actions": list(settings.policy.actions),
        "tiers": [{"plugins": [_plugin(conf, registry) for conf in tier.plugins]} for tier in settings.policy.tiers],
        "configurations": {
            name: shown_arguments(args, show_secrets=False) for name, args in settings.policy.action_args.items()
        },
        "metrics": None if settings.metrics is None else shown_arguments(settings.metrics, show_secrets=False),
        "autoscaling": shown_arguments(settings.policy.autoscaling, show_secrets=False),
        "schedulePeriod": None if settings.period_seconds is None else format_duration(settings.period_seconds),
        "warnings": list(settings.warnings),
        "noEffect": list(settings.no_effect),
        "notActedOn": {
            f"{kind_of(term)} {term.value}": list(actors)
            for term, actors in unserved(settings.policy, registry).items()
        },
    }


def describe_lines(settings: Settings, registry: Registry) -> list[str]:
    """The same as lines: points that are switched off are marked, arguments are shown where they differ."""
    policy = settings.policy
    lines = [f"actions: {', '.join(policy.actions)}"]
    for name, args in policy.action_args.items():
        lines += [f"  {name}: {argument}" for argument in _unusual(args)]
    width = max((len(conf.name) for conf in policy.plugins()), default=0)
    for number, tier in enumerate(policy.tiers, start=1):
        lines.append(f"tier {number}:")
        for conf in tier.plugins:
            lines.append(f"  {conf.name:<{width}}  {_part(conf, registry)}".rstrip())
            lines += [f"  {'':<{width}}  {argument}" for argument in _unusual(conf.args)]
    if settings.period_seconds is not None:
        lines.append(f"schedulePeriod: {format_duration(settings.period_seconds)}")
    if unusual := [*_unusual(settings.policy.autoscaling)]:
        lines += ["autoscaling:", *(f"  {argument}" for argument in unusual)]
    if settings.metrics is not None:
        lines += ["metrics:", *(f"  {argument}" for argument in _unusual(settings.metrics))]
    if missing := unserved(policy, registry):
        lines.append(words.NOT_ACTED_ON)
        lines += [f"  {words.not_acted_on(kind_of(term), term.value, actors)}" for term, actors in missing.items()]
    return lines


def _plugin(conf: PluginConf, registry: Registry) -> dict[str, Any]:
    return {
        "name": conf.name,
        "points": _points(conf, registry),
        "hierarchy": conf.switches.hierarchy,
        "arguments": shown_arguments(conf.args, show_secrets=False),
    }


def _points(conf: PluginConf, registry: Registry) -> dict[str, bool]:
    """The extension points of a plugin as Volcano names their switches, and whether each is on."""
    points = points_of(registry.plugins[conf.name])
    return {
        point_label(point.point) if point.point else point.__name__: conf.switches.enabled(point.point)
        for point in points
    }


def _part(conf: PluginConf, registry: Registry) -> str:
    points = [label if enabled else f"{label}(off)" for label, enabled in _points(conf, registry).items()]
    return " ".join([*points, *(["hierarchy(on)"] if conf.switches.hierarchy else [])])


def _unusual(args: msgspec.Struct) -> Iterator[str]:
    """The arguments that are not what they would be by default."""
    usual = {} if _has_required(args) else shown_arguments(type(args)(), show_secrets=False)
    for key, value in shown_arguments(args, show_secrets=False).items():
        if key not in usual or usual[key] != value:
            yield f"{key}: {plain_text(value)}"


def _has_required(args: msgspec.Struct) -> bool:
    return any(field.required for field in msgspec.structs.fields(args))
