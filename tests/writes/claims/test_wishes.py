"""What a gang needs, from the placements and the snapshot that they were decided on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support import builders as make
from tests.support import devices, volumes
from tests.support.claiming import allocation
from tests.support.mirrors import World
from vsched.model.claims.catalogue import ClaimCatalogue, DeviceCatalogue
from vsched.model.claims.devices import ClaimConsumer
from vsched.model.claims.plan import ClaimPlan, DeviceChoice, VolumeChoice
from vsched.model.plan import Bind
from vsched.model.snapshot import Snapshot
from vsched.writes.claims.wishes import GangWish, VolumeWish, claiming, gang_wish

A, B = make.pod("a"), make.pod("b")


def wishes(binds: list[Bind], snapshot: Snapshot) -> dict[str, GangWish]:
    return {job: gang_wish(job, gang, snapshot) for job, gang in claiming(binds).items()}


def bind(name: str, job: str = "ns/g", node: str = "n1", **plan: Any) -> Bind:
    return Bind(f"uid-{name}", "ns", name, node, job, ClaimPlan(**plan) if plan else None)


def test_gangs_without_claims_are_nobodys_concern() -> None:
    assert wishes([bind("a"), bind("b", "ns/h")], World().snapshot()) == {}


def test_a_gang_has_all_of_its_placements_and_no_other_gang() -> None:
    binds = [bind("a"), bind("b", reserve=("ns/gpus",)), bind("c", "ns/h")]
    found = wishes(binds, World(devices.resource_claim()).snapshot())
    assert {job: [each.name for each in wish.binds] for job, wish in found.items()} == {"ns/g": ["a", "b"]}


def test_a_claim_that_pods_share_is_one_wish_with_the_first_choice() -> None:
    given = allocation("n1", "gpu-0")
    choice = DeviceChoice("ns/gpus", "uid-gpus", given)
    binds = [bind("a", devices=(choice,), reserve=("ns/gpus",)), bind("b", reserve=("ns/gpus",))]
    [wish] = wishes(binds, World(devices.resource_claim()).snapshot())["ns/g"].devices
    assert (wish.key, wish.uid, wish.allocation, wish.allocate) == ("ns/gpus", "uid-gpus", given, True)
    assert wish.consumers == (ClaimConsumer("uid-a", "a"), ClaimConsumer("uid-b", "b"))
    assert wish.classes == (devices.DRIVER,)


def test_a_claim_that_has_devices_is_expected_to_keep_them() -> None:
    claim = devices.allocated(devices.resource_claim(), "n1", "gpu-0", pods=[A])
    [wish] = wishes([bind("a", reserve=("ns/gpus",))], World(claim).snapshot())["ns/g"].devices
    assert wish.uid == "uid-gpus"
    assert not wish.allocate
    assert wish.allocation is not None
    assert [each.device.device for each in wish.allocation.devices] == ["gpu-0"]
    assert wish.classes == ()


def test_what_is_expected_of_a_volume_claim() -> None:
    world = World(
        make.node("n1"),
        volumes.claim("made"),
        volumes.claim("chosen"),
        volumes.claim("before", selected_node="n1"),
    )
    choices = (VolumeChoice("ns/made", "uid-made"), VolumeChoice("ns/chosen", "uid-chosen", "pv"))
    gang = wishes([bind("a", volumes=choices, wait=("ns/made", "ns/chosen", "ns/before"))], world.snapshot())["ns/g"]
    assert gang.volumes == (
        VolumeWish("ns/made", "uid-made", "n1", selected_node="n1", choose=True),
        VolumeWish("ns/chosen", "uid-chosen", "n1", volume="pv", choose=True),
        VolumeWish("ns/before", "uid-before", "n1", selected_node="n1"),
    )
    assert gang.labels == {"n1": {volumes.HOSTNAME: "n1"}}
    assert gang.holds() == {
        ("PersistentVolumeClaim", "ns/made"),
        ("PersistentVolumeClaim", "ns/chosen"),
        ("PersistentVolumeClaim", "ns/before"),
        ("PersistentVolume", "pv"),
    }
    assert [each.name for each in gang.users("PersistentVolume", "pv")] == ["a"]
    assert gang.users("ResourceClaim", "ns/other") == []


def test_extended_resources_have_a_claim_for_each_pod() -> None:
    gpu = "example.com/gpu"
    snapshot = World(A).snapshot()
    served = DeviceCatalogue(extended={snapshot.axis.column(gpu): "gpus"})
    snapshot = replace(snapshot, claims=ClaimCatalogue(devices=served))
    given = allocation("n1", "gpu-0", request=gpu)
    gang = wishes([bind("a", devices=(DeviceChoice("", "", given),))], snapshot)["ns/g"]
    [wish] = gang.extended
    assert (wish.pod, wish.allocation, wish.made) == (ClaimConsumer("uid-a", "a"), given, "")
    assert wish.classes == ((gpu, "gpus"),)
    assert gang.holds() == {("ResourceClaim", wish.key)}
    assert gang.devices == ()


def test_a_claim_that_was_made_for_extended_resources_is_used_again() -> None:
    claim = devices.from_template(devices.allocated(devices.resource_claim("made"), "n1", "gpu-0", pods=[A]), A)
    claim["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    snapshot = World(A, claim).snapshot()
    assert snapshot.claims.devices.made == {"uid-a": "ns/made"}
    gang = wishes([bind("a", reserve=("ns/made",))], snapshot)["ns/g"]
    assert gang.devices == ()
    [wish] = gang.extended
    assert (wish.made, wish.key) == ("made", "ns/made")
    assert [each.request for each in wish.allocation.devices] == ["gpu"]
