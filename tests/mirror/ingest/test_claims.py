"""What is read of the claims that a pod names."""

from __future__ import annotations

import pytest

from tests.support import builders as make
from tests.support import devices as of
from tests.support import volumes
from vsched.api import words
from vsched.errors import BadObject
from vsched.mirror.ingest.claims import claims_of
from vsched.model.pods.claims import PodClaims, PodDevices, PodVolume

Fields = make.Fields

TOKEN = {"name": "kube-api-access", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
MADE = [{"name": "gpu", "resourceClaimName": "p-gpu-x"}]
ASKS = of.pod_claims(gpu="template/t")


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param({}, {}, None, id="no claims"),
        pytest.param({"volumes": [TOKEN]}, {}, None, id="volumes that are no claims"),
        pytest.param({"volumes": [], "resourceClaims": []}, {}, None, id="empty lists"),
        pytest.param(
            {"volumes": [TOKEN, *volumes.claim_volumes("data")]},
            {},
            PodClaims((PodVolume("data"),)),
            id="a volume claim",
        ),
        pytest.param(
            {"volumes": [volumes.ephemeral_volume()]},
            {},
            PodClaims((PodVolume("p-scratch", True),)),
            id="an ephemeral one",
        ),
        pytest.param({"volumes": [{"name": "v", "ephemeral": None}]}, {}, None, id="null is nothing"),
        pytest.param(
            {"resourceClaims": of.pod_claims(gpu="mine")},
            {},
            PodClaims((), (PodDevices("gpu", "ns/mine"),)),
            id="its own",
        ),
        pytest.param(
            {"resourceClaims": ASKS},
            {},
            PodClaims((), (PodDevices("gpu", "", "t"),)),
            id="from a template, not made yet",
        ),
        pytest.param(
            {"resourceClaims": ASKS},
            {"resourceClaimStatuses": MADE},
            PodClaims((), (PodDevices("gpu", "ns/p-gpu-x", "t"),)),
            id="from a template",
        ),
        pytest.param(
            {"resourceClaims": ASKS},
            {"resourceClaimStatuses": [{"name": "gpu"}]},
            PodClaims((), (PodDevices("gpu", "", "t", True),)),
            id="from a template that asks for nothing",
        ),
        pytest.param(
            {},
            {"extendedResourceClaimStatus": {"resourceClaimName": "p-extended"}},
            PodClaims(extended="p-extended"),
            id="made for its extended resources",
        ),
    ],
)
def test_the_claims_that_a_pod_names(spec: Fields, status: Fields, expected: PodClaims | None) -> None:
    assert claims_of(make.decode(make.pod("p", spec=spec, status=status))) == expected


def test_a_pod_with_claims_without_end_is_one_clear_line() -> None:
    many = make.pod("p", spec={"volumes": volumes.claim_volumes(*map(str, range(600)))})
    with pytest.raises(BadObject) as caught:
        claims_of(make.decode(many))
    assert str(caught.value) == words.too_many_entries("spec.volumes", 600, 512)
