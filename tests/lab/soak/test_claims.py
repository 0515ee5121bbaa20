"""Which promises about claims are broken, from what the API server has."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from tests.support import devices, volumes
from vsched.lab.claiming import with_claims
from vsched.lab.soak import words
from vsched.lab.soak.claims import for_nobody, wrong

CLAIM_OF_A = words.has_claim("ns/a", "n1", "a-gpu")

Obj = dict[str, Any]


def pod(name: str = "a", node: str = "n1", **fields: Any) -> Obj:
    """A pod with a volume and a device."""
    found = make.pod(name, node=node, **fields)
    with_claims(found)
    status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}]}
    return make.merged(found, {"status": status})


def disk(name: str = "a", volume: str = "pv") -> Obj:
    return volumes.claim(f"{name}-scratch", volume=volume)


def claim(name: str = "a", node: str = "n1", device: str = "gpu-0", **fields: Any) -> Obj:
    found = devices.resource_claim(f"{name}-gpu")
    return make.merged(devices.allocated(found, node, device, pods=[make.pod(name)]), fields)


@pytest.mark.parametrize(
    ("pods", "claims", "disks", "told"),
    [
        pytest.param([pod()], [claim()], [disk()], [], id="all is well"),
        pytest.param([pod(node="")], [], [], [], id="a pod that waits needs nothing yet"),
        pytest.param([pod(status={"phase": "Succeeded"})], [], [], [], id="a pod that has ended needs nothing more"),
        pytest.param(
            [pod()],
            [claim()],
            [disk(volume="")],
            [words.volume_not_bound(words.is_on("ns/a", "n1"), "a-scratch")],
            id="its volume is not bound",
        ),
        pytest.param(
            [pod()],
            [],
            [disk()],
            [
                words.no_devices(CLAIM_OF_A),
                words.not_reserved(CLAIM_OF_A),
            ],
            id="there is no claim",
        ),
        pytest.param(
            [pod()],
            [claim(node="n2")],
            [disk()],
            [words.no_devices(CLAIM_OF_A)],
            id="its devices are elsewhere",
        ),
        pytest.param(
            [pod(), pod("b")],
            [claim(), claim("b")],
            [disk(), disk("b")],
            [words.two_owners(f"{devices.DRIVER}/n1/gpu-0", "ns/a-gpu", "ns/b-gpu")],
            id="two claims have one device",
        ),
    ],
)
def test_what_must_never_be(pods: list[Obj], claims: list[Obj], disks: list[Obj], told: list[str]) -> None:
    assert list(wrong(pods, claims, disks)) == told


@pytest.mark.parametrize(
    ("pods", "claims", "told"),
    [
        pytest.param([pod()], [claim()], [], id="its pod has a node"),
        pytest.param([], [devices.resource_claim()], [], id="nothing is reserved"),
        pytest.param([], [claim()], [words.reserved_for("ns/a-gpu", "a", words.IS_GONE)], id="its pod is gone"),
        pytest.param(
            [pod(node="")], [claim()], [words.reserved_for("ns/a-gpu", "a", words.WITHOUT_NODE)], id="its pod waits"
        ),
        pytest.param(
            [],
            [devices.allocated(devices.resource_claim("x"), "n1", "gpu-0")],
            [words.devices_for_nobody("ns/x")],
            id="devices without a reservation",
        ),
    ],
)
def test_claims_that_are_reserved_for_nobody(pods: list[Obj], claims: list[Obj], told: list[str]) -> None:
    assert list(for_nobody(pods, claims)) == told
