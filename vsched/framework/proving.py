"""Compares a report with that of a cycle without a memo, and names the plugins that may have made a difference."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.words import engine as words
from vsched.model.dump.cycle import report_bytes
from vsched.model.memo import Unequal
from vsched.model.plan import CycleReport

PROMISES = ("timeless", "by_job_alone", "by_nodes_alone", "by_request_alone", "votes_by_kind")
"""What plugins may promise so that their answers are carried over or shared."""


def prove(report: CycleReport, fresh: CycleReport, policy: Policy, registry: Registry) -> None:
    """Raises Unequal where the reports differ; ``fresh`` was made without a memo."""
    if report_bytes(msgspec.structs.replace(report, spans=())) == report_bytes(fresh):
        return
    raise Unequal(words.keeps_too_much([*_promising_plugins(policy, registry)]))


def _promising_plugins(policy: Policy, registry: Registry) -> Iterator[str]:
    """Plugins of others that promise something, and their promises."""
    for conf in policy.plugins():
        plugin = registry.plugins[conf.name]
        made = [name for name in PROMISES if getattr(plugin, name, False)]
        if made and not plugin.__module__.startswith("vsched."):
            yield f"{conf.name} ({', '.join(made)})"
