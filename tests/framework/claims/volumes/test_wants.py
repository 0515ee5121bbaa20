"""Claims that no node can serve: the words are those of kube-scheduler, and nothing is evicted for them."""

from __future__ import annotations

import pytest

from tests.support.storage_world import StorageWorld, ask
from vsched.framework.claims.handler import ClaimRules
from vsched.framework.claims.volumes import words as said
from vsched.framework.codes import Code

NOT_OWNED = said.not_owner("ns/p-tmp", "ns/p")
UNBOUND = said.not_bound("data")
GONE = said.volume_gone("data")


def world() -> StorageWorld:
    return StorageWorld(n1="", n2="").storage_class("slow").storage_class("now", waits=False)


@pytest.mark.parametrize(
    ("made", "claim", "words"),
    [
        pytest.param(world(), "data", said.not_found(["data"]), id="the claim does not exist"),
        pytest.param(
            world().claim("data", "slow", lost=True, volume="pv1"),
            "data",
            said.lost("data", "pv1"),
            id="the claim is lost",
        ),
        pytest.param(
            world().claim("data", "slow", deleting=True),
            "data",
            said.deleting("data"),
            id="the claim is being deleted",
        ),
        pytest.param(
            world().claim("data", "now"), "data", UNBOUND, id="a claim of an immediate class is not bound yet"
        ),
        pytest.param(
            world().claim("data"),
            "data",
            said.names_no_class("data"),
            id="a claim without a class",
        ),
        pytest.param(
            world().claim("data", "none"),
            "data",
            said.no_class("data", "none"),
            id="the class of a claim does not exist",
        ),
        pytest.param(
            world().claim("data", "slow", volume="pv1").volume("pv1", "slow"),
            "data",
            UNBOUND,
            id="the claim names a volume that is not reserved for it, and is not bound yet",
        ),
        pytest.param(world().claim("data", "slow", volume="pv1", bound=True), "data", GONE, id="the volume is gone"),
    ],
)
def test_a_claim_that_cannot_be_used_keeps_the_pod_off_all_nodes(made: StorageWorld, claim: str, words: str) -> None:
    refusal = made.handler().obstacle(made.task("p", claim))
    assert refusal is not None
    assert refusal.message == words
    assert (refusal.code, refusal.subject) == (Code.CLAIM, "ns/data")


@pytest.mark.parametrize(
    ("made", "words"),
    [
        pytest.param(
            world(),
            said.not_made("p-tmp"),
            id="the claim is not made yet",
        ),
        pytest.param(world().claim("p-tmp", "slow"), NOT_OWNED, id="a claim of that name belongs to nobody"),
        pytest.param(world().claim("p-tmp", "slow", owner="uid-q"), NOT_OWNED, id="it belongs to another pod"),
        pytest.param(world().claim("p-tmp", "slow", owner="uid-p"), "", id="it belongs to the pod"),
    ],
)
def test_a_generic_ephemeral_volume_needs_a_claim_of_its_own(made: StorageWorld, words: str) -> None:
    refusal = made.handler().obstacle(made.task("p", ephemeral=["tmp"]))
    assert ("" if refusal is None else refusal.message) == words


def test_the_first_claim_of_the_pod_with_an_obstacle_is_told() -> None:
    made = world().claim("a", "now").claim("b", "slow", deleting=True)
    refusal = made.handler().obstacle(made.task("p", "a", "b"))
    assert refusal is not None
    assert refusal.message == said.deleting("b")


def test_pods_without_volume_claims_are_no_concern() -> None:
    made = world()
    assert not made.handler().concerns(made.task("p"))
    assert made.handler().concerns(made.task("p", "data"))


def test_without_volume_binding_claims_bind_no_pod_to_a_node() -> None:
    made = world().claim("data", "now").claim("old", "slow", deleting=True)
    asked = ask(made, made.task("p", "data", "old"), rules=ClaimRules(volume_binding=False))
    assert asked.nodes() == "n1 n2"
    assert asked.take("n1").chosen() == {}
