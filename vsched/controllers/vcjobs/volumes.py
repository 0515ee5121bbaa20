"""The volumes of a vcjob: the claims that are made for it, and what its pods mount."""

from __future__ import annotations

from vsched.controllers.vcjobs.naming import Body, claim_name, owned, volume_name
from vsched.controllers.vcjobs.spec import VcJob
from vsched.controllers.vcjobs.template import part


def claims_of(job: VcJob) -> list[Body]:
    """The claims that are to be made: of volumes that give a spec and no name."""
    return [
        owned("v1", "PersistentVolumeClaim", job, claim_name(job, position), spec=volume.claim)
        for position, volume in enumerate(job.volumes)
        if volume.claim is not None and not volume.claim_name
    ]


def named_claims(job: VcJob) -> list[str]:
    """The claims that a vcjob names, and which have to be there."""
    return [volume.claim_name for volume in job.volumes if volume.claim_name]


def mount_volumes(job: VcJob, spec: Body) -> None:
    """Give the spec of a pod the volumes of the job, mounted by every container.

    A claim that is written more than once is one volume, mounted at each of its paths.
    """
    names: set[str] = set()
    for position, volume in enumerate(job.volumes):
        claim = claim_name(job, position)
        name = volume_name(job, claim)
        if name not in names:
            names.add(name)
            part(spec, "volumes").append({"name": name, "persistentVolumeClaim": {"claimName": claim}})
        for container in part(spec, "containers"):
            part(container, "volumeMounts").append({"name": name, "mountPath": volume.mount_path})


def controlled_volumes(job: VcJob) -> dict[str, str]:
    """The entries of volumes in ``status.controlledResources``."""
    claims = (claim_name(job, position) for position in range(len(job.volumes)))
    return {f"volume-pvc-{claim}": claim for claim in claims}
