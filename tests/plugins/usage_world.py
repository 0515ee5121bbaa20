"""The usage plugin on small clusters, and policies with it as a file would say them."""

from __future__ import annotations

import json
from typing import Any

from tests.support.plans import policy_from
from tests.support.worlds import World
from vsched.framework.policy import Policy
from vsched.model.pods.task import Task
from vsched.plugins.usage import Usage, UsageArgs

ONE_NODE = "node n1 cpu=10 memory=100Gi\n"
TWO_NODES = "node n1 cpu=10 memory=100Gi\nnode n2 cpu=10 memory=100Gi\n"
POD = "job ns/a pods=1 cpu=1 memory=10Gi\n"
EVEN = {"usage.weight": 1}


def usage_policy(
    arguments: dict[str, Any] | None = None,
    *others: str,
    actions: str = "enqueue, allocate, backfill",
    **switches: bool,
) -> Policy:
    """usage and ``others`` in the first tier, gang and predicates in the second."""
    usage = {"name": "usage", "arguments": arguments or {}, **switches}
    tiers = [
        {"plugins": [*({"name": name} for name in others), usage]},
        {"plugins": [{"name": "gang", "enablePreemptable": False}, {"name": "predicates"}]},
    ]
    return policy_from(json.dumps({"actions": actions, "tiers": tiers}))


def usage_args(arguments: dict[str, Any] | None = None) -> UsageArgs:
    """The plugin's arguments in force."""
    conf = usage_policy(arguments).plugin("usage")
    assert conf is not None
    assert isinstance(conf.args, UsageArgs)
    return conf.args


def opened(world: World, arguments: dict[str, Any] | None = None) -> Usage:
    return world.opened(Usage(usage_args(arguments)))


def scores(world: World, plugin: Usage, pod: str = "a.0") -> list[float]:
    """By node; however nodes are asked for, one by one or some or all, they score the same bit for bit."""
    shape, rows = world.task(pod).shape, range(len(world.nodes))
    found = plugin.score(shape, world.nodes, slice(None))
    some = plugin.score(shape, world.nodes, list(rows)[::-1])
    alone = [plugin.score_row(shape, world.nodes, row) for row in rows]
    if found is None or some is None:
        assert found is some
        assert alone == [0.0] * len(world.nodes)
        return []
    assert found.tolist() == some.tolist()[::-1] == alone
    return alone


def place(world: World, plugin: Usage, task: Task, row: int, sign: int = 1) -> None:
    """Put a task on a row of the cycle's books, or take it back."""
    for column, amount in task.shape.request:
        world.nodes.requested[column, row] += sign * amount
    (plugin.on_allocate if sign > 0 else plugin.on_release)(world.jobs[task.job], task, row)
