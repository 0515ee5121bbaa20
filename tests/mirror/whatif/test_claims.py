"""Claims in a cluster on paper: a restored mirror has them, and what is decided about them comes true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest

from tests.support.builders import Fields, node, pod
from tests.support.devices import (
    allocated,
    device_class,
    from_template,
    pod_claims,
    request,
    resource_claim,
    resource_slice,
)
from tests.support.plans import NOW, OUR_NAMES, mirror
from tests.support.volumes import (
    DRIVER,
    HOSTNAME,
    NO_PROVISIONER,
    ZONE,
    attachment,
    claim,
    claim_volumes,
    csi_driver,
    csi_node,
    ephemeral_volume,
    storage_capacity,
    storage_class,
    volume,
)
from vsched.api.manifests import Origin, decode_manifests
from vsched.explain.edits.nodes import AddNodes
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.mirror.whatif.paper import PaperMirror
from vsched.model.claims.catalogue import ClaimCatalogue, DeviceCatalogue, VolumeCatalogue
from vsched.model.claims.devices import AllocatedDevice, AllocationResult, DeviceId
from vsched.model.claims.plan import ClaimPlan, ClaimRelease, DeviceChoice, VolumeChoice
from vsched.model.frozen import freeze
from vsched.model.plan import Bind, CycleReport, Evict
from vsched.model.pods.shape import NodeTerm, Requirement
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

RUNS = {"phase": "Running"}


def machine(name: str, zone: str = "a") -> Fields:
    return node(name, metadata={"labels": {HOSTNAME: name, ZONE: zone, "local/node": name}})


def template_pod(name: str, at: str = "n1", **fields: Any) -> Fields:
    """A pod whose claim was made from a template, on a node."""
    status = {**RUNS, "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}]}
    spec = {"resourceClaims": pod_claims(gpu="template/big")}
    return pod(name, node=at, spec=spec, status=status, **fields)


OWN = template_pod("own", metadata={"ownerReferences": [{"kind": "Job", "name": "j", "uid": "j", "controller": True}]})
SHARING = pod("sharing", node="n1", spec={"resourceClaims": pod_claims(gpu="shared")}, status=RUNS)
SCRATCH = pod("scratch", node="n1", spec={"volumes": [ephemeral_volume("disk")]}, status=RUNS)
STRANGER = pod("stranger", node="n2", spec={"schedulerName": "other", "volumes": claim_volumes("data")}, status=RUNS)


def owned_claim(owner: Fields, name: str, bound: str) -> Fields:
    """The claim of an ephemeral volume."""
    return from_template(claim(name, volume=bound), owner)


WORLD: list[Fields] = [
    machine("n1"),
    machine("n2", "b"),
    storage_class("made", zones=("a", "b")),
    storage_class("static", provisioner=NO_PROVISIONER),
    storage_class("now", waits=False),
    csi_driver(counts_capacity=True),
    csi_node("n1", {DRIVER: 3}),
    storage_capacity("local", node="n1", storage_class="made"),
    volume("pv-small", "1Gi", storage_class="static"),
    volume("pv-large", "9Gi", storage_class="static"),
    volume("pv-data", claim="ns/data"),
    volume("pv-disk", claim="ns/scratch-disk"),
    attachment("pv-data", "n2"),
    claim("data", volume="pv-data"),
    claim("wants-static", storage_class="static"),
    claim("wants-made", "2Gi", storage_class="made"),
    owned_claim(SCRATCH, "scratch-disk", "pv-disk"),
    device_class("gpu.example.com"),
    resource_slice("n1", 2),
    allocated(resource_claim("shared", request()), "n1", "gpu-0", pods=[SHARING]),
    allocated(from_template(resource_claim("own-gpu"), OWN), "n1", "gpu-1", pods=[OWN]),
    resource_claim("free", request()),
    OWN,
    SHARING,
    SCRATCH,
    STRANGER,
    pod("p", spec={"volumes": claim_volumes("wants-static", "wants-made"), "resourceClaims": pod_claims(gpu="free")}),
]


def editor(*more: Fields) -> ClusterEditor:
    """A cluster on paper, restored from a snapshot of this world."""
    return ClusterEditor(freeze(mirror([*WORLD, *more]).snapshot(NOW)), OUR_NAMES)


def seen(found: Mirror) -> ClaimCatalogue:
    return found.snapshot(NOW).claims


def told(found: ClaimCatalogue) -> dict[str, Any]:
    """The catalogue as plain values, with uids in place of pods, and without the mirror's record of changes."""
    volumes, devices = (
        [each.name for each in fields(part) if each.name != "changes"] for part in (VolumeCatalogue, DeviceCatalogue)
    )
    return {
        **{name: plain(getattr(found.volumes, name)) for name in volumes},
        **{f"devices.{name}": plain(getattr(found.devices, name)) for name in devices},
        "unread": found.unread,
    }


def plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return value.uid if isinstance(value, Task) else value


def bound(found: Mirror, name: str, at: str, plan: ClaimPlan) -> Bind:
    """The decision to bind a pod, with this plan for its claims."""
    task = found.task(f"uid-{name}")
    assert task is not None, name
    return Bind(task.uid, "ns", name, at, task.job, plan)


GPU = AllocationResult((AllocatedDevice("gpu", DeviceId("gpu.example.com", "n1", "gpu-1")),), (NodeTerm(),))


# -- restoring


def test_a_restored_mirror_has_the_same_catalogue() -> None:
    origin = freeze(mirror(WORLD).snapshot(NOW))
    assert all(told(origin.claims)[name] for name in ("users", "by_node", "limits", "capacities", "devices.pools"))
    assert told(seen(ClusterEditor(origin, OUR_NAMES))) == told(origin.claims)


# -- what is decided comes true


def test_a_claim_gets_the_volume_that_was_chosen() -> None:
    cluster = editor()
    plan = ClaimPlan(volumes=(VolumeChoice("ns/wants-static", "uid-wants-static", "pv-small"),))
    cluster.settle(CycleReport(binds=(bound(cluster, "p", "n1", plan),)))
    found = seen(cluster).volumes
    assert (found.claims["ns/wants-static"].volume, found.claims["ns/wants-static"].bound) == ("pv-small", True)
    assert found.volumes["pv-small"].claim == "ns/wants-static"
    assert [one.name for one in found.available["static"]] == ["pv-large"]
    assert list(found.users["ns/wants-static"]) == ["uid-p"]


def test_a_volume_is_made_in_the_zone_of_the_node_and_its_storage_is_less() -> None:
    cluster = editor()
    plan = ClaimPlan(volumes=(VolumeChoice("ns/wants-made", "uid-wants-made"),))
    cluster.settle(CycleReport(binds=(bound(cluster, "p", "n1", plan),)))
    found = seen(cluster).volumes
    made = found.volumes[found.claims["ns/wants-made"].volume]
    assert made.affinity == (NodeTerm((Requirement(ZONE, "In", ("a",)),)),)
    assert (made.capacity, made.driver, made.claim) == (2 << 30, DRIVER, "ns/wants-made")
    assert [one.capacity for one in found.capacities["made"]] == [8 << 30]


def test_devices_are_allocated_and_reserved_for_the_pod() -> None:
    cluster = editor()
    plan = ClaimPlan(devices=(DeviceChoice("ns/free", "uid-free", GPU),), reserve=("ns/free",))
    cluster.settle(CycleReport(binds=(bound(cluster, "p", "n1", plan),)))
    found = seen(cluster).devices
    assert found.claims["ns/free"].allocation == GPU
    assert [one.uid for one in found.claims["ns/free"].consumers] == ["uid-p"]
    assert "ns/free" in found.allocated


def test_devices_for_extended_resources_have_a_claim_of_their_own_that_goes_with_the_pod() -> None:
    cluster = editor()
    plan = ClaimPlan(devices=(DeviceChoice("", "", GPU),))
    cluster.settle(CycleReport(binds=(bound(cluster, "p", "n1", plan),)))
    made = seen(cluster).devices.made["uid-p"]
    assert seen(cluster).devices.claims[made].allocation == GPU
    cluster.settle(CycleReport(evictions=(Evict("uid-p", "ns", "p", "n1", "", "reclaim", ""),)))
    assert made not in seen(cluster).devices.claims


