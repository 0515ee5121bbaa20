"""Groups of nodes: which label names one, and what keeps each of them off."""

from __future__ import annotations

import numpy as np
import pytest

from vsched.explain.why.groups import ALL, GROUPS_MAX, OTHERS, reasons_by_group
from vsched.framework.codes import Code
from vsched.framework.nodes.why import Failing
from vsched.model.nodes.groups import group_of
from vsched.model.nodes.table import NodeAttributes, NodeStatics

TYPE, POOL = "node.kubernetes.io/instance-type", "volcano.sh/nodegroup-name"


def statics(*groups: str) -> NodeStatics:
    nodes = enumerate(groups)
    return NodeStatics([NodeAttributes(f"n{at:03}", {TYPE: group} if group else {}) for at, group in nodes])


def failing(reason: str, *rows: bool) -> Failing:
    return Failing(reason, Code.OTHER, np.array(rows))


@pytest.mark.parametrize(
    ("labels", "group"),
    [
        pytest.param({POOL: "research", TYPE: "a100"}, "research", id="the nodegroup before all else"),
        pytest.param({TYPE: "a100", "accelerator": "nvidia"}, "a100", id="then the instance type"),
        pytest.param({"accelerator": "nvidia"}, "nvidia", id="then the accelerator"),
        pytest.param({"zone": "x"}, "", id="else none"),
    ],
)
def test_the_group_of_a_node(labels: dict[str, str], group: str) -> None:
    assert group_of(labels) == group


def test_reasons_are_counted_by_group() -> None:
    found = reasons_by_group(
        statics("big", "small", "small", ""),
        [failing("full", True, True, False, True), failing("tainted", False, False, True, False)],
    )

    assert found == {"big": {"full": 1}, "small": {"full": 1, "tainted": 1}, OTHERS: {"full": 1}}


def test_without_labels_there_is_one_group_of_all() -> None:
    assert reasons_by_group(statics("", ""), [failing("full", True, True)]) == {ALL: {"full": 2}}


def test_the_smallest_of_many_groups_are_told_together() -> None:
    groups = [f"g{number:02}" for number in range(GROUPS_MAX + 5)]
    table = statics(*groups, *groups[-3:])
    found = reasons_by_group(table, [failing("full", *[True] * len(table))])

    assert len(found) == GROUPS_MAX + 1
    assert found[OTHERS] == {"full": 5}
    assert set(groups[-3:]) <= found.keys()
