"""What waits of jobs that ask for what is not supported: nothing that namespaces would be given a part for."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.mirror.accounts.parties import Parties
from tests.support import builders as make
from vsched.mirror.ingest.bounds import ROLES_MAX

BEYOND = {"minTaskMember": {f"role-{number}": 0 for number in range(ROLES_MAX + 1)}}
NODE = make.node()
PODS = [make.pod(name, group="pg") for name in ("a", "b")]
CLAIM = make.pod("c", group="pg", spec={"volumes": [{"name": "d", "rbd": {}}]})


def waits(world: Parties) -> int:
    """How many cores pods of the namespace wait for."""
    return dict(world.party().waiting).get("cpu", 0) // 1000


@pytest.mark.parametrize("objects", [*permutations([make.pod_group(spec=BEYOND), *PODS])])
def test_nothing_waits_of_a_job_that_is_kept_out_in_whatever_order_it_came(objects: tuple[make.Fields, ...]) -> None:
    world = Parties(NODE, make.queue())
    for found in objects:
        world.add(found)
        world.snapshot()

    assert waits(world) == 0


def test_it_waits_for_as_long_as_it_may_start() -> None:
    world = Parties(NODE, make.queue(), make.pod_group(), *PODS)
    seen = [waits(world)]
    for found in (
        make.pod_group(spec=BEYOND),
        make.pod("late", group="pg"),
        make.pod_group(),
        make.pod_group(spec={"priorityClassName": "gone"}),
        make.priority_class("gone", 5),
    ):
        world.add(found)
        seen.append(waits(world))

    assert seen == [2, 0, 0, 3, 0, 3]


def test_a_gang_waits_with_none_of_its_pods_where_one_that_it_needs_is_kept_out() -> None:
    world = Parties(NODE, make.queue(), make.pod_group(spec={"minMember": 3}), *PODS, CLAIM)
    seen = [waits(world)]
    world.add(make.pod_group(spec={"minMember": 2}))
    seen.append(waits(world))
    world.delete(CLAIM)
    seen.append(waits(world))

    assert seen == [0, 2, 2]


def test_what_is_gone_leaves_nothing_behind() -> None:
    group = make.pod_group(spec=BEYOND)
    world = Parties(NODE, make.queue(), group, *PODS)
    assert waits(world) == 0
    world.delete(group)
    assert waits(world) == 2, "pods of a PodGroup that is gone wait as they did"
    world.add(group)
    world.snapshot()
    world.delete(group, *PODS)
    world.snapshot()
    world.add(make.pod_group(), *PODS)

    assert waits(world) == 2


def test_what_runs_is_held_whatever_its_job_asks_for() -> None:
    world = Parties(NODE, make.queue(), make.pod_group(spec=BEYOND), make.pod("a", node="n1", group="pg"))

    assert world.held()["cpu"] == 1000
