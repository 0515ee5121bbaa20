"""Planned starts of gangs with minima of their own for roles and sub-groups."""

from __future__ import annotations

import pytest

from tests.support.plans import plan, policy_from
from tests.support.start_plans import POLICY, hours, starts

EASY = policy_from(POLICY.format(args=""))
RUNNING = "\n".join(
    f"node n{number} cpu=4\njob x/w{number} min=1 age=900\n"
    f"pods x/w{number} 1 cpu=4 on=n{number} started=0 {hours(minutes)}"
    for number, minutes in ((1, 10), (2, 20), (3, 30), (4, 40))
)
"""Four full nodes, of which one is free every ten minutes."""


@pytest.mark.parametrize(
    ("gang", "expected"),
    [
        pytest.param(
            "job x/big min=2 roles=ps:1,worker:1 age=600\npods x/big 1 cpu=4 role=ps\npods x/big 2 cpu=4 role=worker",
            (20, ("n1", "n2")),
            id="one of each role",
        ),
        pytest.param(
            "job x/big min=3 roles=ps:1,worker:2 age=600\npods x/big 1 cpu=4 role=ps\npods x/big 3 cpu=4 role=worker",
            (30, ("n1", "n2", "n3")),
            id="a role's own minimum counts",
        ),
        pytest.param(
            "job x/big min=2 roles=ps:1,worker:1 age=600\n"
            "pods x/big 1 cpu=4 role=ps selector=kind:none\npods x/big 2 cpu=4 role=worker",
            None,
            id="a role that fits nowhere: no start",
        ),
        pytest.param(
            "job x/big min=2 subGroups=rack:2:1 age=600\n"
            "pods x/big 2 cpu=4 labels=rack:a\npods x/big 2 cpu=4 labels=rack:b",
            (20, ("n1", "n2")),
            id="the first whole sub-group",
        ),
        pytest.param(
            "job x/big min=4 subGroups=rack:2:2 age=600\n"
            "pods x/big 2 cpu=4 labels=rack:a\npods x/big 2 cpu=4 labels=rack:b",
            (40, ("n1", "n2", "n3", "n4")),
            id="as many sub-groups as it needs",
        ),
        pytest.param(
            "job x/big min=2 subGroups=rack:2:1 age=600\n"
            "pods x/big 2 cpu=4 labels=rack:a selector=kind:none\npods x/big 2 cpu=4 labels=rack:b",
            (20, ("n1", "n2")),
            id="another sub-group in place of one that fits nowhere",
        ),
        pytest.param(
            "job x/big min=2 subGroups=rack:2:1 age=600\n"
            "pods x/big 1 cpu=4 labels=rack:a\npods x/big 1 cpu=4 labels=rack:b",
            None,
            id="no sub-group has enough pods",
        ),
    ],
)
def test_a_gang_of_groups_starts_when_all_of_its_minima_fit(gang: str, expected: tuple[float, tuple[str, ...]]) -> None:
    assert starts(plan(f"{RUNNING}\n{gang}", EASY)) == expected


def test_room_for_the_minima_is_kept_and_nothing_beyond() -> None:
    gang = (
        "job x/big min=2 subGroups=rack:2:1 age=600\npods x/big 2 cpu=4 labels=rack:a\npods x/big 2 cpu=4 labels=rack:b"
    )
    later = "node n5 cpu=2\njob x/small min=1 pods=1 cpu=2 age=60"
    found = plan(f"{RUNNING}\n{gang}\n{later}", EASY)
    assert starts(found) == (20, ("n1", "n2"))
    assert found.bound == {"small": 1}, "n5 is not among its nodes"
