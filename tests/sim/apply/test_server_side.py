"""Server-side apply: who owns what, who is in whose way, and what goes when nobody wants it any more."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.builtin_kinds import POD, WIDGET, pod
from vsched.apimachinery.meta.api_errors import Failure
from vsched.sim.apply.server_side import apply
from vsched.sim.store.field_ownership import from_fields, owned_paths, path_text, to_fields
from vsched.sim.store.managed_fields import Author, record_update

Obj = dict[str, Any]
_EARLIER = datetime(2026, 1, 1, tzinfo=UTC)
_LATER = datetime(2026, 1, 2, tzinfo=UTC)


def _config_of(labels: dict[str, str], **spec: Any) -> Obj:
    metadata: Obj = {"name": "p", "namespace": "d", **({"labels": labels} if labels else {})}
    applied: Obj = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return {**applied, "spec": spec} if spec else applied


def _managers(obj: Obj) -> dict[tuple[str, str], Obj]:
    return {(one["manager"], one["operation"]): one["fieldsV1"] for one in obj["metadata"]["managedFields"]}


def _created(manager: str, labels: dict[str, str], **spec: Any) -> Obj:
    return apply(POD, None, _config_of(labels, **spec), manager, False, now=_EARLIER)


def test_the_first_apply_creates_and_owns_what_it_says() -> None:
    made = _created("m1", {"a": "1"}, containers=[{"name": "c", "image": "x"}])
    assert _managers(made) == {
        ("m1", "Apply"): {
            "f:metadata": {"f:labels": {"f:a": {}}},
            "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:name": {}}}},
        }
    }
    assert made["metadata"]["managedFields"][0]["time"] == "2026-01-01T00:00:00Z"


def test_another_value_of_an_owned_field_is_a_conflict() -> None:
    made = _created("m1", {"a": "1"})
    with pytest.raises(Failure) as failure:
        apply(POD, made, _config_of({"a": "2"}), "m2", False)
    assert failure.value.code == 409
    assert failure.value.message == 'Apply failed with 1 conflict: conflict with "m1": .metadata.labels.a'
    assert failure.value.details == {
        "causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "m1"', "field": ".metadata.labels.a"}]
    }


def test_several_conflicts_are_listed_by_manager() -> None:
    made = _created("m1", {"a": "1", "b": "1"})
    with pytest.raises(Failure) as failure:
        apply(POD, made, _config_of({"a": "2", "b": "2"}), "m2", False)
    assert failure.value.message == (
        'Apply failed with 2 conflicts: conflicts with "m1":\n- .metadata.labels.a\n- .metadata.labels.b'
    )


def test_the_same_value_is_shared() -> None:
    shared = apply(POD, _created("m1", {"a": "1"}), _config_of({"a": "1"}), "m2", False)
    assert set(_managers(shared)) == {("m1", "Apply"), ("m2", "Apply")}


def test_force_takes_the_field_over() -> None:
    taken = apply(POD, _created("m1", {"a": "1", "b": "1"}), _config_of({"a": "2"}), "m2", True)
    assert taken["metadata"]["labels"] == {"a": "2", "b": "1"}
    assert _managers(taken)["m1", "Apply"] == {"f:metadata": {"f:labels": {"f:b": {}}}}


def test_what_its_last_owner_drops_goes() -> None:
    made = _created("m1", {"a": "1", "b": "1"}, containers=[{"name": "c"}, {"name": "d", "image": "x"}])
    left = apply(POD, made, _config_of({"a": "1"}, containers=[{"name": "c"}]), "m1", False)
    assert left["metadata"]["labels"] == {"a": "1"}
    assert left["spec"]["containers"] == [{"name": "c"}]


def test_what_another_still_owns_stays() -> None:
    shared = apply(POD, _created("m1", {"a": "1"}), _config_of({"a": "1"}), "m2", False)
    left = apply(POD, shared, _config_of({}), "m1", False)
    assert left["metadata"]["labels"] == {"a": "1"}
    assert set(_managers(left)) == {("m2", "Apply")}


def test_applying_the_same_again_changes_nothing() -> None:
    made = _created("m1", {"a": "1"}, containers=[{"name": "c", "image": "x"}])
    config = _config_of({"a": "1"}, containers=[{"name": "c", "image": "x"}])
    assert apply(POD, made, config, "m1", False, now=_LATER) == made


def test_an_object_that_was_never_applied_belongs_to_somebody() -> None:
    live = {**pod(), "status": {"phase": "Pending"}}
    live["metadata"]["labels"] = {"a": "1"}
    with pytest.raises(Failure) as failure:
        apply(POD, live, _config_of({"a": "2"}), "m1", False)
    assert failure.value.message == (
        'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .metadata.labels.a'
    )


def test_lists_with_keys_merge_and_others_are_replaced() -> None:
    made = _created("m1", {}, containers=[{"name": "c", "args": ["a"], "env": [{"name": "A", "value": "1"}]}])
    config = _config_of({}, containers=[{"name": "c", "args": ["b"], "env": [{"name": "B", "value": "2"}]}])
    merged = apply(POD, made, config, "m2", True)
    (container,) = merged["spec"]["containers"]
    assert container["args"] == ["b"]
    assert [one["name"] for one in container["env"]] == ["A", "B"]


def test_finalizers_are_a_set() -> None:
    config: Obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "finalizers": ["c/d"]}}
    live = pod()
    live["metadata"]["finalizers"] = ["a/b"]
    merged = apply(POD, live, config, "m1", False)
    assert merged["metadata"]["finalizers"] == ["a/b", "c/d"]
    gone = apply(POD, merged, {**config, "metadata": {"name": "p"}}, "m1", False)
    assert gone["metadata"]["finalizers"] == ["a/b"]


_WRONG: dict[str, tuple[Obj, int]] = {
    "no kind": ({"apiVersion": "v1", "metadata": {"name": "p"}}, 400),
    "books of its own": (
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "managedFields": [{"manager": "x"}]}}, 400,
    ),
    "an unknown field": ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "nope": 1}, 500),
}  # fmt: skip


@pytest.mark.parametrize(("config", "code"), _WRONG.values(), ids=_WRONG)
def test_configurations_that_are_refused(config: Obj, code: int) -> None:
    with pytest.raises(Failure) as failure:
        apply(POD, None, config, "m1", False)
    assert failure.value.code == code


def test_custom_kinds_follow_their_schema() -> None:
    config = {
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "d"},
        "spec": {"parts": [{"name": "a", "size": 1}], "words": ["x"]},
    }  # fmt: skip
    made = apply(WIDGET, None, config, "m1", False)
    assert _managers(made)["m1", "Apply"] == {
        "f:spec": {"f:parts": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:size": {}}}, "f:words": {}}
    }
    other = {**config, "spec": {"parts": [{"name": "b", "size": 2}]}}
    merged = apply(WIDGET, made, other, "m2", False)
    assert [part["name"] for part in merged["spec"]["parts"]] == ["a", "b"]


def test_other_changes_move_the_ownership() -> None:
    made = _created("m1", {"a": "1", "b": "1"})
    changed = {**made, "metadata": {**made["metadata"], "labels": {"a": "2"}}}
    recorded = record_update(POD, changed, made, Author("kubectl-edit", "", _LATER))
    assert _managers(recorded) == {("kubectl-edit", "Update"): {"f:metadata": {"f:labels": {"f:a": {}}}}}
    with pytest.raises(Failure) as failure:
        apply(POD, recorded, _config_of({"a": "1"}), "m1", False)
    assert failure.value.message == (
        'Apply failed with 1 conflict: conflict with "kubectl-edit" using v1: .metadata.labels.a'
    )


def test_objects_without_books_stay_without() -> None:
    new = pod()
    assert record_update(POD, new, pod(), Author("m", "", _LATER)) is new


def test_paths_and_fields_are_the_same_thing() -> None:
    obj = pod(containers=[{"name": "c", "ports": [{"containerPort": 80}]}], nodeSelector={"a": "b"})
    obj["metadata"]["finalizers"] = ["a/b"]
    paths = owned_paths(POD, obj)
    assert from_fields(to_fields(paths)) == paths
    assert sorted(map(path_text, paths)) == [
        '.metadata.finalizers[="a/b"]',
        '.spec.containers[name="c"]',
        '.spec.containers[name="c"].name',
        '.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"]',
        '.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].containerPort',
        ".spec.nodeSelector",
    ]
