"""Plugin ``mpi``: the master is told the hosts of the workers, and all can be reached by ssh."""

from __future__ import annotations

from vsched.controllers.vcjobs.naming import Body, hosts_of, task_named
from vsched.controllers.vcjobs.plugins.base import JobPlugin, add_env, all_containers, open_port
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob


class Mpi(JobPlugin, frozen=True):
    """``MPI_HOST`` for the master, and the port of ssh."""

    name = "mpi"
    hosts_max = 2_000  # an environment variable has 128 KiB

    master: str = "master"
    worker: str = "worker"
    port: int = 22

    def change_pod(self, body: Body, job: VcJob, task: TaskSpec, index: int) -> None:
        """Open the port in all containers; add the hosts to those of the master."""
        workers = task_named(job, self.worker)
        for container in all_containers(body):
            open_port(container, "mpijob-port", self.port)
            if task.name == self.master and workers is not None:
                add_env(container, MPI_HOST=",".join(hosts_of(job, workers)))

    def problems(self, job: VcJob) -> list[str]:
        """No task is the master, or none has the workers."""
        return self.missing(job, master=self.master, worker=self.worker)
