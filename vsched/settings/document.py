"""A policy back into the words of its file: every switch that differs and every argument, flat."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import yaml

from vsched.framework.policy import NO_AUTOSCALING, PluginConf, Policy
from vsched.model.amounts.durations import format_duration
from vsched.settings.metrics import MetricsSource
from vsched.settings.names import switches_off_default
from vsched.settings.reading.arguments import flat_arguments, secret_arguments

MASK = "***"
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def policy_document(
    policy: Policy, metrics: MetricsSource | None, period_seconds: float | None = None, *, show_secrets: bool
) -> dict[str, Any]:
    """The policy as the file would say it with nothing left to defaults."""
    document: dict[str, Any] = {
        "actions": ", ".join(policy.actions),
        "tiers": [{"plugins": [_plugin(conf, show_secrets) for conf in tier.plugins]} for tier in policy.tiers],
    }
    configurations = [
        {"name": name, "arguments": arguments}
        for name, args in policy.action_args.items()
        if (arguments := shown_arguments(args, show_secrets=show_secrets))
    ]
    if configurations:
        document["configurations"] = configurations
    if policy.autoscaling != NO_AUTOSCALING:
        document["autoscaling"] = shown_arguments(policy.autoscaling, show_secrets=False)
    if metrics is not None:
        document["metrics"] = shown_arguments(metrics, show_secrets=show_secrets)
    if period_seconds is not None:
        document["schedulePeriod"] = format_duration(period_seconds)
    return document


def policy_text(policy: Policy, metrics: MetricsSource | None = None, period_seconds: float | None = None) -> str:
    """The file that loads as this policy, secrets included."""
    document = policy_document(policy, metrics, period_seconds, show_secrets=True)
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def shown_arguments(args: msgspec.Struct, *, show_secrets: bool) -> dict[str, Any]:
    """Every argument by its flat key; secrets, and credentials inside addresses, only where they may be seen."""
    values = flat_arguments(args)
    if show_secrets:
        return values
    secret = secret_arguments(args)
    return {key: MASK if key in secret and value else _without_credentials(value) for key, value in values.items()}


def plain_text(value: Any) -> str:
    """A value in a line for people, as the file would say it."""
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value


def _without_credentials(value: Any) -> Any:
    match value:
        case str():
            return _CREDENTIALS.sub(MASK, value)
        case list():
            return [_without_credentials(item) for item in value]
        case dict():
            return {key: _without_credentials(item) for key, item in value.items()}
        case _:
            return value


def _plugin(conf: PluginConf, show_secrets: bool) -> dict[str, Any]:
    arguments = shown_arguments(conf.args, show_secrets=show_secrets)
    switches = switches_off_default(conf.switches)
    return {"name": conf.name, **switches, **({"arguments": arguments} if arguments else {})}
