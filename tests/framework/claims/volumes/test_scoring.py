"""Scores by how full the storage would be that the claims of a pod get."""

from __future__ import annotations

import pytest

from tests.support.storage_world import StorageWorld, ask, labelled, on
from vsched.framework.claims.handler import ClaimRules, VolumeScoring

FULLER = VolumeScoring(shape=((0, 0), (100, 10)))
"""Fuller storage is better."""


def world() -> StorageWorld:
    """Static volumes of 1, 2 and 4 GiB on the nodes n1, n2 and n3."""
    made = StorageWorld(n1="", n2="", n3="").local_class("local").local_class("more").storage_class("csi")
    for node, size in (("n1", 1), ("n2", 2), ("n3", 4)):
        made.volume(f"v-{node}", "local", size, affinity=on(node))
    return made


def scores(made: StorageWorld, *claims: str, scoring: VolumeScoring | None = FULLER) -> dict[str, float] | None:
    return ask(made, made.task("p", *claims), rules=ClaimRules(scoring=scoring)).scores()


def test_nodes_are_not_scored_by_storage_unless_the_policy_asks_for_it() -> None:
    made = world().claim("c", "local", 1)
    assert ask(made, made.task("p", "c"), rules=ClaimRules()).scores() is None


def test_the_part_of_a_static_volume_that_is_requested_counts() -> None:
    assert scores(world().claim("c", "local", 1), "c") == {"n1": 100, "n2": 50, "n3": 25}


def test_emptier_storage_is_better_unless_the_policy_says_otherwise() -> None:
    assert scores(world().claim("c", "local", 1), "c", scoring=VolumeScoring()) == {"n1": 0, "n2": 50, "n3": 75}


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        pytest.param(((0, 0), (50, 10), (100, 0)), {"n1": 0, "n2": 100, "n3": 50}, id="best when half full"),
        pytest.param(((30, 5), (60, 8)), {"n1": 80, "n2": 70, "n3": 50}, id="flat before the first and after the last"),
        pytest.param(((0, 10), (30, 3)), {"n1": 30, "n2": 30, "n3": 42}, id="divisions cut off towards zero"),
    ],
)
def test_the_shape_is_a_line_through_points(shape: tuple[tuple[int, int], ...], expected: dict[str, float]) -> None:
    assert scores(world().claim("c", "local", 1), "c", scoring=VolumeScoring(shape=shape)) == expected


def test_the_weight_multiplies_the_score() -> None:
    assert scores(world().claim("c", "local", 1), "c", scoring=FULLER._replace(weight=3)) == {
        "n1": 300,
        "n2": 150,
        "n3": 75,
    }
    assert scores(world().claim("c", "local", 1), "c", scoring=FULLER._replace(weight=0)) is None


def test_the_mean_over_classes_is_rounded() -> None:
    made = world().volume("w", "more", 10).claim("c", "local", 1).claim("d", "more", 5)
    assert scores(made, "c", "d") == {"n1": 75, "n2": 50, "n3": 38}


def test_claims_of_one_class_count_together() -> None:
    made = world().volume("w", "local", 8, affinity=on("n3")).claim("c", "local", 1).claim("d", "local", 5)
    assert scores(made, "c", "d") == {"n3": 50}


def test_storage_for_new_volumes_counts_where_the_driver_tracks_it() -> None:
    made = world().driver(tracks_capacity=True).claim("c", "csi", 5)
    for node, size in (("n1", 5), ("n2", 10), ("n3", 50)):
        made.capacity("csi", size, labelled(**{"kubernetes.io/hostname": node}))
    assert scores(made, "c") == {"n1": 100, "n2": 50, "n3": 10}
    made.claim("d", "csi", 4)
    assert scores(made, "c", "d") == {"n2": 90, "n3": 18}


def test_static_volumes_come_before_storage_for_new_ones() -> None:
    made = world().driver(tracks_capacity=True).capacity("csi", 10).volume("v", "csi", 2, affinity=on("n1"))
    assert scores(made.claim("c", "csi", 1), "c") == {"n1": 50, "n2": 10, "n3": 10}


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(world().claim("c", "csi"), id="a driver that does not track capacity"),
        pytest.param(world().bound("c"), id="a bound claim"),
    ],
)
def test_other_claims_give_no_score(made: StorageWorld) -> None:
    assert scores(made, "c") is None


def test_a_choice_of_the_session_changes_the_scores() -> None:
    made = world().volume("w", "local", 10, affinity=on("n1")).claim("c", "local", 1).claim("d", "local", 1)
    handler = made.handler(ClaimRules(scoring=FULLER))
    second = ask(made, made.task("q", "d"), handler)
    assert second.scores() == {"n1": 100, "n2": 50, "n3": 25}
    ask(made, made.task("p", "c"), handler).take("n1")
    assert second.scores() == {"n1": 10, "n2": 50, "n3": 25}