def test_what_waiting_pods_hold_in_vain_is_given_back() -> None:
    cluster = editor(claim("chosen", storage_class="made", selected_node="n1"))
    cluster.settle(
        CycleReport(
            released=(
                ClaimRelease("ns/shared", "uid-shared", True, "ns/j"),
                ClaimRelease("ns/chosen", "uid-chosen", False, "ns/j"),
                ClaimRelease("ns/own-gpu", "another", True, "ns/j"),
            )
        )
    )
    found = seen(cluster)
    assert found.devices.claims["ns/shared"].allocation is None
    assert found.volumes.claims["ns/chosen"].selected_node == ""
    assert found.devices.claims["ns/own-gpu"].allocation is not None


# -- pods that go


def ended(cluster: ClusterEditor, name: str) -> None:
    task = cluster.task(f"uid-{name}")
    assert task is not None
    cluster.put_tasks([task.moved(Status.SUCCEEDED, task.node)])


def test_the_last_user_of_a_claim_leaves_its_devices() -> None:
    other = pod("other", node="n1", spec=SHARING["spec"], status=RUNS)
    claims = [one for one in WORLD if one["metadata"]["name"] != "shared"]
    shared = allocated(resource_claim("shared"), "n1", "gpu-0", pods=[SHARING, other])
    cluster = ClusterEditor(freeze(mirror([*claims, shared, other]).snapshot(NOW)), OUR_NAMES)
    ended(cluster, "sharing")
    assert [one.uid for one in seen(cluster).devices.claims["ns/shared"].consumers] == ["uid-other"]
    assert "ns/shared" in seen(cluster).devices.allocated
    ended(cluster, "other")
    assert "ns/shared" not in seen(cluster).devices.allocated
    assert seen(cluster).devices.claims["ns/shared"].consumers == ()


def test_claims_that_were_made_for_a_pod_go_with_it() -> None:
    cluster = editor()
    ended(cluster, "own")
    ended(cluster, "scratch")
    found = seen(cluster)
    assert "ns/own-gpu" not in found.devices.claims
    assert "ns/scratch-disk" not in found.volumes.claims
    assert "pv-disk" not in found.volumes.volumes


def test_an_end_that_is_taken_back_gives_everything_back() -> None:
    cluster = editor()
    before = told(freeze(cluster.snapshot(NOW)).claims)
    mark = cluster.mark()
    for name in ("own", "scratch", "sharing"):
        ended(cluster, name)
    assert told(seen(cluster)) != before
    cluster.take_back(mark)
    assert told(seen(cluster)) == before


def test_the_successor_of_an_evicted_pod_has_claims_of_its_own() -> None:
    cluster = editor()
    own = cluster.task("uid-own")
    assert own is not None
    assert own.owned
    cluster.settle(CycleReport(evictions=(Evict(own.uid, "ns", "own", "n1", own.job, "reclaim", ""),)))
    anew = seen(cluster).devices.claims["ns/own-gpu"]
    assert (anew.owner, anew.allocation, anew.consumers) == ("uid-own+", None, ())
    assert anew.spec == WORLD_SPEC
    assert cluster.task("uid-own+") is not None


WORLD_SPEC = mirror(WORLD).snapshot(NOW).claims.devices.claims["ns/own-gpu"].spec


# -- nodes


def test_a_node_like_another_has_its_devices_its_attach_limits_and_its_local_storage() -> None:
    cluster = editor()
    before = told(freeze(cluster.snapshot(NOW)).claims)
    found = cluster.edited([AddNodes("n1", 2)]).claims
    pools = {pool.name: pool for pool in found.devices.pools}
    assert list(pools) == ["n1", "n1-new-1", "n1-new-2"]
    assert {one.node for one in pools["n1-new-2"].devices} == {"n1-new-2"}
    assert [one.id.device for one in pools["n1-new-2"].devices] == ["gpu-0", "gpu-1"]
    assert found.volumes.limits["n1-new-1"] == found.volumes.limits["n1"]
    labels = {one.name: one.labels for one in cluster.edited([AddNodes("n1", 2)]).nodes.statics.attributes}
    assert labels["n1-new-1"]["local/node"] == "n1-new-1"
    free = [one.nodes for one in found.volumes.capacities["made"]]
    assert sum(nodes is not None and nodes.matches(labels["n1-new-1"]) for nodes in free) == 1
    cluster.edited([])
    assert told(seen(cluster)) == before


