"""The claims that are made for a vcjob."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.vcjobs import task, vcjob
from vsched.controllers.vcjobs.naming import claim_name
from vsched.controllers.vcjobs.pods import pod_of
from vsched.controllers.vcjobs.spec import VolumeSpec
from vsched.controllers.vcjobs.volumes import claims_of, controlled_volumes

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


@pytest.mark.parametrize(
    ("volume", "kind"),
    [
        pytest.param(VolumeSpec("/d", "mine"), "pvc", id="a claim that is there is not made"),
        pytest.param(VolumeSpec("/d"), "emptyDir", id="a volume without a claim is an emptyDir"),
    ],
)
def test_only_a_volume_with_the_spec_of_a_claim_makes_one(volume: VolumeSpec, kind: str) -> None:
    job = vcjob(volumes=(volume,))
    name = claim_name(job, 0)
    assert claims_of(job) == []
    assert controlled_volumes(job) == {f"volume-{kind}-{name}": name}
    source = pod_of(job, job.tasks[0], 0)["spec"]["volumes"][0]
    assert ("emptyDir" in source) is (kind == "emptyDir")


def test_a_claim_has_the_same_name_each_time_and_belongs_to_the_job() -> None:
    job = vcjob(task(), volumes=(VolumeSpec("/a", claim=CLAIM), VolumeSpec("/b", claim=CLAIM)))
    first, second = claims_of(job)
    assert claims_of(job) == [first, second]
    assert first["metadata"]["name"] != second["metadata"]["name"]
    assert first["kind"] == "PersistentVolumeClaim"
    assert first["spec"] == CLAIM
    assert first["metadata"]["ownerReferences"][0]["uid"] == job.uid


def test_jobs_of_the_same_name_have_claims_of_their_own() -> None:
    volumes = (VolumeSpec("/a", claim=CLAIM),)
    one = vcjob(volumes=volumes)
    assert claim_name(one, 0) != claim_name(msgspec.structs.replace(one, uid="u-2"), 0)
