"""Plugin ``tensorflow``: containers get ``TF_CONFIG``, the hosts of all roles and the place of the pod among them."""

from __future__ import annotations

import json

from vsched.controllers.vcjobs.naming import Body, host_of
from vsched.controllers.vcjobs.plugins.base import JobPlugin, add_env, containers
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob


class Tensorflow(JobPlugin, frozen=True):
    """``TF_CONFIG``; a job of a single pod needs none."""

    name = "tensorflow"
    hosts_max = 2_000  # an environment variable has 128 KiB

    ps: str = "ps"
    worker: str = "worker"
    chief: str = "chief"
    evaluator: str = "evaluator"
    port: int = 2222

    def change_pod(self, body: Body, job: VcJob, task: TaskSpec, index: int) -> None:
        """Add the variable to the containers."""
        if len(job.tasks) == 1 and job.tasks[0].replicas == 1:
            return
        roles = {self.ps: "ps", self.worker: "worker", self.chief: "chief", self.evaluator: "evaluator"}
        hosts = {
            roles[each.name]: [f"{host_of(job, each, number)}:{self.port}" for number in range(each.replicas)]
            for each in job.tasks
            if each.name in roles and each.replicas
        }
        cluster = {role: hosts[role] for role in roles.values() if role in hosts}
        place = {"type": roles.get(task.name, task.name), "index": index}
        text = json.dumps({"cluster": cluster, "task": place}, separators=(",", ":"))
        for container in containers(body):
            add_env(container, TF_CONFIG=text)
