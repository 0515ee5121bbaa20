"""Claims that pods hold which wait: what no placement of the cycle uses is given back."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from tests.support.devicesets import GPU, gpus, has, request, spec
from tests.support.plans import DEFAULT_POLICY
from tests.support.small import SmallCluster
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.claims.catalogue import ClaimCatalogue, DeviceCatalogue, VolumeCatalogue
from vsched.model.claims.devices import ClaimConsumer, DeviceClaim
from vsched.model.claims.plan import ClaimRelease
from vsched.model.claims.volumes import StorageClass, Volume, VolumeClaim
from vsched.model.pods.claims import PodClaims, PodDevices, PodVolume
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.settings.built_in import REGISTRY

WAITS = StorageClass("late", "example.com/disks", waits=True)


def volume_claim(*, selected_node: str = "", volume: str = "", bound: bool = False) -> VolumeClaim:
    """The claim that the pod names."""
    return VolumeClaim("ns/data", "uid-data", "late", 1, selected_node=selected_node, volume=volume, bound=bound)


class World:
    """A node with four cores and a device, a pod ``a-0`` that asks for so many cores, and what it holds."""

    def __init__(self, cpu: int, *, named: bool = True) -> None:
        self.cluster = SmallCluster().node("n1", cpu=4000)
        self.job = self.cluster.job("a", 0, min_member=1)
        self.shape = self.cluster.shape(cpu=cpu)
        self.devices: dict[str, DeviceClaim] = {}
        self.volumes: dict[str, VolumeClaim] = {}
        self.disks: dict[str, Volume] = {}
        self.device_users: dict[str, dict[str, Task]] = {}
        self.volume_users: dict[str, dict[str, Task]] = {}
        self.policy: Policy = DEFAULT_POLICY
        claims = PodClaims((PodVolume("data"),), (PodDevices("gpu", "ns/gpu"),))
        self.pod = self.cluster.task(self.job, "a-0", self.shape, claims=claims if named else None)
        self.volumes["ns/data"] = volume_claim(volume="pv", bound=True)
        self.disks["pv"] = Volume("pv", "late", 1, available=False, claim="ns/data", claim_uid="uid-data")
        self.device("gpu")

    def device(self, name: str, *consumers: str, owner: str = "") -> None:
        """A ResourceClaim with the device, reserved for pods by uid."""
        reserved = tuple(ClaimConsumer(uid, uid.removeprefix("ns-")) for uid in consumers)
        allocation = has("gpu-0") if consumers else None
        self.devices[f"ns/{name}"] = DeviceClaim(
            f"ns/{name}", f"uid-{name}", spec(request()), allocation, reserved, owner=owner
        )

    def run(self) -> list[tuple[str, bool, str]]:
        """What is released, and for which job."""
        catalogue = ClaimCatalogue(
            VolumeCatalogue(self.volumes, self.disks, {}, {"late": WAITS}, users=self.volume_users),
            DeviceCatalogue(
                self.devices,
                {GPU.name: GPU},
                (gpus("n1", 1),),
                {key: claim for key, claim in self.devices.items() if claim.allocation is not None},
                self.device_users,
                made={claim.owner: key for key, claim in self.devices.items() if claim.owner},
            ),
        )
        report = run_cycle(replace(self.cluster.snapshot(), claims=catalogue), self.policy, REGISTRY)
        assert all(isinstance(one, ClaimRelease) and one.uid and one.reason for one in report.released)
        return [(one.claim, one.device, one.job) for one in report.released]


def test_a_cluster_without_claims_releases_nothing() -> None:
    cluster = SmallCluster().node("n1")
    cluster.job("a", 1)

    assert run_cycle(cluster.snapshot(), DEFAULT_POLICY, REGISTRY).released == ()


@pytest.mark.parametrize(
    ("cpu", "released"),
    [
        pytest.param(9000, [("ns/gpu", True, "ns/a")], id="a pod that finds no room gives its devices back"),
        pytest.param(1000, [], id="a pod that is placed keeps them"),
    ],
)
def test_devices_of_a_waiting_pod(cpu: int, released: list[tuple[str, bool, str]]) -> None:
    world = World(cpu)
    world.device("gpu", "ns-a-0")

    assert world.run() == released


def test_devices_that_a_pod_with_a_node_uses_as_well_stay() -> None:
    world = World(9000)
    world.device("gpu", "ns-a-0", "ns-b-0")
    world.device_users["ns/gpu"] = {"ns-b-0": world.pod.moved(Status.RUNNING, "n1")}

    assert world.run() == []


def test_devices_that_are_reserved_for_pods_of_others_stay() -> None:
    world = World(9000)
    world.device("gpu", "ns-a-0", "somebody")

    assert world.run() == []


def test_devices_made_for_extended_resources_are_given_back_too() -> None:
    world = World(9000, named=False)
    world.device("a-0-extended", "ns-a-0", owner="ns-a-0")

    assert world.run() == [("ns/a-0-extended", True, "ns/a")]


@pytest.mark.parametrize(
    ("cpu", "claim", "released"),
    [
        pytest.param(
            9000,
            volume_claim(selected_node="n1"),
            [("ns/data", False, "ns/a")],
            id="a volume that was to be made for it",
        ),
        pytest.param(
            9000, volume_claim(volume="pv"), [("ns/data", False, "ns/a")], id="a volume that was chosen for it"
        ),
        pytest.param(
            9000, volume_claim(volume="pv", bound=True), [], id="not one that is bound: it is the claim's for good"
        ),
        pytest.param(9000, volume_claim(), [], id="nor one for which nothing was chosen"),
    ],
)
def test_volumes_of_a_waiting_pod(cpu: int, claim: VolumeClaim, released: list[tuple[str, bool, str]]) -> None:
    world = World(cpu)
    world.volumes["ns/data"] = claim

    assert world.run() == released


def test_a_volume_that_a_pod_with_a_node_waits_for_stays() -> None:
    world = World(9000)
    world.volumes["ns/data"] = volume_claim(selected_node="n1")
    world.volume_users["ns/data"] = {"ns-b-0": world.pod.moved(Status.RUNNING, "n1")}

    assert world.run() == []


def test_a_policy_that_places_nothing_gives_back_what_waits() -> None:
    world = World(1000)
    world.device("gpu", "ns-a-0")
    world.policy = msgspec.structs.replace(DEFAULT_POLICY, actions=("enqueue",))

    assert world.run() == [("ns/gpu", True, "ns/a")]
