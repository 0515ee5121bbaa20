"""The patches: JSON, merge, strategic merge."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builtin_kinds import KINDS, NODE, POD
from vsched.apimachinery.meta.api_errors import Failure
from vsched.sim.apply.patches import json_patch, merge_patch, strategic_merge

Obj = dict[str, Any]


def test_a_json_patch_changes_a_copy() -> None:
    obj = {"metadata": {"labels": {"a": "b"}}}
    patch = [{"op": "add", "path": "/metadata/labels/c~1d", "value": "e"}]
    assert json_patch(obj, patch) == {"metadata": {"labels": {"a": "b", "c/d": "e"}}}
    assert obj == {"metadata": {"labels": {"a": "b"}}}


_REFUSED: dict[str, tuple[Any, int]] = {
    "a test that fails": ([{"op": "test", "path": "/a", "value": 2}], 422),
    "a path that is not there": ([{"op": "remove", "path": "/b"}], 422),
    "a path through a number": ([{"op": "add", "path": "/a/b/c", "value": 1}], 422),
    "an unknown operation": ([{"op": "dance", "path": "/a"}], 422),
    "a path without a slash": ([{"op": "remove", "path": "a"}], 422),
    "an object": ({"a": 1}, 400),
    "too many operations": ([{"op": "test", "path": "/a", "value": 1}] * 10_001, 413),
    "the removal of everything": ([{"op": "replace", "path": "", "value": 5}], 422),
}


@pytest.mark.parametrize(("patch", "code"), _REFUSED.values(), ids=_REFUSED)
def test_json_patches_that_are_refused(patch: Any, code: int) -> None:
    with pytest.raises(Failure) as failure:
        json_patch({"a": 1}, patch)
    assert failure.value.code == code


def test_a_failed_test_reads_like_the_server_says_it() -> None:
    with pytest.raises(Failure) as failure:
        json_patch({"a": 1}, [{"op": "test", "path": "/a", "value": 2}])
    assert failure.value.message == "the server rejected our request due to an error in our request"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(st.sampled_from("abc"), _JSON, max_size=3)


def _without_nulls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}


@given(_OBJECTS, _OBJECTS)
def test_a_merge_patch_applied_twice_changes_nothing_more(obj: Obj, patch: Obj) -> None:
    once = merge_patch(obj, patch)
    assert merge_patch(once, patch) == once
    for key, value in patch.items():
        assert (key in once) == (value is not None)
        if not isinstance(value, dict):
            assert once.get(key) == value


@given(_OBJECTS)
def test_a_merge_patch_onto_nothing_is_itself_without_nulls(patch: Obj) -> None:
    assert merge_patch({}, patch) == _without_nulls(patch)


@given(_OBJECTS)
def test_an_empty_merge_patch_changes_nothing(obj: Obj) -> None:
    assert merge_patch(obj, {}) == obj


def _names(items: list[Obj], key: str = "type") -> list[str]:
    return [item[key] for item in items]


def test_conditions_merge_by_type_and_new_ones_come_first() -> None:
    old = {"status": {"conditions": [{"type": "A", "status": "True", "reason": "r"}, {"type": "B", "status": "True"}]}}
    patch = {"status": {"conditions": [{"type": "C", "status": "True"}, {"type": "A", "status": "False"}]}}
    conditions = strategic_merge(POD, old, patch)["status"]["conditions"]
    assert _names(conditions) == ["C", "A", "B"]
    assert conditions[1] == {"type": "A", "status": "False", "reason": "r"}


def test_an_order_that_is_given_is_kept() -> None:
    old = {"status": {"conditions": [{"type": "A"}, {"type": "B"}]}}
    patch = {
        "status": {
            "$setElementOrder/conditions": [{"type": "B"}, {"type": "A"}, {"type": "C"}],
            "conditions": [{"type": "C", "status": "True"}],
        }
    }
    assert _names(strategic_merge(POD, old, patch)["status"]["conditions"]) == ["B", "A", "C"]


def test_finalizers_merge_as_a_set() -> None:
    old = {"metadata": {"finalizers": ["a/b"]}}
    assert strategic_merge(POD, old, {"metadata": {"finalizers": ["c/d"]}})["metadata"]["finalizers"] == ["c/d", "a/b"]
    gone = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}}
    assert strategic_merge(POD, old, gone)["metadata"]["finalizers"] == []


def test_containers_merge_by_name_down_to_their_ports() -> None:
    old = {"spec": {"containers": [{"name": "c", "image": "a", "ports": [{"containerPort": 1, "name": "x"}]}]}}
    patch = {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 1, "name": "y"}], "image": None}]}}
    assert strategic_merge(POD, old, patch) == {
        "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 1, "name": "y"}]}]}
    }


def test_taints_are_replaced() -> None:
    old = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}], "unschedulable": True}}
    patch = {"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}}
    merged = strategic_merge(NODE, old, patch)
    assert merged == {"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}], "unschedulable": True}}


_DIRECTIVES: dict[str, tuple[Obj, Obj, Obj]] = {
    "an item is deleted by its key": (
        {"spec": {"volumes": [{"name": "a"}, {"name": "b"}]}},
        {"spec": {"volumes": [{"name": "a", "$patch": "delete"}]}},
        {"spec": {"volumes": [{"name": "b"}]}},
    ),
    "a list is replaced": (
        {"spec": {"volumes": [{"name": "a"}, {"name": "b"}]}},
        {"spec": {"volumes": [{"$patch": "replace"}, {"name": "c"}]}},
        {"spec": {"volumes": [{"name": "c"}]}},
    ),
    "an object is replaced": (
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"labels": {"$patch": "replace", "c": "d"}}},
        {"metadata": {"labels": {"c": "d"}}},
    ),
    "only these keys are retained": (
        {"spec": {"volumes": [{"name": "a", "emptyDir": {}}]}},
        {"spec": {"volumes": [{"name": "a", "hostPath": {"path": "/"}, "$retainKeys": ["name", "hostPath"]}]}},
        {"spec": {"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}},
    ),
    "null removes": (
        {"spec": {"nodeName": "n", "priority": 1}}, {"spec": {"nodeName": None}}, {"spec": {"priority": 1}},
    ),
    "new objects come without directives": (
        {}, {"spec": {"volumes": [{"name": "a", "emptyDir": {"$patch": "replace", "medium": None}}]}},
        {"spec": {"volumes": [{"name": "a", "emptyDir": {}}]}},
    ),
    "tolerations have no key and are replaced": (
        {"spec": {"tolerations": [{"key": "a"}]}}, {"spec": {"tolerations": [{"key": "b"}]}},
        {"spec": {"tolerations": [{"key": "b"}]}},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "patch", "expected"), _DIRECTIVES.values(), ids=_DIRECTIVES)
def test_directives(old: Obj, patch: Obj, expected: Obj) -> None:
    assert strategic_merge(POD, old, patch) == expected


def test_the_strategy_of_a_deployment_may_be_changed_as_a_whole() -> None:
    old = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert strategic_merge(KINDS["apps/Deployment"], old, patch) == {"spec": {"strategy": {"type": "Recreate"}}}


def test_an_item_without_its_key_is_refused() -> None:
    with pytest.raises(Failure, match="does not contain declared merge key: name"):
        strategic_merge(POD, {"spec": {"containers": [{"name": "c"}]}}, {"spec": {"containers": [{"image": "x"}]}})
    with pytest.raises(Failure, match="json: cannot unmarshal array"):
        strategic_merge(POD, {}, [])
