"""Changes that would let jobs with claims start, found by simulation; and when such jobs may start."""

from __future__ import annotations

import pytest

from tests.explain.claims.gangs import gang, machine
from tests.support.builders import Fields, container, node, pod, pod_group, queue
from tests.support.devices import allocated, device, device_class, pod_claims, request, resource_claim, resource_slice
from tests.support.plans import DEFAULT_POLICY, NOW, mirror, policy_of
from tests.support.volumes import (
    DRIVER,
    NO_PROVISIONER,
    claim,
    claim_volumes,
    csi_driver,
    csi_node,
    storage_capacity,
    storage_class,
    volume,
)
from vsched.api.manifests import Origin
from vsched.cli.plan.claims import with_claims
from vsched.explain.edits.claims import AddDevices, AddVolumes, CreateVolumeClaims
from vsched.explain.edits.nodes import AddNodes
from vsched.explain.edits.pods import AddPods
from vsched.explain.edits.rules import TolerateDevices
from vsched.explain.explaining import explain
from vsched.explain.records import Explanation
from vsched.explain.words import edits
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.model.frozen import freeze
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY


def snapshot_of(*manifests: Fields) -> Snapshot:
    objects = [found for _, found in with_claims([(Origin("text", ""), one) for one in manifests])]
    return freeze(mirror(objects).snapshot(NOW))


def explained(key: str, *manifests: Fields, foreseen: bool = False, policy: Policy = DEFAULT_POLICY) -> Explanation:
    """The explanation with changes."""
    snapshot = snapshot_of(*manifests)
    report = run_cycle(snapshot, policy, REGISTRY)
    namespace, _, name = key.partition("/")
    asked = (lambda: False) if foreseen else None
    found = explain(snapshot, policy, REGISTRY, report, namespace, name, foreseen=asked)
    assert found is not None
    return found


def messages(found: Explanation) -> list[str]:
    return [change.message for change in found.changes]


CLASS = "gpu.example.com"
QUOTAS = policy_of("priority gang", "predicates capacity")


def test_more_devices_or_another_node_let_a_gang_start() -> None:
    found = explained("ns/g", device_class(), *machine("n1", 4), node("n2"), *gang(3, request("gpus", 2)))
    assert edits.more_devices(2, CLASS, "n1") in messages(found)
    assert "1 more node like n1" in messages(found)
    assert "minMember 2 (1 fewer)" in messages(found)[0]


def test_devices_are_advised_whichever_pod_of_the_gang_claims_them() -> None:
    """By name, a pod that claims none comes first."""
    members = gang(3, request("gpus", 2))
    launcher = pod("a", group="g", spec={"containers": [container("500m")]})
    members[1] = pod_group("g", spec={"minMember": 4, "queue": "default"})
    found = explained("ns/g", device_class(), *machine("n1", 4), node("n2"), *members, launcher)
    assert edits.more_devices(2, CLASS, "n1") in messages(found)
    assert "1 more node like n1" in messages(found)


def test_a_node_that_has_too_few_devices_is_not_proposed() -> None:
    found = explained("ns/g", device_class(), *machine("n1", 1), *machine("n2", 2), *gang(2, request("gpus", 2)))
    assert "1 more node like n2" in messages(found)
    assert not any(
        "like n1" in message and "node " in message and "device" not in message for message in messages(found)
    )


def test_nothing_is_proposed_where_no_device_matches() -> None:
    asked = request("gpus", 1, 'device.driver == "other"')
    assert not any("device" in message for message in messages(explained("ns/g", *machine("n1", 1), *gang(1, asked))))


def test_claims_that_would_have_devices_if_they_tolerated_a_taint() -> None:
    tainted = [device(f"gpu-{number}", taints=["example.com/burn-in=yes:NoSchedule"]) for number in range(2)]
    objects = [device_class(), node("n1"), resource_slice("n1", tainted), *gang(2, request("gpus", 1))]
    assert messages(explained("ns/g", *objects))[0] == (
        edits.toleration_in_claims("example.com/burn-in=yes:NoSchedule")
    )
    edit = TolerateDevices("ns/g", "example.com/burn-in", "yes")
    assert len(run_cycle(ClusterEditor(snapshot_of(*objects)).edited([edit]), DEFAULT_POLICY, REGISTRY).binds) == 2
    other = TolerateDevices("ns/g", "example.com/burn-in", "no")
    assert not run_cycle(ClusterEditor(snapshot_of(*objects)).edited([other]), DEFAULT_POLICY, REGISTRY).binds


