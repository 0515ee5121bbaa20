"""The claims that are made for a vcjob."""

from __future__ import annotations

import msgspec

from tests.support.vcjobs import task, vcjob
from vsched.controllers.vcjobs.naming import claim_name
from vsched.controllers.vcjobs.spec import VcjobVolume
from vsched.controllers.vcjobs.volumes import claims_of, controlled_volumes

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def test_a_claim_that_is_there_is_not_made() -> None:
    job = vcjob(volumes=(VcjobVolume("/d", "mine"),))
    assert claims_of(job) == []
    assert controlled_volumes(job) == {"volume-pvc-mine": "mine"}


def test_a_claim_has_the_same_name_each_time_and_belongs_to_the_job() -> None:
    job = vcjob(task(), volumes=(VcjobVolume("/a", claim=CLAIM), VcjobVolume("/b", claim=CLAIM)))
    first, second = claims_of(job)
    assert claims_of(job) == [first, second]
    assert first["metadata"]["name"] != second["metadata"]["name"]
    assert first["kind"] == "PersistentVolumeClaim"
    assert first["spec"] == CLAIM
    assert first["metadata"]["ownerReferences"][0]["uid"] == job.uid


def test_jobs_of_the_same_name_have_claims_of_their_own() -> None:
    volumes = (VcjobVolume("/a", claim=CLAIM),)
    one = vcjob(volumes=volumes)
    assert claim_name(one, 0) != claim_name(msgspec.structs.replace(one, uid="u-2"), 0)
