"""Plugin ``pytorch``: containers get what ``torch.distributed`` reads from the environment."""

from __future__ import annotations

from vsched.controllers.vcjobs.naming import Body, host_of, task_named
from vsched.controllers.vcjobs.plugins.base import JobPlugin, add_env, containers, open_port
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob
from vsched.controllers.vcjobs.template import part

_WAIT = """\
end=$(($(date +%s) + {timeout}))
reached() {{
  if command -v nc >/dev/null 2>&1; then
    nc -z -w 2 "$MASTER_ADDR" "$MASTER_PORT"
  else
    timeout 2 bash -c ': <"/dev/tcp/$MASTER_ADDR/$MASTER_PORT"'
  fi 2>/dev/null
}}
until reached; do
  if [ "$(date +%s)" -ge "$end" ]; then
    echo "$MASTER_ADDR:$MASTER_PORT did not answer within {timeout} s" >&2
    exit 1
  fi
  sleep 1
done
"""
"""Ends once the master answers, and fails after the time-out; needs nc, or bash and timeout."""


class Pytorch(JobPlugin, frozen=True, rename="kebab"):
    """``MASTER_ADDR``, ``MASTER_PORT``, ``WORLD_SIZE`` and ``RANK``, and the port of the master."""

    name = "pytorch"

    master: str = "master"
    worker: str = "worker"
    port: int = 23456
    wait_master_enabled: bool = False
    """Whether workers wait in an init container until the master answers."""
    wait_master_timeout: int = 300
    """In seconds."""
    wait_master_image: str = "busybox:1.36.1"

    def change_pod(self, body: Body, job: VcJob, task: TaskSpec, index: int) -> None:
        """Add the variables and the port to the containers, and where it is wanted the init container."""
        master = task_named(job, self.master)
        if master is None:
            return
        address = {"MASTER_ADDR": host_of(job, master, 0), "MASTER_PORT": str(self.port)}
        size = sum(each.replicas for each in job.tasks if each.name in (self.master, self.worker))
        rank = {self.worker: {"RANK": str(index + 1)}, self.master: {"RANK": "0"}}.get(task.name, {})
        for container in containers(body):
            open_port(container, "pytorchjob-port", self.port)
            add_env(container, **address, WORLD_SIZE=str(size), **rank)
        if self.wait_master_enabled and task.name == self.worker:
            waiting: Body = {
                "name": "wait-for-master",
                "image": self.wait_master_image,
                "command": ["sh", "-c", _WAIT.format(timeout=self.wait_master_timeout)],
            }
            add_env(waiting, **address)
            part(body["spec"], "initContainers").append(waiting)

    def problems(self, job: VcJob) -> list[str]:
        """No task is the master."""
        return self.missing(job, master=self.master)
