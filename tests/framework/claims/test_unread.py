"""Pods whose claims need objects that the scheduler may not read, or that are not served."""

from __future__ import annotations

import pytest

from vsched.framework.claims.unread import why_unread
from vsched.framework.words.jobs import claims_unread
from vsched.model.pods.claims import PodClaims, PodDevices, PodVolume
from vsched.model.pods.shape import PodLabels, ShapeTable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

FORBIDDEN = "403 Forbidden: not for you"
VOLUME, DEVICE = PodClaims((PodVolume("data"),)), PodClaims((), (PodDevices("gpu", "ns/gpus"),))


def task(claims: PodClaims | None) -> Task:
    shape = ShapeTable().shape(((0, 100),))
    return Task("u", "ns", "p", "ns/j", shape, PodLabels("ns", ()), Status.PENDING, claims=claims)


@pytest.mark.parametrize(
    ("claims", "kind", "waits"),
    [
        pytest.param(None, "PersistentVolumeClaim", False, id="a pod without claims"),
        pytest.param(VOLUME, "PersistentVolumeClaim", True, id="claims of volumes"),
        pytest.param(VOLUME, "PersistentVolume", True, id="volumes"),
        pytest.param(VOLUME, "StorageClass", True, id="storage classes"),
        pytest.param(VOLUME, "CSINode", False, id="limits may be unknown"),
        pytest.param(VOLUME, "ResourceSlice", False, id="devices, which the pod does not claim"),
        pytest.param(DEVICE, "ResourceClaim", True, id="claims of devices"),
        pytest.param(DEVICE, "ResourceSlice", True, id="devices"),
        pytest.param(DEVICE, "DeviceClass", True, id="device classes"),
        pytest.param(DEVICE, "PersistentVolume", False, id="volumes, which the pod does not claim"),
    ],
)
def test_a_pod_waits_for_kinds_that_its_claims_need(claims: PodClaims | None, kind: str, waits: bool) -> None:
    found = why_unread(task(claims), {kind: FORBIDDEN})
    assert (found is not None) is waits
    if found is not None:
        assert found.message == claims_unread(kind, FORBIDDEN)
    assert why_unread(task(claims), {}) is None
