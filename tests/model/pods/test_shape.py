"""Selectors, tolerations, and the table that makes equal shapes one object."""

from __future__ import annotations

import pytest

from vsched.model.pods.shape import (
    HostPort,
    PodLabels,
    Requirement,
    Rules,
    Selector,
    ShapeTable,
    Toleration,
    requirement_holds,
)

LABELS = {"app": "web", "cores": "8"}
REQUIREMENTS: dict[str, tuple[Requirement, bool]] = {
    "In with the value": (Requirement("app", "In", ("db", "web")), True),
    "In without the value": (Requirement("app", "In", ("db",)), False),
    "In without the key": (Requirement("tier", "In", ("db",)), False),
    "NotIn with the value": (Requirement("app", "NotIn", ("web",)), False),
    "NotIn without the key holds": (Requirement("tier", "NotIn", ("web",)), True),
    "Exists": (Requirement("app", "Exists"), True),
    "Exists without the key": (Requirement("tier", "Exists"), False),
    "DoesNotExist": (Requirement("app", "DoesNotExist"), False),
    "DoesNotExist without the key": (Requirement("tier", "DoesNotExist"), True),
    "Gt": (Requirement("cores", "Gt", ("7",)), True),
    "Gt is strict": (Requirement("cores", "Gt", ("8",)), False),
    "Lt": (Requirement("cores", "Lt", ("9",)), True),
    "Lt of what is no number": (Requirement("app", "Lt", ("9",)), False),
    "Gt without the key": (Requirement("tier", "Gt", ("1",)), False),
    "an unknown operator never holds": (Requirement("app", "Like", ("w",)), False),
}


@pytest.mark.parametrize(("requirement", "expected"), REQUIREMENTS.values(), ids=REQUIREMENTS)
def test_one_requirement(requirement: Requirement, expected: bool) -> None:
    assert requirement_holds(requirement, LABELS) is expected


def test_a_selector_is_a_conjunction_and_without_requirements_matches_everything() -> None:
    both = Selector((Requirement("app", "Exists"), Requirement("tier", "Exists")))
    assert not both.matches(LABELS)
    assert Selector().matches({})


TOLERATIONS: dict[str, tuple[Toleration, bool]] = {
    "the same key, value and effect": (Toleration("k", "Equal", "v", "NoSchedule"), True),
    "another value": (Toleration("k", "Equal", "w", "NoSchedule"), False),
    "another key": (Toleration("l", "Equal", "v", "NoSchedule"), False),
    "another effect": (Toleration("k", "Equal", "v", "NoExecute"), False),
    "no effect means every effect": (Toleration("k", "Equal", "v"), True),
    "Exists ignores the value": (Toleration("k", "Exists"), True),
    "Exists without a key tolerates everything": (Toleration("", "Exists"), True),
    "Equal without a key tolerates nothing": (Toleration("", "Equal", "v"), False),
}


@pytest.mark.parametrize(("toleration", "expected"), TOLERATIONS.values(), ids=TOLERATIONS)
def test_one_toleration(toleration: Toleration, expected: bool) -> None:
    assert toleration.tolerates("k", "v", "NoSchedule") is expected


def test_equal_values_are_one_shape_and_different_ones_are_not() -> None:
    table = ShapeTable()
    one = table.shape(((0, 1), (2, 1)), rules=Rules(node_selector=(("a", "b"),)))
    assert table.shape(((0, 1), (2, 1)), rules=Rules(node_selector=(("a", "b"),))) is one
    assert table.shape(((0, 1), (2, 1)), rules=Rules(), ports=(HostPort(1),)) is not one
    assert table.shape(((0, 1), (2, 1))) is not one
    assert len(table) == 3


def test_a_pod_that_asks_for_its_slot_only_is_best_effort() -> None:
    table = ShapeTable()
    assert table.shape(((2, 1),)).best_effort
    assert table.shape(()).best_effort
    assert not table.shape(((0, 1), (2, 1))).best_effort
    assert not table.shape(((3, 1),)).best_effort


def test_what_is_not_in_use_can_be_forgotten() -> None:
    table = ShapeTable()
    kept, dropped = table.shape(((0, 1),)), table.shape(((0, 2),))
    labels = table.labels("ns", {"a": "b"})
    table.labels("ns", {"c": "d"})
    table.keep({kept}, {labels})
    assert (len(table), table.labels_count) == (1, 1)
    assert table.shape(((0, 1),)) is kept
    assert table.shape(((0, 2),)) is not dropped
    assert table.labels("ns", {"a": "b"}) is labels == PodLabels("ns", (("a", "b"),))
