"""The words of Volcano's policy file: its keys, its switches, and the plugins and actions people write there."""

from __future__ import annotations

from types import MappingProxyType

import msgspec

from vsched.framework.policy import Switches

PLUGINS_IN_THE_FIELD = frozenset(
    {
        "binpack",
        "capacity",
        "cdp",
        "conformance",
        "deviceshare",
        "drf",
        "extender",
        "gang",
        "network-topology-aware",
        "nodegroup",
        "nodeorder",
        "numa-aware",
        "overcommit",
        "pdb",
        "predicates",
        "priority",
        "proportion",
        "rescheduling",
        "resourcequota",
        "resource-strategy-fit",
        "sla",
        "task-topology",
        "tdm",
        "usage",
    }
)
ACTIONS_IN_THE_FIELD = frozenset(
    {
        "enqueue",
        "allocate",
        "backfill",
        "preempt",
        "reclaim",
        "gangpreempt",
        "gangreclaim",
        "shuffle",
    }
)

_SPELLED_ENABLED = frozenset(
    {
        "sub_job_order",
        "sub_job_ready",
        "sub_job_pipelined",
        "victim",
        "overused",
        "allocatable",
        "hyper_node_order",
        "hyper_node_gradient",
        "cluster_order",
    }
)
"""Switches that Volcano spells ``enabledX`` where the others are ``enableX``; both are read for all of them."""


def point_label(point: str) -> str:
    """An extension point as the field writes it: ``job_order`` is JobOrder."""
    return "".join(word.capitalize() for word in point.split("_"))


def switch_key(switch: str) -> str:
    """The key of a switch as Volcano spells it."""
    return ("enabled" if switch in _SPELLED_ENABLED else "enable") + point_label(switch)


SWITCH_BY_KEY = MappingProxyType(
    {switch_key(switch): switch for switch in Switches.__struct_fields__}
    | {
        f"{enable}{point_label(switch)}": switch
        for switch in Switches.__struct_fields__
        for enable in ("enable", "enabled")
    }
)
"""Every spelling of every switch; Volcano's own first, so that it is the one suggested."""


def switches_off_default(switches: Switches) -> dict[str, bool]:
    """The switches that differ from what holds without them, by Volcano's key."""
    defaults = Switches()
    return {
        switch_key(switch): value
        for switch, value in msgspec.structs.asdict(switches).items()
        if value != getattr(defaults, switch)
    }
