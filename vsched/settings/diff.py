"""What changed between two settings, in one line: what the log says when a new file comes into force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from vsched.framework.policy import PluginConf
from vsched.model.amounts.durations import format_duration
from vsched.settings.document import plain_text, shown_arguments
from vsched.settings.names import switch_key
from vsched.settings.reading.arguments import flat_arguments, secret_arguments
from vsched.settings.settings import Settings
from vsched.settings.words import policy as words

MOST_NAMED = 8
"""Changes that are named; the rest are counted."""


def changes(old: Settings, new: Settings) -> str:
    """One line; says so where the files differ in layout and comments only."""
    if old.sha256 == new.sha256:
        return "no change"
    found = list(_changes(old, new))
    if not found:
        return words.LAYOUT_ONLY
    rest = len(found) - MOST_NAMED
    return "; ".join(found[:MOST_NAMED] + ([f"and {rest} more"] if rest > 0 else []))


def _changes(old: Settings, new: Settings) -> Iterator[str]:
    if old.policy.actions != new.policy.actions:
        yield f"actions {', '.join(old.policy.actions)} -> {', '.join(new.policy.actions)}"
    yield from _placements(old, new)
    before = {conf.name: conf for conf in old.policy.plugins()}
    for conf in new.policy.plugins():
        if conf.name in before:
            yield from _plugin(before[conf.name], conf)
    for name in sorted(old.policy.action_args.keys() & new.policy.action_args.keys()):
        yield from _arguments(name, old.policy.action_args[name], new.policy.action_args[name])
    yield from _arguments("autoscaling", old.policy.autoscaling, new.policy.autoscaling)
    if old.period_seconds != new.period_seconds:
        yield f"schedulePeriod {_period(old)} -> {_period(new)}"
    match old.metrics, new.metrics:
        case None, None:
            return
        case None, _:
            yield "metrics added"
        case _, None:
            yield "metrics removed"
        case was, now:
            yield from _arguments("metrics", was, now)


def _placements(old: Settings, new: Settings) -> Iterator[str]:
    was, now = _places(old), _places(new)
    yield from (f"{name} removed" for name in was if name not in now)
    for name, (tier, _) in now.items():
        if name not in was:
            yield words.added(name, tier)
        elif was[name][0] != tier:
            yield words.moved(name, was[name][0], tier)
    for tier in sorted({tier for tier, _ in now.values()}):
        stayed = {name for name, (at, _) in now.items() if at == tier and was.get(name, (0, 0))[0] == tier}
        if sorted(stayed, key=was.__getitem__) != sorted(stayed, key=now.__getitem__):
            yield words.order_in_tier(tier, ", ".join(sorted(stayed, key=now.__getitem__)))


def _places(settings: Settings) -> dict[str, tuple[int, int]]:
    """Tier, counted from one, and place in it, by plugin."""
    return {
        conf.name: (number, place)
        for number, tier in enumerate(settings.policy.tiers, start=1)
        for place, conf in enumerate(tier.plugins)
    }


def _plugin(old: PluginConf, new: PluginConf) -> Iterator[str]:
    was, now = msgspec.structs.asdict(old.switches), msgspec.structs.asdict(new.switches)
    for switch in was:
        if was[switch] != now[switch]:
            yield f"{new.name} {switch_key(switch)} {plain_text(was[switch])} -> {plain_text(now[switch])}"
    yield from _arguments(new.name, old.args, new.args)


def _arguments(name: str, old: msgspec.Struct, new: msgspec.Struct) -> Iterator[str]:
    if old == new:
        return
    was, now = flat_arguments(old), flat_arguments(new)
    shown_was, shown_now = shown_arguments(old, show_secrets=False), shown_arguments(new, show_secrets=False)
    secret = secret_arguments(old) | secret_arguments(new)
    for key in dict.fromkeys((*was, *now)):
        if was.get(key) != now.get(key) or (key in was) != (key in now):
            hidden = key in secret or shown_was.get(key) == shown_now.get(key)
            yield f"{name} {key} changed" if hidden else f"{name} {key} {_of(shown_was, key)} -> {_of(shown_now, key)}"


def _period(settings: Settings) -> str:
    return "unset" if settings.period_seconds is None else format_duration(settings.period_seconds)


def _of(values: Mapping[str, Any], key: str) -> str:
    return plain_text(values[key]) if key in values else "unset"
