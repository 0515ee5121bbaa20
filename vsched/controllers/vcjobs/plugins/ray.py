"""Plugin ``ray``: the pods of a job start a Ray cluster, a head and its workers."""

from __future__ import annotations

from vsched.controllers.vcjobs.naming import TASK_SPEC, Body, host_of, of_pods, owned, task_named
from vsched.controllers.vcjobs.plugins.base import JobPlugin, KeyPair, containers, open_port
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob


class Ray(JobPlugin, frozen=True, rename="camel"):
    """The commands of head and workers, the ports of the head, and a Service for these."""

    name = "ray"

    head: str = "head"
    head_container: str = "head"
    """The container of the head's pods that starts Ray."""
    worker: str = "worker"
    worker_container: str = "worker"
    port: int = 6379
    """Of the global control store, to which workers connect."""
    dashboard_port: int = 8265
    client_port: int = 10001

    @property
    def _ports(self) -> dict[str, int]:
        return {"gcs": self.port, "dashboard": self.dashboard_port, "client-server": self.client_port}

    def change_pod(self, body: Body, job: VcJob, task: TaskSpec, index: int) -> None:
        """Replace the command of the container that starts Ray."""
        head = task_named(job, self.head)
        if head is None:
            return
        for container in containers(body):
            role = (task.name, container.get("name"))
            if role == (self.head, self.head_container):
                for name, port in self._ports.items():
                    open_port(container, name, port)
                container["command"] = ["sh", "-c", self._start_head()]
            if role == (self.worker, self.worker_container):
                address = f"{host_of(job, head, 0)}:{self.port}"
                container["command"] = ["sh", "-c", f"ray start --block --address={address}"]

    def objects(self, job: VcJob, keys: KeyPair | None) -> list[Body]:
        """The Service of the head."""
        ports = [
            {"name": name, "port": port, "targetPort": name, "protocol": "TCP"} for name, port in self._ports.items()
        ]
        spec = {"selector": {**of_pods(job), TASK_SPEC: self.head}, "ports": ports}
        return [owned("v1", "Service", job, f"{job.name}-head-svc", spec=spec)]

    def problems(self, job: VcJob) -> list[str]:
        """No task is the head."""
        return self.missing(job, head=self.head)

    def _start_head(self) -> str:
        return (
            f"ray start --head --block --dashboard-host=0.0.0.0 --port={self.port} "
            f"--dashboard-port={self.dashboard_port} --ray-client-server-port={self.client_port}"
        )
