"""Annotations about which roles share nodes: how they are read, and what is said of those that cannot be used."""

from __future__ import annotations

import pytest

from vsched.mirror.ingest.task_topology import AFFINITY, ANTI_AFFINITY, TASK_ORDER, task_topology_of
from vsched.mirror.ingest.words import groups as words
from vsched.mirror.ingest.words.groups import TASK_TOPOLOGY_PASSED_OVER as OFF
from vsched.model.jobs.task_topology import TaskTopology


@pytest.mark.parametrize(
    ("annotations", "found"),
    [
        pytest.param({}, None, id="a group without the annotations has no wishes"),
        pytest.param(
            {AFFINITY: "ps,worker;chief"},
            TaskTopology(affinity=(("ps", "worker"), ("chief",))),
            id="groups are separated by semicolons and roles by commas",
        ),
        pytest.param(
            {ANTI_AFFINITY: " ps , worker ;"},
            TaskTopology(anti_affinity=(("ps", "worker"),)),
            id="blanks and a last semicolon do not matter",
        ),
        pytest.param(
            {AFFINITY: "ps,worker;ps,chief"},
            TaskTopology(affinity=(("ps", "worker"), ("ps", "chief"))),
            id="a role may be in several groups",
        ),
        pytest.param(
            {AFFINITY: "ps", ANTI_AFFINITY: "worker", TASK_ORDER: "worker,ps"},
            TaskTopology((("ps",),), (("worker",),), ("worker", "ps")),
            id="all three together",
        ),
    ],
)
def test_reading(annotations: dict[str, str], found: TaskTopology | None) -> None:
    remarks: list[str] = []

    assert task_topology_of(annotations, remarks) == found
    assert remarks == []


@pytest.mark.parametrize(
    ("annotations", "remark"),
    [
        pytest.param(
            {AFFINITY: "ps,ps"},
            f"{words.role_twice(f'metadata.annotations[{AFFINITY}]', 'ps')}: {OFF}",
            id="a role twice in a group",
        ),
        pytest.param(
            {AFFINITY: "ps", TASK_ORDER: "a,b,a"},
            f"{words.role_twice(f'metadata.annotations[{TASK_ORDER}]', 'a')}: {OFF}",
            id="a role twice in the order",
        ),
        pytest.param(
            {ANTI_AFFINITY: "ps,,worker"},
            f"{words.no_names_of_roles(f'metadata.annotations[{ANTI_AFFINITY}]', 'ps,,worker')}: {OFF}",
            id="no role between two commas",
        ),
        pytest.param(
            {AFFINITY: " ;"},
            f"{words.no_groups_of_roles(f'metadata.annotations[{AFFINITY}]', ' ;')}: {OFF}",
            id="no roles at all",
        ),
        pytest.param(
            {AFFINITY: "ps", TASK_ORDER: "a;b"},
            f"{words.not_one_list(f'metadata.annotations[{TASK_ORDER}]', 2)}: {OFF}",
            id="two orders",
        ),
        pytest.param(
            {AFFINITY: "a," * 300 + "a"}, f"metadata.annotations[{AFFINITY}]: more than 256 roles: {OFF}", id="too many"
        ),
        pytest.param(
            {TASK_ORDER: "a,b"},
            words.no_affinity_of_roles(f"metadata.annotations[{TASK_ORDER}]"),
            id="an order alone",
        ),
    ],
)
def test_what_cannot_be_used_is_said_and_turns_all_of_it_off(annotations: dict[str, str], remark: str) -> None:
    remarks: list[str] = []

    assert task_topology_of(annotations, remarks) is None
    assert remarks == [remark]
