"""What an explanation says of pods whose claims find too few devices, or that wait for volumes."""

from __future__ import annotations

import pytest

from tests.explain.claims.gangs import gang, machine
from tests.support.builders import Fields, node, pod, pod_group
from tests.support.devices import (
    allocated,
    device,
    device_class,
    pod_claims,
    request,
    resource_claim,
    resource_slice,
)
from tests.support.plans import DEFAULT_POLICY, NOW, mirror
from tests.support.volumes import claim, claim_volumes, storage_class
from vsched.api.manifests import Origin
from vsched.cli.plan.claims import with_claims
from vsched.explain.claims import words as claims_words
from vsched.explain.explaining import explain
from vsched.explain.records import Explanation
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.mirror.state import words as state_words
from vsched.settings.built_in import REGISTRY

LARGE = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0'

ONE, TWO = (claims_words.of_class(number, "gpu.example.com") for number in ("1", "2"))


def explained(key: str, *manifests: Fields) -> Explanation:
    """The explanation of a job or pod of the cluster with these objects."""
    objects = [found for _, found in with_claims([(Origin("text", ""), one) for one in manifests])]
    snapshot = mirror(objects).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    namespace, _, name = key.partition("/")
    found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, namespace, name, simulations=0)
    assert found is not None
    return found


def test_too_few_devices_on_any_node() -> None:
    found = explained("ns/g", device_class(), *machine("n1", 2), *machine("n2", 1), *gang(1, request("gpus", 4)))
    [one] = found.claims
    assert one.missing == claims_words.no_node_has_more("4 of class gpu.example.com", 2, 3)
    assert one.state == "has no devices yet"
    said = [each for each in found.constraints if each.message == f"ResourceClaim {one.names[0]}: {one.missing}"]
    assert [(each.code, each.lasting) for each in said] == [(Code.DEVICES, True)]
    assert found.state == "never"


def test_devices_that_others_have() -> None:
    user = pod("user", node="n1", status={"phase": "Running"})
    taken = allocated(resource_claim("taken"), "n1", "gpu-0", "gpu-1", "gpu-2", pods=[user])
    objects = [device_class(), *machine("n1", 4), *machine("n2", 1), user, taken]
    found = explained("ns/g", *objects, *gang(1, request("gpus", 2)))
    assert found.claims[0].missing == claims_words.free_on_one_node(1, TWO, 2, 5)


def test_what_this_session_gave_to_a_job_before_is_not_free() -> None:
    older = {"creationTimestamp": "2020-01-01T00:00:00Z"}
    first = pod("first", spec={"resourceClaims": pod_claims(gpu="own")}, metadata=older)
    own = resource_claim("own", request("gpus", 3))
    younger = gang(1, request("gpus", 2))
    younger[1]["metadata"]["creationTimestamp"] = "2021-01-01T00:00:00Z"
    found = explained("ns/g", device_class(), *machine("n1", 4), first, own, *younger)
    assert found.claims[0].missing == claims_words.free_on_one_node(1, TWO, 1, 4)


def test_a_gang_asks_for_more_than_is_free_on_all_nodes_together() -> None:
    user = pod("user", node="n1", status={"phase": "Running"})
    taken = allocated(resource_claim("taken"), "n1", "gpu-0", pods=[user])
    objects = [device_class(), *machine("n1", 3), *machine("n2", 2), user, taken]
    found = explained("ns/g", *objects, *gang(3, request("gpus", 2)))
    [said] = [each for each in found.constraints if each.message.startswith("its pods ask")]
    assert said.message == claims_words.fewer_in_all("6 of class gpu.example.com", 5)
    assert (said.code, said.lasting, found.state) == (Code.DEVICES, True, "never")
    fits = explained("ns/g", *objects, *machine("n3", 1), *gang(3, request("gpus", 2)))
    [said] = [each for each in fits.constraints if each.message.startswith("its pods ask")]
    assert said.message == claims_words.fewer_free("6 of class gpu.example.com", 5, 6)
    assert (said.lasting, fits.state) == (False, "waits")


def test_devices_that_no_selector_matches() -> None:
    objects = [device_class(), *machine("n1", 2)]
    found = explained("ns/g", *objects, *gang(1, request("gpus", 2, f'device.driver == "other" && {LARGE}')))
    assert found.claims[0].missing == (claims_words.no_device_matches(f"{TWO} with driver other, memory ≥ 80Gi"))


BURN_IN = "example.com/burn-in=yes:NoSchedule"