@pytest.mark.parametrize("edit", [AddNodes("n1", 1), AddDevices("n1", CLASS, (CLASS, "n1", "gpu-0"), 2)])
def test_one_step_less_is_not_enough(edit: AddNodes | AddDevices) -> None:
    snapshot = snapshot_of(device_class(), *machine("n1", 4), *gang(3, request("gpus", 2)))
    editor = ClusterEditor(snapshot)
    with_edit = run_cycle(editor.edited([edit]), DEFAULT_POLICY, REGISTRY)
    assert len(with_edit.binds) == 3
    assert not run_cycle(editor.edited([]), DEFAULT_POLICY, REGISTRY).binds
    if isinstance(edit, AddDevices):
        less = AddDevices(edit.node, edit.device_class, edit.like, edit.count - 1)
        assert not run_cycle(editor.edited([less]), DEFAULT_POLICY, REGISTRY).binds


def test_devices_are_added_to_a_node_that_has_none() -> None:
    snapshot = snapshot_of(device_class(), *machine("n1", 1), node("n2"))
    found = ClusterEditor(snapshot).edited([AddDevices("n2", CLASS, (CLASS, "n1", "gpu-0"), 2)]).claims.devices
    assert [(pool.name, len(pool.devices)) for pool in found.pools] == [("n1", 1), ("n2-new", 2)]
    assert {one.node for one in found.pools[1].devices} == {"n2"}


def test_pods_that_are_added_have_claims_of_their_own() -> None:
    manifests = [device_class(), *machine("n1", 4), *gang(1, request("gpus", 2))]
    manifests[-2]["spec"]["minMember"] = 2
    found = explained("ns/g", *manifests)
    assert "1 more pod" in messages(found)
    editor = ClusterEditor(snapshot_of(*manifests))
    report = run_cycle(editor.edited([AddPods("ns/g", "p0", 1)]), DEFAULT_POLICY, REGISTRY)
    devices = [choice.allocation.devices for bind in report.binds if bind.claims for choice in bind.claims.devices]
    assert len({one.device for some in devices for one in some}) == 4
    assert not editor.edited([]).claims.devices.claims.keys() - {
        task.claims.devices[0].claim
        for job in editor.origin.jobs.values()
        for task in job.tasks.values()
        if task.claims is not None
    }


def test_pods_of_a_stateful_set_that_are_added_have_volumes_of_their_own() -> None:
    group = gang(0)[1]
    group["spec"]["minMember"] = 2
    first = pod("web-0", group="g", spec={"volumes": claim_volumes("data-web-0")})
    editor = ClusterEditor(
        snapshot_of(node("n1"), storage_class("made"), claim("data-web-0", storage_class="made"), group, first)
    )
    snapshot = editor.edited([AddPods("ns/g", "web-0", 1)])
    assert "ns/data-web-0-more-0" in snapshot.claims.volumes.claims
    assert len(run_cycle(snapshot, DEFAULT_POLICY, REGISTRY).binds) == 2


def test_volumes_that_people_make_are_proposed() -> None:
    group = gang(0)[1]
    group["spec"]["minMember"] = 3
    pods = [pod(f"p{number}", group="g", spec={"volumes": claim_volumes(f"d{number}")}) for number in range(3)]
    claims = [claim(f"d{number}", f"{number + 1}Gi", storage_class="made") for number in range(3)]
    made = storage_class("made", provisioner=NO_PROVISIONER)
    there = volume("pv", "5Gi", storage_class="made")
    found = explained("ns/g", node("n1"), made, there, *claims, group, *pods)
    assert edits.more_volumes(2, "made", 3 << 30) in messages(found)
    [change] = [one for one in found.changes if "volumes" in one.message]
    assert change.edits == (AddVolumes("ns/d2", 2),)
    editor = ClusterEditor(snapshot_of(node("n1"), made, there, *claims, group, *pods))
    assert len(run_cycle(editor.edited([AddVolumes("ns/d2", 2)]), DEFAULT_POLICY, REGISTRY).binds) == 3
    assert not run_cycle(editor.edited([AddVolumes("ns/d2", 1)]), DEFAULT_POLICY, REGISTRY).binds
    assert set(editor.edited([]).claims.volumes.volumes) == {"pv"}


def test_attach_limits_are_those_of_a_node_like_it() -> None:
    runs = {"phase": "Running"}
    user = pod("user", node="n1", spec={"volumes": claim_volumes("used")}, status=runs)
    taken = [user, claim("used", volume="pv"), volume("pv", claim="ns/used")]
    waits = pod("p", spec={"volumes": claim_volumes("new")})
    limited = [node("n1"), csi_node("n1", {DRIVER: 1}), storage_class()]
    found = explained("ns/p", *limited, *taken, claim("new"), waits)
    assert "max volume count" in found.message
    assert "1 more node like n1" in messages(found)


