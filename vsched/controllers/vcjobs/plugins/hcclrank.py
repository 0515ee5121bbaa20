"""Plugin ``hcclrank``: pods are annotated with their rank for HCCL, the collective library of Ascend devices."""

from __future__ import annotations

from vsched.controllers.vcjobs.naming import Body, task_named
from vsched.controllers.vcjobs.plugins.base import JobPlugin, containers
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob

RANK_INDEX = "hccl/rankIndex"


class HcclRank(JobPlugin, frozen=True):
    """The rank that the template or the environment says, else masters first and then workers."""

    name = "hcclrank"
    tracked = False

    master: str = "master"
    worker: str = "worker"

    def change_pod(self, body: Body, job: VcJob, task: TaskSpec, index: int) -> None:
        """Add the annotation where the pod has none."""
        annotations = body["metadata"]["annotations"]
        if annotations.get(RANK_INDEX):
            return
        rank = _said_rank(body)
        if not rank and task.name == self.master:
            rank = str(index)
        elif not rank and task.name == self.worker:
            masters = task_named(job, self.master)
            rank = str((0 if masters is None else masters.replicas) + index)
        if rank:
            annotations[RANK_INDEX] = rank


def _said_rank(body: Body) -> str:
    """The first ``RANK`` among the variables of the containers."""
    for container in containers(body):
        for variable in container.get("env") or ():
            if variable.get("name") == "RANK":
                return str(variable.get("value", ""))
    return ""
