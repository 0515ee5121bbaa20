"""Which nodes can serve volume claims, and what the claims get: static volumes, or volumes made on demand."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.storage_world import GI, StorageWorld, ask, labelled, on, within
from vsched.framework.words.nodes import NO_STORAGE
from vsched.framework.words.nodes import NO_VOLUMES as NO_VOLUME
from vsched.framework.words.nodes import OUT_OF_REACH as NO_MATCH
from vsched.model.pods.shape import NodeTerm, Requirement


def world() -> StorageWorld:
    """Two nodes in zone a and one in zone b; classes of volumes made by people and on demand."""
    return StorageWorld(n1="a", n2="a", n3="b").local_class("local").storage_class("csi")


@pytest.mark.parametrize(
    ("made", "nodes"),
    [
        pytest.param(world().bound("c"), "n1 n2 n3", id="a volume without affinity is reached from everywhere"),
        pytest.param(world().bound("c", affinity=within("a")), "n1 n2", id="a volume of a zone"),
        pytest.param(world().bound("c", affinity=on("n3")), "n3", id="a volume of a node"),
        pytest.param(world().bound("c", affinity=(*on("n1"), *within("b"))), "n1 n3", id="any one term is enough"),
        pytest.param(world().bound("c", affinity=(NodeTerm(),)), "", id="an empty term matches no node"),
        pytest.param(
            world().bound("c", affinity=(NodeTerm(fields=(Requirement("metadata.name", "In", ("n2",)),)),)),
            "n2",
            id="a term may name the node",
        ),
    ],
)
def test_a_bound_claim_binds_the_pod_to_the_nodes_of_its_volume(made: StorageWorld, nodes: str) -> None:
    asked = ask(made, made.task("p", "c"))
    assert asked.nodes() == nodes
    assert set(asked.reasons()) <= {NO_MATCH}


def test_all_bound_claims_of_a_pod_must_be_reached() -> None:
    made = world().bound("c1", affinity=within("a")).bound("c2", affinity=on("n2", "n3"))
    asked = ask(made, made.task("p", "c1", "c2"))
    assert asked.nodes() == "n2"
    assert asked.reasons() == {NO_MATCH: "n1 n3"}
    assert asked.take("n2").chosen() == {}


@pytest.mark.parametrize(
    ("made", "chosen"),
    [
        pytest.param(world().volume("v", "local", 1), {"n1": "v", "n2": "v", "n3": "v"}, id="one that fits"),
        pytest.param(world().volume("v", "local", 0), {}, id="one that is too small"),
        pytest.param(
            world().volume("big", "local", 9).volume("fit", "local", 2, affinity=within("a")),
            {"n1": "fit", "n2": "fit", "n3": "big"},
            id="the smallest that the node reaches",
        ),
        pytest.param(
            world().volume("b", "local", 2).volume("a", "local", 2),
            {"n1": "a", "n2": "a", "n3": "a"},
            id="of equal ones the first by name",
        ),
        pytest.param(world().volume("v", "other", 1), {}, id="one of another class"),
        pytest.param(world().volume("v", "local", 1, modes=("ReadOnlyMany",)), {}, id="one without the access mode"),
        pytest.param(
            world().volume("v", "local", 1, modes=("ReadOnlyMany", "ReadWriteOnce"), affinity=on("n1")),
            {"n1": "v"},
            id="one with more access modes than needed",
        ),
        pytest.param(world().volume("v", "local", 1, block=True), {}, id="a block device where files are wanted"),
        pytest.param(
            world().volume("v", "local", 1, attributes_class="gold"), {}, id="one of another class of attributes"
        ),
        pytest.param(world().volume("v", "local", 1, available=False), {}, id="one that is not available"),
        pytest.param(
            world().volume("v", "local", 1, claim="ns/other"), {}, id="one that is reserved for another claim"
        ),
        pytest.param(
            world().volume("v", "local", 1, claim="ns/c", claim_uid="older"),
            {},
            id="one that is reserved for an earlier claim of the name",
        ),
        pytest.param(
            world().volume("mine", "local", 5, claim="ns/c", affinity=on("n2")).volume("small", "local", 1),
            {"n2": "mine"},
            id="the one that is reserved for the claim, even if it is not the smallest",
        ),
        pytest.param(
            world().volume("mine", "local", 0, claim="ns/c").volume("small", "local", 1, affinity=on("n2")),
            {"n2": "small"},
            id="another one if the reserved one is too small",
        ),
    ],
)
def test_a_claim_that_waits_gets_a_static_volume(made: StorageWorld, chosen: dict[str, str]) -> None:
    made.claim("c", "local", 1)
    asked = ask(made, made.task("p", "c"))
    assert asked.nodes() == " ".join(chosen)
    assert {node: ask(made, asked.task).take(node).chosen()["c"] for node in chosen} == chosen
    assert set(asked.reasons()) <= {NO_VOLUME}


def test_a_claim_may_select_volumes_by_label() -> None:
    made = world().volume("v1", "local", 1, labels={"kind": "hdd"}).volume("v2", "local", 2, labels={"kind": "ssd"})
    made.claim("c", "local", 1, selector=labelled(kind="ssd"))
    assert ask(made, made.task("p", "c")).take("n1").chosen() == {"c": "v2"}


def test_claims_of_a_pod_get_different_volumes_the_smallest_claim_first() -> None:
    made = world().volume("v5", "local", 5).volume("v9", "local", 9)
    made.claim("large", "local", 3).claim("small", "local", 1)
    asked = ask(made, made.task("p", "large", "small"))
    assert asked.take("n1").chosen() == {"large": "v9", "small": "v5"}


def test_two_claims_cannot_share_the_only_volume() -> None:
    made = world().volume("v", "local", 5).volume("w", "local", 5, affinity=on("n2"))
    asked = ask(made, made.claim("c1", "local").claim("c2", "local").task("p", "c1", "c2"))
    assert asked.nodes() == "n2"
    assert asked.reasons() == {NO_VOLUME: "n1 n3"}


def test_a_volume_that_was_chosen_in_this_session_is_not_chosen_again() -> None:
    made = world().volume("v1", "local", 1).volume("v2", "local", 2, affinity=on("n3"))
    made.claim("c1", "local").claim("c2", "local").claim("c3", "local")
    handler = made.handler()
    assert ask(made, made.task("p1", "c1"), handler).take("n1").chosen() == {"c1": "v1"}
    second = ask(made, made.task("p2", "c2"), handler)
    assert second.nodes() == "n3"
    assert second.take("n3").chosen() == {"c2": "v2"}
    assert ask(made, made.task("p3", "c3"), handler).nodes() == ""


@pytest.mark.parametrize(
    ("made", "nodes", "reason"),
    [
        pytest.param(world().claim("c", "csi"), "n1 n2 n3", "", id="on every node"),
        pytest.param(world().claim("c", "local"), "", NO_VOLUME, id="nowhere if the class has no provisioner"),
        pytest.param(
            world().storage_class("zoned", topologies=within("b")).claim("c", "zoned"),
            "n3",
            NO_VOLUME,
            id="only in the topologies of the class",
        ),
        pytest.param(
            world().claim("c", "csi", selected_node="n2"), "n2", NO_VOLUME, id="only on the node selected before"
        ),
        pytest.param(world().claim("c", "csi", selected_node="gone"), "", NO_VOLUME, id="nowhere if that node is gone"),
        pytest.param(
            world().storage_class("zoned", topologies=within("b")).claim("c", "zoned", selected_node="n1"),
            "",
            NO_VOLUME,
            id="nowhere if the class does not allow the selected node",
        ),
    ],
)
def test_a_volume_is_made_for_a_claim_that_waits(made: StorageWorld, nodes: str, reason: str) -> None:
    asked = ask(made, made.task("p", "c"))
    assert asked.nodes() == nodes
    assert set(asked.reasons()) == ({reason} if reason else set())
    if nodes:
        assert asked.take(nodes.split()[-1]).chosen() == {"c": "*"}


def test_a_static_volume_is_preferred_to_a_new_one_where_there_is_one() -> None:
    made = world().volume("v", "csi", 2, affinity=on("n1")).claim("c", "csi")
    assert ask(made, made.task("p", "c")).take("n1").chosen() == {"c": "v"}
    assert ask(made, made.task("p", "c")).take("n2").chosen() == {"c": "*"}


@pytest.mark.parametrize("available", [pytest.param(True, id="chosen"), pytest.param(False, id="bound from its side")])
def test_a_volume_that_is_being_bound_to_the_claim_is_all_that_it_can_get(available: bool) -> None:
    made = world().volume("v", "csi", 2, affinity=on("n1"), claim="ns/c", claim_uid="uid-c", available=available)
    made.claim("c", "csi", volume="v").volume("w", "csi", 1)
    asked = ask(made, made.task("p", "c"))
    assert asked.nodes() == "n1"
    assert asked.take("n1").chosen() == {"c": "v"}


def test_a_reserved_volume_that_does_not_suit_is_left_alone() -> None:
    made = world().volume("small", "csi", 0, claim="ns/c").volume("other", "local", 5, claim="ns/c")
    made.claim("c", "csi", volume="other")
    assert ask(made, made.task("p", "c")).take("n1").chosen() == {"c": "*"}


def test_of_several_reserved_volumes_the_smallest_is_taken() -> None:
    made = world().volume("v2", "csi", 2, claim="ns/c").volume("v1", "csi", 1, claim="ns/c")
    made.claim("c", "csi", volume="v1")
    assert ask(made, made.task("p", "c")).take("n1").chosen() == {"c": "v1"}


def tracked(*sizes: int | None, largest: int | None = None) -> StorageWorld:
    """Free storage of class ``csi`` on each of the nodes n1, n2, n3, in GiB."""
    made = world().driver(tracks_capacity=True)
    for number, size in enumerate(sizes, start=1):
        made.capacity("csi", size, labelled(**{"kubernetes.io/hostname": f"n{number}"}), largest)
    return made


@pytest.mark.parametrize(
    ("made", "nodes"),
    [
        pytest.param(tracked(5, 10, 20), "n2 n3", id="where the capacity is as large as the request"),
        pytest.param(tracked(5, 10), "n2", id="not where nothing is said"),
        pytest.param(tracked(None, 10), "n2", id="not where the driver does not say"),
        pytest.param(tracked(5, 20, largest=9), "", id="not where the largest volume is smaller"),
        pytest.param(tracked(5, 20, largest=10), "n1 n2", id="where the largest volume is as large as the request"),
        pytest.param(
            world().capacity("csi", 5),
            "n1 n2 n3",
            id="everywhere if the driver does not ask for capacity to be checked",
        ),
        pytest.param(
            tracked(5, 5, 5).capacity("csi", 10, None), "", id="capacity without a selector is reached from no node"
        ),
        pytest.param(tracked(5, 5, 5).capacity("csi", 10), "n1 n2 n3", id="an empty selector selects all nodes"),
        pytest.param(tracked().capacity("other", 10), "", id="capacity of another class does not count"),
    ],
)
def test_a_volume_is_made_only_where_there_is_enough_storage(made: StorageWorld, nodes: str) -> None:
    asked = ask(made, made.claim("c", "csi", 10).task("p", "c"))
    assert asked.nodes() == nodes
    assert set(asked.reasons()) <= {NO_STORAGE}


def test_storage_is_taken_by_the_claims_of_the_session() -> None:
    made = tracked(25, 9, 9)
    for name in ("c1", "c2", "c3"):
        made.claim(name, "csi", 10)
    handler = made.handler()
    assert ask(made, made.task("p1", "c1"), handler).take("n1").chosen() == {"c1": "*"}
    assert ask(made, made.task("p2", "c2"), handler).take("n1").chosen() == {"c2": "*"}
    assert ask(made, made.task("p3", "c3"), handler).reasons() == {NO_STORAGE: "n1 n2 n3"}


def test_two_claims_of_a_pod_need_the_storage_together() -> None:
    made = tracked(15, 20, 5).claim("c1", "csi", 10).claim("c2", "csi", 10)
    asked = ask(made, made.task("p", "c1", "c2"))
    assert asked.nodes() == "n2"
    assert asked.reasons() == {NO_STORAGE: "n1 n3"}


def test_storage_is_taken_by_claims_whose_volumes_are_being_made() -> None:
    made = tracked(15, 5, 5).claim("busy", "csi", 10, selected_node="n1").claim("c", "csi", 10)
    assert ask(made, made.task("p", "c")).reasons() == {NO_STORAGE: "n1 n2 n3"}
    # The claim whose volume is being made has its part already.
    assert ask(made, made.task("q", "busy")).nodes() == "n1"


@pytest.mark.parametrize(
    ("made", "first", "second"),
    [
        pytest.param(world().claim("c", "csi"), "n2", "n2", id="a volume that is made: to the same node"),
        pytest.param(
            world().volume("v", "local", affinity=within("a")).claim("c", "local"),
            "n2",
            "n1 n2",
            id="a static volume: to the nodes that reach it",
        ),
    ],
)
def test_pods_that_share_a_claim_follow_the_first_of_them(made: StorageWorld, first: str, second: str) -> None:
    handler = made.handler()
    leader = ask(made, made.task("p1", "c"), handler).take(first)
    follower = ask(made, made.task("p2", "c"), handler)
    assert follower.nodes() == second
    assert follower.take(second.split()[0]).chosen() == leader.chosen()
    # The choice stays as long as one of them has its place.
    row = leader.names.index(first)
    had = handler.withdraw(leader.task, row)
    assert ask(made, made.task("p3", "c"), handler).nodes() == second
    handler.reinstate(leader.task, row, had)
    handler.give_back(follower.task, leader.names.index(second.split()[0]))
    handler.give_back(leader.task, row)
    assert ask(made, made.task("p3", "c"), handler).nodes() == ask(made, made.task("p4", "c")).nodes()


def test_pods_with_equal_claims_of_their_own_share_masks() -> None:
    made = world().volume("v", "csi", 2)
    for number in range(3):
        made.claim(f"c{number}", "csi", 2, modes=("ReadWriteOncePod",))
    made.claim("other", "csi", 3)
    handler = made.handler()
    kinds = {handler.class_of(made.task(f"p{number}", f"c{number}")) for number in range(3)}
    assert len(kinds) == 1
    assert handler.class_of(made.task("q", "other")) not in kinds


def test_how_many_pods_can_get_volumes_is_counted() -> None:
    made = world().volume("v1", "local", 1).volume("v2", "local", 2).volume("v3", "local", 3, affinity=on("n1"))
    made.claim("c", "local", 2)
    (room,) = made.handler().limits(made.task("p", "c"))
    assert (room.reason, room.most.tolist(), room.together) == (NO_VOLUME, [2, 1, 1], 2)


def test_how_many_pods_storage_holds_is_counted() -> None:
    made = tracked(25, 5, 10).claim("c", "csi", 10)
    (room,) = made.handler().limits(made.task("p", "c"))
    assert (room.reason, room.most.tolist(), room.together) == (NO_STORAGE, [2, 0, 1], 3)


def test_requests_are_compared_in_bytes() -> None:
    made = tracked(1, 2).claim("c", "csi")
    made.claims["ns/c"] = msgspec.structs.replace(made.claims["ns/c"], request=GI + 1)
    assert ask(made, made.task("p", "c")).nodes() == "n2"


@pytest.mark.parametrize(
    ("made", "kind", "nodes"),
    [
        pytest.param(tracked(15, 20, 5), "csi", [False, True, False], id="too little storage for both"),
        pytest.param(
            world().volume("v", "local", 10).volume("w", "local", 10, affinity=on("n2")),
            "local",
            [False, True, False],
            id="one volume for two claims",
        ),
    ],
)
def test_masks_leave_out_nodes_that_cannot_serve_all_claims_of_a_pod(
    made: StorageWorld, kind: str, nodes: list[bool]
) -> None:
    made.claim("c1", kind, 10).claim("c2", kind, 10)
    (check,) = made.handler().checks(made.task("p", "c1", "c2"))
    assert check.passes.tolist() == nodes
