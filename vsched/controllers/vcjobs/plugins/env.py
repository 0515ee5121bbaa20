"""Plugin ``env``: every container is told its index within its task."""

from __future__ import annotations

from vsched.controllers.vcjobs.naming import Body
from vsched.controllers.vcjobs.plugins.base import JobPlugin, add_env, all_containers
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob


class Env(JobPlugin, frozen=True):
    """``VC_TASK_INDEX``, and ``VK_TASK_INDEX`` for old images."""

    name = "env"

    def change_pod(self, body: Body, job: VcJob, task: TaskSpec, index: int) -> None:
        """Add the two variables to all containers."""
        for container in all_containers(body):
            add_env(container, VK_TASK_INDEX=str(index), VC_TASK_INDEX=str(index))
