"""Owner references: who goes, who stays, who is let go."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.workload_objects import controlled_by, deleting, pod, workload
from vsched.apimachinery.workloads.actions import Action, Delete, Update
from vsched.sim.controllers.garbage import FOREGROUND, ORPHAN, Dependent, OwnerState, decide

FIRST, SECOND = workload("ReplicaSet", "first"), workload("ReplicaSet", "second")


def owned(*owners: dict[str, Any], finalizers: list[str] | None = None) -> dict[str, Any]:
    references = [controlled_by(owner, "ReplicaSet") for owner in owners]
    more = {"finalizers": finalizers} if finalizers else {}
    return pod("dep", ownerReferences=references, **more)


def look(obj: dict[str, Any], states: dict[str, OwnerState] | None = None, *, dependents: bool = False) -> list[Action]:
    return decide("pods", obj, [], lambda reference: (states or {})[reference["name"]], dependents)


def gone(propagation: str) -> list[Action]:
    return [Delete("pods", "default", "dep", uid="uid-dep", propagation=propagation)]


@pytest.mark.parametrize(
    ("states", "dependents", "expected"),
    [
        pytest.param({"first": OwnerState.SOLID}, False, [], id="who has an owner stays"),
        pytest.param({"first": OwnerState.ABSENT}, False, gone("Background"), id="who has none left goes"),
        pytest.param({"first": OwnerState.UNKNOWN}, False, [], id="an owner of an unknown kind is not judged"),
        pytest.param(
            {"first": OwnerState.WAITING}, False, gone("Background"), id="who blocks a foreground deletion goes"
        ),
        pytest.param(
            {"first": OwnerState.WAITING}, True, gone("Foreground"), id="in the foreground if it owns others itself"
        ),
    ],
)
def test_one_owner(states: dict[str, OwnerState], dependents: bool, expected: list[Action]) -> None:
    assert look(owned(FIRST), states, dependents=dependents) == expected


def test_one_of_two_owners_gone_only_takes_its_reference_along() -> None:
    [change] = look(owned(FIRST, SECOND), {"first": OwnerState.ABSENT, "second": OwnerState.SOLID})
    assert isinstance(change, Update)
    assert [each["name"] for each in change.obj["metadata"]["ownerReferences"]] == ["second"]


def test_without_owners_nothing_happens() -> None:
    assert look(pod("free")) == []


def test_foreground_waits_for_dependents_that_block() -> None:
    owner = deleting(FIRST, finalizers=[FOREGROUND, "x/y"])
    blocking = Dependent("pods", owned(FIRST))
    assert decide("apps/replicasets", owner, [blocking], lambda _: OwnerState.SOLID, True) == []
    [change] = decide("apps/replicasets", owner, [], lambda _: OwnerState.SOLID, False)
    assert isinstance(change, Update)
    assert change.obj["metadata"]["finalizers"] == ["x/y"]


def test_a_dependent_that_does_not_block_does_not_hold_its_owner() -> None:
    loose = owned(FIRST)
    del loose["metadata"]["ownerReferences"][0]["blockOwnerDeletion"]
    owner = deleting(FIRST, finalizers=[FOREGROUND])
    assert len(decide("apps/replicasets", owner, [Dependent("pods", loose)], lambda _: OwnerState.SOLID, True)) == 1


def test_orphaning_frees_the_dependents_before_the_owner_goes() -> None:
    owner = deleting(FIRST, finalizers=[ORPHAN])
    freed, let_go = decide(
        "apps/replicasets", owner, [Dependent("pods", owned(FIRST, SECOND))], lambda _: OwnerState.SOLID, True
    )
    assert isinstance(freed, Update)
    assert [each["name"] for each in freed.obj["metadata"]["ownerReferences"]] == ["second"]
    assert isinstance(let_go, Update)
    assert "finalizers" not in let_go.obj["metadata"]
