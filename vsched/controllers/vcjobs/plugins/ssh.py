"""Plugin ``ssh``: the pods of a job log in to each other without a password, with a key pair of the job."""

from __future__ import annotations

import base64

from vsched.controllers.vcjobs import words
from vsched.controllers.vcjobs.naming import Body, host_parts, owned, spec_of
from vsched.controllers.vcjobs.plugins.base import JobPlugin, KeyPair, all_containers, mount
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob
from vsched.controllers.vcjobs.template import part

_FOLDER = ".ssh"
_FILES = ("id_rsa", "id_rsa.pub", "authorized_keys", "config")
_PREAMBLE = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"


class Ssh(JobPlugin, frozen=True, rename="kebab"):
    """A Secret with keys and a configuration of ssh, mounted by every container."""

    name = "ssh"
    hosts_max = 10_000  # a Secret has a megabyte

    ssh_key_file_path: str = "/root/.ssh"
    ssh_private_key: str = ""
    """Keys to use; without them the job gets a new pair."""
    ssh_public_key: str = ""

    def change_pod(self, body: Body, job: VcJob, task: TaskSpec, index: int) -> None:
        """Mount the keys."""
        secret = secret_name(job)
        items = [{"key": file, "path": f"{_FOLDER}/{file}"} for file in _FILES]
        source = {"secretName": secret, "items": items, "defaultMode": 0o600}
        part(body["spec"], "volumes").append({"name": secret, "secret": source})
        for container in all_containers(body):
            mount(container, secret, self.ssh_key_file_path, subPath=_FOLDER)

    @property
    def given(self) -> KeyPair | None:
        """The keys among the arguments, None where a new pair is to be made."""
        return KeyPair(self.ssh_private_key, self.ssh_public_key) if self.ssh_private_key else None

    def objects(self, job: VcJob, keys: KeyPair | None) -> list[Body]:
        """The Secret with the keys."""
        pair = self.given or keys
        if pair is None:
            raise ValueError(words.needs_key_pair(secret_name(job)))
        texts = (pair.private, pair.public, pair.public, _configuration(job))
        data = {file: base64.b64encode(text.encode()).decode() for file, text in zip(_FILES, texts, strict=True)}
        return [owned("v1", "Secret", job, secret_name(job), data=data, type="Opaque")]


def secret_name(job: VcJob) -> str:
    """The name of the Secret with the keys of a job."""
    return f"{job.name}-ssh"


def _configuration(job: VcJob) -> str:
    lines = [_PREAMBLE]
    for task in job.tasks:
        alone = bool(spec_of(task).get("hostname"))
        for index in range(min(1, task.replicas) if alone else task.replicas):
            host, subdomain = host_parts(job, task, index)
            lines.append(f"Host {host}\n  HostName {host}.{subdomain}\n")
    return "".join(lines)
