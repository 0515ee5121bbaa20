"""Groups of volumes that change from session to session are the same as if they were made anew."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.storage_world import StorageWorld, on, within
from vsched.framework.claims.volumes.groups import Grouped, grouped
from vsched.model.claims.volumes import Volume

NODES = StorageWorld(n1="a", n2="a", n3="b").statics()
PLACES = (None, (), on("n1"), on("n2"), on("n3", "n1"), within("a"), within("b"), (*on("n2"), *within("b")))
VOLUMES = tuple(Volume(f"v{number}", affinity=PLACES[number % len(PLACES)]) for number in range(16))


def picture(found: Grouped) -> object:
    """What sessions read of it, by volume and by node."""
    by_volume = [
        (found.where.rows_of(int(group)).tolist(), found.members_of(int(group)).tolist()) for group in found.group
    ]
    return by_volume, [found.members_at(row).tolist() for row in range(len(NODES))]


@given(st.lists(st.lists(st.sampled_from(VOLUMES), unique_by=lambda one: one.name), min_size=1, max_size=8))
def test_groups_follow_volumes_that_come_and_go(states: list[list[Volume]]) -> None:
    before: Grouped | None = None
    for volumes in states:
        before = grouped(tuple(volumes), NODES, before)
        assert picture(before) == picture(grouped(tuple(volumes), NODES))


def test_groups_without_volumes_do_not_pile_up() -> None:
    before: Grouped | None = None
    for number in range(400):
        before = grouped((Volume(f"v{number}", affinity=on(f"gone-{number}")),), NODES, before)
        assert before.where.size < 100


def test_volumes_that_did_not_change_keep_what_was_found_for_them() -> None:
    first = grouped(VOLUMES, NODES)
    assert grouped(VOLUMES[1:], NODES, first).where is first.where
