"""What the mirror shows saves reads: first writes that go out without one, and objects that are not read again."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from tests.support import builders as make
from tests.support import devices, volumes
from tests.support.claiming import NS, RESOURCE_CLAIMS, Claiming, allocation, claiming, cluster_with, on_node
from tests.support.fault_proxy import faulty
from tests.support.waiting import until
from tests.writes.claims.reading import told
from vsched.daemon.watches import reflectors
from vsched.mirror.state.resource_versions import SeenObject, SeenVersions
from vsched.model.claims.devices import ClaimConsumer, DeviceClaim
from vsched.model.claims.volumes import Volume, VolumeClaim
from vsched.model.pods.shape import NodeTerm, Requirement
from vsched.sim.cluster import Cluster
from vsched.writes.claims import words
from vsched.writes.claims.devices import protect
from vsched.writes.claims.transaction import TransactionPhase
from vsched.writes.claims.transactions import TransactionSettings
from vsched.writes.claims.volumes import reaches, select_unread, shown_volume, unchanged
from vsched.writes.claims.waiting import WaitSettings
from vsched.writes.claims.wishes import ClaimedDevices, VolumeWish

WAITS = volumes.storage_class(zones=("a", "b"))
DATA = volumes.claim("data", namespace="default")
GPUS = devices.resource_claim("gpus", namespace="default")
FOLLOWED = ("ResourceClaim", "PersistentVolumeClaim", "PersistentVolume")
CHANGED = {"metadata": {"labels": {"changed": "by-somebody"}}}


@asynccontextmanager
async def watching(
    cluster: Cluster, kinds: Sequence[str] = FOLLOWED
) -> AsyncIterator[tuple[Claiming, dict[str, list[str]]]]:
    """Transactions whose mirror follows these kinds; also the requests for each claim."""
    requests: dict[str, list[str]] = defaultdict(list)
    patient = TransactionSettings(waits=WaitSettings(pods_seconds=0.02, objects_seconds=60.0))
    async with (
        faulty(cluster.url) as proxy,
        claiming(cluster, proxy.url, settings=patient) as at,
        asyncio.TaskGroup() as group,
    ):
        at.cache.events.on_claim.add(at.gangs.changed)
        found = reflectors(at.client, at.cache, {}, lambda statistics: None)
        followed = [found[kind] for kind in kinds]
        tasks = [group.create_task(each.run()) for each in followed]
        for each in followed:
            await each.synced.wait()
        proxy.on_request = lambda method, path: requests[path.partition("?")[0].split("/default/")[-1]].append(method)
        yield at, requests
        for task in tasks:
            task.cancel()


def submit(at: Claiming) -> None:
    """A gang with a device, and with a volume that has to be made."""
    at.submit(
        at.bind(at.pod(), volumes=(at.choose("data"),), wait=("default/data",)),
        at.bind(at.pod(), devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",)),
    )


async def test_what_the_watch_shows_is_not_read() -> None:
    manifests = (WAITS, DATA, GPUS, devices.device_class())
    async with cluster_with(*manifests, provisioning=0.5) as cluster, watching(cluster) as (at, requests):
        submit(at)
        await until(lambda: not at.gangs.busy)
        assert at.nodes() == {"p1": "n1", "p2": "n1"}
        assert at.get(RESOURCE_CLAIMS, "gpus")["metadata"]["finalizers"] == [devices.FINALIZER]
        assert requests["resourceclaims/gpus"] + requests["resourceclaims/gpus/status"] == ["PATCH", "PATCH"]
        wanted = requests["persistentvolumeclaims/data"]
        assert wanted[0] == "PATCH", "the node is selected without a read"
        assert wanted[1:] in ([], ["GET"]), "that it is bound is read only where the watch of volumes is behind"


async def test_a_claim_that_is_deleted_while_the_watch_is_followed_gives_everything_back() -> None:
    manifests = (WAITS, DATA, GPUS, devices.device_class())
    async with cluster_with(*manifests, provisioning=3600.0) as cluster, watching(cluster) as (at, _):
        submit(at)
        await until(lambda: at.gangs.phases()[TransactionPhase.WAITING])
        cluster.client.delete(RESOURCE_CLAIMS, "default", "gpus")
        at.bind_volume("data", "pv-1")
        await until(lambda: not at.gangs.busy)
        assert [obstacle.why for _, obstacle in at.undone] == [words.is_being_deleted("ResourceClaim", "default/gpus")]
        assert at.nodes() == {}


async def test_a_first_write_that_was_decided_on_an_old_version_is_followed_by_a_read() -> None:
    volumes_only = FOLLOWED[1:]
    async with (
        cluster_with(GPUS, devices.device_class()) as cluster,
        watching(cluster, volumes_only) as (at, requests),
    ):
        at.cache.intake.apply("ResourceClaim", "ADDED", make.read(at.get(RESOURCE_CLAIMS, "gpus")))
        cluster.client.patch(RESOURCE_CLAIMS, NS, "gpus", lambda found: make.merged(found, CHANGED))
        at.submit(at.bind(at.pod(), devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",)))
        await until(lambda: not at.gangs.busy)
        assert at.nodes() == {"p1": "n1"}
        assert requests["resourceclaims/gpus"][:3] == ["PATCH", "GET", "PATCH"]


GIVEN = allocation("n1", "gpu-0")
GPU = DeviceClaim("ns/gpus", "uid-gpus")
GPU_WISH = ClaimedDevices("ns/gpus", "uid-gpus", GIVEN, True, (ClaimConsumer("uid-a", "a"),))


def test_a_claim_is_protected_without_a_read() -> None:
    step = protect(SeenObject(GPU, "7"), GPU_WISH)
    assert step is not None
    assert told(step) == (
        "PATCH",
        "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/gpus",
        {"metadata": {"uid": "uid-gpus", "resourceVersion": "7", "finalizers": [devices.FINALIZER]}},
    )


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(None, id="the mirror does not show it"),
        pytest.param(DeviceClaim("ns/gpus", "another"), id="another of the same name"),
        pytest.param(DeviceClaim("ns/gpus", "uid-gpus", deleting=True), id="it is being deleted"),
        pytest.param(DeviceClaim("ns/gpus", "uid-gpus", allocation=GIVEN), id="it has devices"),
        pytest.param(
            DeviceClaim("ns/gpus", "uid-gpus", protected=True), id="it has the finalizer: nothing would change"
        ),
    ],
)
def test_a_claim_that_has_to_be_read_before_it_is_protected(claim: DeviceClaim | None) -> None:
    assert protect(None if claim is None else SeenObject(claim, "7"), GPU_WISH) is None


MADE = VolumeWish("ns/data", "uid-data", "n1", selected_node="n1", choose=True)


CLASS_PATH = f"/apis/resource.k8s.io/v1/deviceclasses/{devices.DRIVER}"


def give(at: Claiming, *numbers: int) -> None:
    """Gangs of a pod each, with a device of the class."""
    for number in numbers:
        given = at.give(f"gpus-{number}", allocation("n1", f"gpu-{number}"))
        plan = {"devices": (given,), "reserve": (f"default/gpus-{number}",)}
        at.submit(at.bind(at.pod(), job=f"default/g-{number}", **plan))


@pytest.mark.parametrize(
    ("kinds", "read", "again"),
    [
        pytest.param((*FOLLOWED, "DeviceClass"), 1, 2, id="the watch shows it"),
        pytest.param(FOLLOWED, 2, 3, id="no watch shows it"),
    ],
)
async def test_a_class_is_read_once_for_all_gangs_until_it_changes(kinds: Sequence[str], read: int, again: int) -> None:
    claims = [devices.resource_claim(f"gpus-{number}", namespace="default") for number in range(5)]
    config = [{"opaque": {"driver": devices.DRIVER, "parameters": {"mode": "new"}}}]
    async with (
        cluster_with(devices.device_class(), *claims) as cluster,
        watching(cluster, kinds) as (at, requests),
    ):
        give(at, 0, 1, 2)
        await until(lambda: not at.gangs.busy)
        assert len(requests[CLASS_PATH]) == 1, "they came at once"
        give(at, 3)
        await until(lambda: not at.gangs.busy)
        assert len(requests[CLASS_PATH]) == read
        path, name = "resource.k8s.io/deviceclasses", devices.DRIVER
        before = cluster.client.get(path, "", name)
        assert before is not None
        cluster.client.patch(path, "", name, lambda found: make.merged(found, {"spec": {"config": config}}))
        await until(lambda: not at.cache.intake.shows("DeviceClass", name, before["metadata"]["resourceVersion"]))
        give(at, 4)
        await until(lambda: not at.gangs.busy)
        assert len(requests[CLASS_PATH]) == again
        given = at.get(RESOURCE_CLAIMS, "gpus-4")["status"]["allocation"]["devices"]
        assert given["config"] == [{"source": "FromClass", "requests": ["gpu"], **config[0]}]
        assert sorted(at.nodes()) == ["p1", "p2", "p3", "p4", "p5"]


async def test_a_claim_that_was_just_written_is_not_read_before_the_binding() -> None:
    claim = devices.resource_claim("gpus-0", namespace="default")
    async with cluster_with(devices.device_class(), claim) as cluster, watching(cluster, ()) as (at, requests):
        give(at, 0)
        await until(lambda: not at.gangs.busy)
        assert at.nodes() == {"p1": "n1"}
        assert requests["resourceclaims/gpus-0"] == ["GET", "PATCH"], "no watch shows it, so it is read at first"
        assert requests["resourceclaims/gpus-0/status"] == ["PATCH"]


async def test_that_a_class_is_missing_is_not_remembered() -> None:
    claims = [devices.resource_claim(f"gpus-{number}", namespace="default") for number in range(2)]
    async with (
        cluster_with(*claims) as cluster,
        watching(cluster, (*FOLLOWED, "DeviceClass")) as (at, _),
    ):
        give(at, 0)
        await until(lambda: bool(at.undone))
        assert "does not exist" in at.undone[0][1].why
        cluster.client.create("resource.k8s.io/deviceclasses", devices.device_class())
        give(at, 1)
        await until(lambda: not at.gangs.busy)
        assert at.reserved("gpus-1") == ["p2"]


def disk(
    uid: str = "uid-data",
    *,
    volume: str = "",
    bound: bool = False,
    selected_node: str = "",
    lost: bool = False,
    deleting: bool = False,
) -> VolumeClaim:
    return VolumeClaim(
        "ns/data", uid, volume=volume, bound=bound, selected_node=selected_node, lost=lost, deleting=deleting
    )


def test_a_node_is_selected_without_a_read() -> None:
    step = select_unread(SeenObject(disk(), "7"), MADE)
    assert step is not None
    annotations = {volumes.SELECTED_NODE: "n1"}
    assert told(step) == (
        "PATCH",
        "/api/v1/namespaces/ns/persistentvolumeclaims/data",
        {"metadata": {"uid": "uid-data", "resourceVersion": "7", "annotations": annotations}},
    )


@pytest.mark.parametrize(
    ("claim", "selects", "waits"),
    [
        pytest.param(None, False, False, id="the mirror does not show it"),
        pytest.param(disk(), True, False, id="no node was selected"),
        pytest.param(disk(selected_node="n1"), False, True, id="the node was selected, and the volume is being made"),
        pytest.param(disk(selected_node="n2"), False, False, id="another node was selected"),
        pytest.param(disk("another"), False, False, id="another of the same name"),
        pytest.param(disk(volume="pv"), False, False, id="it is being bound"),
        pytest.param(disk(selected_node="n1", volume="pv", bound=True), False, False, id="it is bound"),
        pytest.param(disk(selected_node="n1", lost=True), False, False, id="it lost its volume"),
        pytest.param(disk(selected_node="n1", deleting=True), False, False, id="it is being deleted"),
    ],
)
def test_what_the_mirror_says_of_a_volume_claim(claim: VolumeClaim | None, selects: bool, waits: bool) -> None:
    watched = None if claim is None else SeenObject(claim, "7")
    assert (select_unread(watched, MADE) is not None, unchanged(watched, MADE) is not None) == (selects, waits)


@pytest.mark.parametrize(
    ("claim", "volume"),
    [
        pytest.param(None, "", id="the mirror does not show it"),
        pytest.param(disk(volume="pv", bound=True), "pv", id="it is bound"),
        pytest.param(disk(volume="pv"), "", id="the binding is not complete"),
        pytest.param(disk("another", volume="pv", bound=True), "", id="another of the same name"),
        pytest.param(disk(volume="pv", bound=True, lost=True), "", id="it lost its volume"),
        pytest.param(disk(volume="pv", bound=True, deleting=True), "", id="it is being deleted"),
    ],
)
def test_the_volume_that_a_claim_is_shown_to_be_bound_to(claim: VolumeClaim | None, volume: str) -> None:
    assert shown_volume(None if claim is None else SeenObject(claim, "7"), MADE) == volume


def test_a_claim_that_is_bound_to_another_volume_than_was_chosen_is_read() -> None:
    static = VolumeWish("ns/data", "uid-data", "n1", volume="pv", choose=True)
    assert shown_volume(SeenObject(disk(volume="pv", bound=True), "7"), static) == "pv"
    assert shown_volume(SeenObject(disk(volume="other", bound=True), "7"), static) == ""


ZONE_A = NodeTerm(expressions=(Requirement(volumes.ZONE, "In", ("a",)),))


@pytest.mark.parametrize(
    ("volume", "usable"),
    [
        pytest.param(None, False, id="the mirror does not show it"),
        pytest.param(Volume("pv", claim_uid="uid-data"), True, id="every node reaches it"),
        pytest.param(Volume("pv", claim_uid="uid-data", affinity=(ZONE_A,)), True, id="the node is in its zone"),
        pytest.param(
            Volume("pv", claim_uid="uid-data", affinity=on_node("n2")), False, id="only another node reaches it"
        ),
        pytest.param(
            Volume("pv", claim_uid="uid-data", affinity=(*on_node("n2"), *on_node("n1"))), True, id="any term will do"
        ),
        pytest.param(Volume("pv", claim_uid="uid-data", affinity=(NodeTerm(),)), False, id="a term that says nothing"),
        pytest.param(Volume("pv", claim_uid="another"), False, id="another claim has it"),
        pytest.param(Volume("pv"), False, id="no claim has it"),
        pytest.param(Volume("pv", claim_uid="uid-data", spent=True), False, id="it was released"),
    ],
)
def test_whether_the_volume_is_shown_to_be_usable_on_the_node(volume: Volume | None, usable: bool) -> None:
    watched = None if volume is None else SeenObject(volume, "7")
    assert reaches(watched, MADE, {volumes.ZONE: "a"}) is usable


def test_an_object_is_current_once_the_watch_has_shown_that_version_and_no_newer_one() -> None:
    seen = SeenVersions()
    seen.admit("a", 5)
    assert not seen.is_current("a", 5), "it is only known from the answer to a write"
    seen.show(7)
    assert seen.is_current("a", 5), "the watch has gone past it"
    assert not seen.is_current("a", 4)
    seen.admit("a", 9)
    seen.show(9)
    assert not seen.is_current("a", 5), "it has changed"
    seen.delete("a", 10)
    assert not seen.is_current("a", 9), "it is gone"
    seen.admit("b", 11)
    seen.show(11)
    seen.restart()
    assert not seen.is_current("b", 11), "a list is under way"
    seen.list("b", 11)
    list(seen.finish())
    assert not seen.is_current("b", 11), "no watch has shown anything since"