def test_the_end_of_a_pod_with_devices_is_foreseen() -> None:
    declared = {"annotations": {"vsched.io/expected-duration": "1h"}, "creationTimestamp": "2026-01-01T00:00:00Z"}
    runs = {"phase": "Running", "startTime": "2027-01-15T07:30:00Z"}
    entry = {"resourceClaims": pod_claims(gpu="own")}
    user = pod("user", node="n1", spec=entry, status=runs, metadata=declared)
    own = allocated(resource_claim("own", request("gpus", 2)), "n1", "gpu-0", "gpu-1", pods=[user])
    objects = [device_class(), node("n1"), resource_slice("n1", 2), user, own]
    found = explained("ns/g", *objects, *gang(1, request("gpus", 2)), foreseen=True)
    assert found.start is not None
    assert found.start.earliest is not None, found.start.message
    assert "user" in found.start.message


@pytest.mark.parametrize(
    ("quota", "size", "held", "raised"),
    [
        pytest.param(3, 2, 0, (1, 4), id="the devices of all pods"),
        pytest.param(3, 1, 2, (1, 4), id="beside what others hold"),
        pytest.param(0, 1, 0, (2, 2), id="where it may hold none"),
        pytest.param(1, 1, 2, (3, 4), id="where it holds more than it may"),
    ],
)
def test_a_queue_may_hold_more_devices(quota: int, size: int, held: int, raised: tuple[int, int]) -> None:
    team = queue("default", spec={"capability": {f"deviceclass/{CLASS}": str(quota)}})
    claimed = resource_claim("held", request("gpus", max(1, held)))
    uses = {"resourceClaims": pod_claims(gpu="held")}
    old = [
        pod_group("old", spec={"minMember": 1, "queue": "default"}),
        allocated(claimed, "n1", *(f"gpu-{number}" for number in range(held))),
        pod("old-0", group="old", node="n1", spec=uses, status={"phase": "Running"}),
    ]
    manifests = (device_class(), team, *machine("n1", 9), *(old if held else ()), *gang(size, request("gpus", 2)))
    more, capability = raised
    expected = f"{more} more deviceclass/{CLASS} in queue default (capability {capability})"
    assert expected in messages(explained("ns/g", *manifests, policy=QUOTAS))


def with_claims_of(*names: str, size: int = 1) -> list[Fields]:
    """A gang whose pods name one of these claims each."""
    pods = [pod(f"p{at}", group="g", spec={"volumes": claim_volumes(name)}) for at, name in enumerate(names)]
    return [pod_group("g", spec={"minMember": size, "queue": "default"}), *pods]


@pytest.mark.parametrize(
    ("there", "size", "message"),
    [
        pytest.param((), 1, "PersistentVolumeClaim d0 created", id="the claim of the pod"),
        pytest.param((), 3, "PersistentVolumeClaims d0, d1, d2 created", id="the claims of all pods that it needs"),
        pytest.param(("d1",), 3, "PersistentVolumeClaims d0, d2 created", id="those that are missing"),
    ],
)
def test_missing_claims_are_to_be_created(there: tuple[str, ...], size: int, message: str) -> None:
    claims = [claim(name, storage_class="fast") for name in there]
    made = storage_class("fast")
    manifests = (node("n1"), made, *claims, *with_claims_of("d0", "d1", "d2", size=size))
    found = explained("ns/g", *manifests)
    assert messages(found)[0] == message
    missing = tuple(f"ns/{name}" for name in ("d0", "d1", "d2")[:size] if name not in there)
    created = CreateVolumeClaims(missing)
    assert found.changes[0].edits == (created,)
    editor = ClusterEditor(snapshot_of(*manifests))
    before = run_cycle(editor.edited([]), DEFAULT_POLICY, REGISTRY)
    assert len(run_cycle(editor.edited([created]), DEFAULT_POLICY, REGISTRY).binds) >= size
    assert run_cycle(editor.edited([]), DEFAULT_POLICY, REGISTRY).binds == before.binds == ()


@pytest.mark.parametrize(
    ("free", "sizes", "message"),
    [
        pytest.param("10Gi", ("12Gi",), "2Gi more free storage", id="for a volume"),
        pytest.param("10Gi", ("6Gi", "6Gi"), "2Gi more free storage", id="for two volumes together"),
        pytest.param("0", ("3Gi",), "3Gi more free storage", id="where nothing is free"),
    ],
)
def test_more_storage_is_proposed(free: str, sizes: tuple[str, ...], message: str) -> None:
    names = [f"d{at}" for at in range(len(sizes))]
    claims = [claim(name, size, storage_class="fast") for name, size in zip(names, sizes, strict=True)]
    driver = csi_driver(counts_capacity=True)
    manifests = (
        node("n1", labels={"kubernetes.io/hostname": "n1"}),
        driver,
        csi_node("n1"),
        storage_class("fast"),
        storage_capacity(size=free, storage_class="fast", node="n1"),
        *claims,
        *with_claims_of(*names, size=len(names)),
    )
    expected = f"{message} of class fast in CSIStorageCapacity kube-system/capacity"
    assert expected in messages(explained("ns/g", *manifests))
