"""Taints: which keep a pod off, in whose name, and how many only discourage."""

from __future__ import annotations

import pytest

from vsched.kernels.taints import cordoned, discouraged, tolerated_mask, untolerated
from vsched.model.nodes.table import NodeAttributes, NodeStatics, Taint
from vsched.model.pods.shape import Toleration

GPU = Taint("gpu", "yes", "NoSchedule")
DRAIN = Taint("drain", "", "NoExecute")
SLOW = Taint("slow", "", "PreferNoSchedule")
OLD = Taint("old", "", "PreferNoSchedule")

NODES = NodeStatics(
    [
        NodeAttributes("n1", {}),
        NodeAttributes("n2", {}, (GPU,)),
        NodeAttributes("n3", {}, (SLOW, GPU, DRAIN), unschedulable=True),
        NodeAttributes("n4", {}, (DRAIN,)),
        NodeAttributes("n5", {}, (SLOW, OLD)),
    ]
)


def kept_off(*tolerations: Toleration) -> dict[str, list[str]]:
    return {
        taint.key: [name for name, free in zip(NODES.names, mask, strict=True) if not free]
        for taint, mask in untolerated(NODES, tolerations)
    }


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        pytest.param((), {"gpu": ["n2", "n3"], "drain": ["n4"]}, id="nothing: each node under its first taint"),
        pytest.param((Toleration("gpu", "Equal", "yes"),), {"drain": ["n3", "n4"]}, id="one taint by its value"),
        pytest.param((Toleration("gpu", "Equal", "no"),), {"gpu": ["n2", "n3"], "drain": ["n4"]}, id="another value"),
        pytest.param((Toleration("gpu", "Exists"),), {"drain": ["n3", "n4"]}, id="one taint whatever its value"),
        pytest.param(
            (Toleration("drain", "Exists", effect="NoSchedule"),),
            {"gpu": ["n2", "n3"], "drain": ["n4"]},
            id="the wrong effect",
        ),
        pytest.param((Toleration(operator="Exists", effect="NoExecute"),), {"gpu": ["n2", "n3"]}, id="a whole effect"),
        pytest.param((Toleration(operator="Exists"),), {}, id="everything"),
    ],
)
def test_the_first_untolerated_taint_keeps_a_pod_off(
    tolerations: tuple[Toleration, ...], expected: dict[str, list[str]]
) -> None:
    assert kept_off(*tolerations) == expected
    mask = tolerated_mask(NODES, tolerations)
    off = {name for names in expected.values() for name in names}
    assert mask is not None
    assert mask.tolist() == [name not in off for name in NODES.names]


def test_nodes_without_repelling_taints_need_no_mask() -> None:
    statics = NodeStatics([NodeAttributes("n1", {}, (SLOW,))])
    assert tolerated_mask(statics, ()) is None
    assert untolerated(statics, ()) == []


def test_cordoned_nodes() -> None:
    assert cordoned(NODES).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        pytest.param((), [0, 0, 1, 0, 2], id="every untolerated preference counts"),
        pytest.param((Toleration("old", "Exists"),), [0, 0, 1, 0, 1], id="a tolerated one does not"),
        pytest.param((Toleration(operator="Exists"),), None, id="tolerating all makes all nodes alike"),
    ],
)
def test_discouraging_taints_are_counted(tolerations: tuple[Toleration, ...], expected: list[int] | None) -> None:
    counts = discouraged(NODES, tolerations)
    assert (None if counts is None else counts.tolist()) == expected


def test_two_taints_of_one_key_and_value_are_one_reason() -> None:
    statics = NodeStatics(
        [
            NodeAttributes("n1", {}, (Taint("a", "", "NoSchedule"),)),
            NodeAttributes("n2", {}, (Taint("a", "", "NoExecute"),)),
        ]
    )
    ((taint, mask),) = untolerated(statics, ())
    assert (taint.key, mask.tolist()) == ("a", [False, False])