def test_a_node_goes_with_its_devices() -> None:
    cluster = editor()
    cluster.lose_node("n1")
    found = seen(cluster)
    assert found.devices.pools == ()
    assert "n1" not in found.volumes.limits
    assert "made" not in found.volumes.capacities
    cluster.lose_node("n2")
    assert seen(cluster).volumes.attachments == {}


# -- the volume controller


def on_paper(*manifests: Fields) -> PaperMirror:
    cluster = PaperMirror(MirrorSettings(frozenset(OUR_NAMES), open_without_state=True))
    decoded = decode_manifests((Origin("text", str(at)), found) for at, found in enumerate([*WORLD, *manifests]))
    for kind, objects in decoded.objects.items():
        cluster.intake.replace(kind, objects)
    assert not cluster.broken, cluster.broken
    return cluster


@pytest.mark.parametrize(
    ("asked", "volumes", "got"),
    [
        pytest.param(
            claim("c", "2Gi", storage_class=""),
            [volume("big", "8Gi", storage_class=""), volume("fits", "3Gi", storage_class="")],
            "fits",
            id="the smallest static volume that is large enough",
        ),
        pytest.param(
            claim("c", storage_class="", modes=("ReadWriteMany",)),
            [volume("once", storage_class="")],
            "",
            id="none with other access modes",
        ),
        pytest.param(claim("c", storage_class="now"), [], "pvc-uid-c", id="a new one where the class makes volumes"),
        pytest.param(claim("c", storage_class="gone"), [], "", id="none where the class does not exist"),
        pytest.param(claim("c", storage_class="static"), [], "", id="none where it waits for a pod"),
        pytest.param(
            claim("c", storage_class="static", spec={"volumeName": "named"}),
            [volume("named", storage_class="static")],
            "named",
            id="the one that it names, also where its class waits for a pod",
        ),
        pytest.param(
            claim("c", storage_class="", spec={"volumeName": "taken"}),
            [volume("taken", storage_class="", claim="ns/data")],
            "",
            id="not a named one that is another claim's",
        ),
        pytest.param(
            claim("c", storage_class="", spec={"selector": {"matchLabels": {"disk": "fast"}}}),
            [
                volume("slow", storage_class=""),
                volume("swift", "2Gi", storage_class="", metadata={"labels": {"disk": "fast"}}),
            ],
            "swift",
            id="one that its selector matches",
        ),
    ],
)
def test_the_volume_controller_binds(asked: Fields, volumes: list[Fields], got: str) -> None:
    cluster = on_paper(asked, *volumes)
    cluster.bind_volumes(["ns/c"])
    found = seen(cluster).volumes
    assert found.claims["ns/c"].bound is bool(got)
    if got:
        assert found.claims["ns/c"].volume == got
        assert found.volumes[got].claim == "ns/c"


def test_two_claims_do_not_get_one_volume() -> None:
    cluster = on_paper(claim("a", storage_class=""), claim("b", storage_class=""), volume("one", storage_class=""))
    cluster.bind_volumes(["ns/a", "ns/b"])
    found = seen(cluster).volumes.claims
    assert (found["ns/a"].bound, found["ns/b"].bound) == (True, False)


def test_a_claim_that_somebody_has_changed_in_between_is_left_alone() -> None:
    cluster = editor()
    plan = ClaimPlan(volumes=(VolumeChoice("ns/wants-made", "of-an-older-one"),), reserve=("ns/nothing",))
    cluster.settle(CycleReport(binds=(bound(cluster, "p", "n1", plan),)))
    assert not seen(cluster).volumes.claims["ns/wants-made"].bound
