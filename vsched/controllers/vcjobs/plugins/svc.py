"""Plugin ``svc``: the pods of a job find each other by name.

Each pod gets a host name below a headless Service of the job's name. A ConfigMap lists the hosts of each task; it is
mounted at ``/etc/volcano`` and read into environment variables. A NetworkPolicy lets only pods of the job in.
"""

from __future__ import annotations

from vsched.controllers.vcjobs.naming import Body, host_parts, hosts_of, of_pods, owned
from vsched.controllers.vcjobs.plugins.base import JobPlugin, KeyPair, all_containers, mount
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob
from vsched.controllers.vcjobs.template import part

MOUNT_PATH = "/etc/volcano"


class Svc(JobPlugin, frozen=True, rename="kebab"):
    """A Service, a ConfigMap and a NetworkPolicy for each job."""

    name = "svc"
    hosts_max = 10_000  # a ConfigMap has a megabyte

    publish_not_ready_addresses: bool = False
    """Whether names of pods resolve before the pods are ready."""
    disable_network_policy: bool = False
    """Whether there is no NetworkPolicy."""
    inject_hosts_env: bool = True
    """Whether hosts are environment variables, too. A list of many hundred hosts is too long for one."""

    def change_pod(self, body: Body, job: VcJob, task: TaskSpec, index: int) -> None:
        """Name the host, mount the ConfigMap and add its variables to all containers."""
        spec, hosts = body["spec"], hosts_name(job)
        spec["hostname"], spec["subdomain"] = host_parts(job, task, index)
        variables = [
            {"name": name, "valueFrom": {"configMapKeyRef": {"name": hosts, "key": name}}}
            for each in job.tasks
            for name in _variables(each)
            if self.inject_hosts_env
        ]
        part(spec, "volumes").append({"name": hosts, "configMap": {"name": hosts}})
        for container in all_containers(body):
            if variables:
                part(container, "env").extend(variables)
            mount(container, hosts, MOUNT_PATH)

    def objects(self, job: VcJob, keys: KeyPair | None) -> list[Body]:
        """The ConfigMap, the Service and the NetworkPolicy."""
        made = [hosts_map(job), self._service(job)]
        return made if self.disable_network_policy else [*made, _network_policy(job)]

    def _service(self, job: VcJob) -> Body:
        port = {"name": "placeholder-volcano", "port": 1, "protocol": "TCP", "targetPort": 1}
        spec = {
            "clusterIP": "None",
            "selector": of_pods(job),
            "publishNotReadyAddresses": self.publish_not_ready_addresses,
            "ports": [port],  # some implementations of Services want one
        }
        return owned("v1", "Service", job, job.name, spec=spec)


def hosts_name(job: VcJob) -> str:
    """The name of the ConfigMap with the hosts of a job."""
    return f"{job.name}-svc"


def hosts_map(job: VcJob) -> Body:
    """The ConfigMap with the hosts of each task, as a file with a line for each, and as variables."""
    data = {}
    for task in job.tasks:
        hosts = hosts_of(job, task)
        listed, number = _variables(task)
        data[f"{task.name.replace('-', '_')}.host"] = "\n".join(hosts)
        data[listed] = ",".join(hosts)
        data[number] = str(len(hosts))
    return owned("v1", "ConfigMap", job, hosts_name(job), data=data)


def _variables(task: TaskSpec) -> tuple[str, str]:
    stem = task.name.replace("-", "_").upper()
    return f"VC_{stem}_HOSTS", f"VC_{stem}_NUM"


def _network_policy(job: VcJob) -> Body:
    selector = {"matchLabels": of_pods(job)}
    spec = {"podSelector": selector, "ingress": [{"from": [{"podSelector": selector}]}], "policyTypes": ["Ingress"]}
    return owned("networking.k8s.io/v1", "NetworkPolicy", job, job.name, spec=spec)