@pytest.mark.parametrize(
    ("tainted", "asked", "says"),
    [
        pytest.param(
            [[BURN_IN], [BURN_IN]],
            1,
            f"{ONE} asked{claims_words.not_tolerated(2, [BURN_IN], more=False)}",
            id="all",
        ),
        pytest.param(
            [[BURN_IN]],
            1,
            f"{ONE} asked{claims_words.not_tolerated(1, [BURN_IN], more=False)}",
            id="the only one",
        ),
        pytest.param(
            [[], [BURN_IN]],
            2,
            claims_words.no_node_has_more(TWO, 1, 1) + claims_words.not_tolerated(1, [BURN_IN], more=True),
            id="one of two",
        ),
        pytest.param(
            [["a=b:NoSchedule"], ["c:NoExecute"]],
            2,
            f"{TWO} asked{claims_words.not_tolerated(2, ['a=b:NoSchedule', 'c:NoExecute'], more=False)}",
            id="different ones",
        ),
    ],
)
def test_devices_that_taints_keep_a_claim_off(tainted: list[list[str]], asked: int, says: str) -> None:
    devices = [device(f"gpu-{number}", taints=taints) for number, taints in enumerate(tainted)]
    found = explained(
        "ns/g", device_class(), node("n1"), resource_slice("n1", devices), *gang(1, request("gpus", asked))
    )
    assert found.claims[0].missing == says


@pytest.mark.parametrize(
    ("published", "why"),
    [
        pytest.param(resource_slice("n1", 2, count=2), claims_words.SLICES_MISSING, id="a slice is missing"),
        pytest.param(
            resource_slice("n1", [device("a"), device("a")]),
            state_words.there_more_than_once("device", "a"),
            id="a name comes twice",
        ),
    ],
)
def test_a_pool_that_cannot_be_used_is_named(published: Fields, why: str) -> None:
    found = explained("ns/g", device_class(), node("n1"), published, *gang(1, request("gpus", 2)))
    cannot = claims_words.pool_cannot_be_used("n1", "gpu.example.com", why)
    assert found.claims[0].missing == f"{claims_words.no_device_matches(TWO)}; {cannot}"


def test_nothing_is_missing_where_one_node_has_enough() -> None:
    found = explained("ns/g", device_class(), *machine("n1", 2), *gang(2, request("gpus", 2)))
    assert [one.missing for one in found.claims] == [""]


def test_the_claims_of_a_gang_are_counted_together() -> None:
    found = explained("ns/g", device_class(), *machine("n1", 2), *gang(5, request("gpus", 4)))
    [one] = found.claims
    assert (one.count, len(one.names)) == (5, 3)


def test_a_pod_says_that_its_claim_does_not_exist() -> None:
    found = explained("ns/p", node("n1"), pod("p", spec={"volumes": claim_volumes("data")}))
    [one] = found.claims
    assert (one.names, one.state, one.usable) == (("data",), "does not exist", False)
    assert f"PersistentVolumeClaim data {claims_words.DOES_NOT_EXIST}" in found.message
    assert found.constraints[0].code == Code.CLAIM


def test_a_pod_on_its_way_shows_its_claims() -> None:
    volume = {"volumes": claim_volumes("data")}
    found = explained("ns/p", node("n1"), storage_class(), claim("data"), pod("p", spec=volume))
    assert found.state == "starting"
    [one] = found.claims
    assert one.state == claims_words.gets_new_volume("", "")


@pytest.mark.parametrize(
    ("objects", "told"),
    [
        pytest.param([], f"PersistentVolumeClaim data {claims_words.DOES_NOT_EXIST}", id="no claim"),
        pytest.param(
            [claim("data", storage_class="fastt")],
            f"PersistentVolumeClaim data {claims_words.lost_storage_class('fastt')}",
            id="no class",
        ),
        pytest.param(
            [claim("data", storage_class="now"), storage_class("now", waits=False)],
            "",
            id="one that the volume controller binds first",
        ),
    ],
)
def test_claims_that_nobody_but_a_person_can_mend_are_told_as_what_never_passes(
    objects: list[Fields], told: str
) -> None:
    waiting = pod("p", group="p", spec={"volumes": claim_volumes("data")})
    found = explained("ns/p", node("n1"), pod_group("p", spec={"queue": "default"}), waiting, *objects)
    said = [one.message for one in found.constraints if one.code is Code.CLAIM and one.lasting]
    assert (said, str(found.state)) == ([told] if told else [], "never" if told else "waits")
