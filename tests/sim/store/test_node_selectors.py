"""Node selectors, as volumes and devices have them."""

from __future__ import annotations

from typing import Any

import pytest

from vsched.sim.store.node_selectors import matches_node_selector

Obj = dict[str, Any]
NODE: Obj = {"metadata": {"name": "n1", "labels": {"zone": "a", "cores": "8"}}}


def term(key: str, operator: str, *values: str, part: str = "matchExpressions") -> Obj:
    return {part: [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([term("zone", "In", "a", "b")], True, id="In a set with the value"),
        pytest.param([term("zone", "In", "b")], False, id="In a set without it"),
        pytest.param([term("zone", "NotIn", "b")], True, id="NotIn a set without it"),
        pytest.param([term("disk", "NotIn", "b")], True, id="NotIn, and there is no such label"),
        pytest.param([term("zone", "Exists")], True, id="Exists"),
        pytest.param([term("disk", "DoesNotExist")], True, id="DoesNotExist"),
        pytest.param([term("cores", "Gt", "7")], True, id="greater"),
        pytest.param([term("cores", "Gt", "8")], False, id="not greater than itself"),
        pytest.param([term("cores", "Lt", "9")], True, id="less"),
        pytest.param([term("zone", "Gt", "7")], False, id="a label that is no number is not greater"),
        pytest.param([term("metadata.name", "In", "n1", part="matchFields")], True, id="the name as a field"),
        pytest.param([term("metadata.name", "In", "n2", part="matchFields")], False, id="another name"),
        pytest.param([term("zone", "In", "b"), term("zone", "In", "a")], True, id="one of the terms is enough"),
        pytest.param([term("zone", "In", "a") | term("metadata.name", "In", "n2", part="matchFields")], False,
                     id="a term must hold as a whole"),
        pytest.param([{}], False, id="an empty term matches nothing"),
        pytest.param([], False, id="no term matches nothing"),
    ],
)  # fmt: skip
def test_a_term_has_to_hold(terms: list[Obj], expected: bool) -> None:
    assert matches_node_selector({"nodeSelectorTerms": terms}, NODE) is expected


def test_without_a_selector_every_node_matches() -> None:
    assert matches_node_selector(None, NODE)
