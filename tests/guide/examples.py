"""The files and objects that the commands of the guide speak of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.support.pages import TOP, page

Obj = dict[str, Any]

WITH_MISTAKES = """\
actions: "enqueue, alocate"
tiers:
- plugins:
  - name: propotion
"""

SHARED = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
    enableNodeOrder: true
  - name: predicates
    arguments:
      predicate.CacheEnable: true
"""

NEW_JOB: list[Obj] = [
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "new", "namespace": "team-a"},
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "template": {
                "spec": {
                    "schedulerName": "vsched",
                    "restartPolicy": "Never",
                    "containers": [
                        {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}
                    ],
                }
            },
        },
    }
]


def _copy(name: str) -> str:
    return (TOP / name).read_text(encoding="utf-8")


FILES = {
    "policy.yaml": WITH_MISTAKES,
    "shared.yaml": SHARED,
    "new-job.yaml": yaml.safe_dump_all(NEW_JOB),
    "new-policy.yaml": _copy("config/policies/capacity.yaml"),
    "volcano-scheduler.conf": _copy("config/policies/volcano-default.yaml"),
    "first-job.yaml": next(block.text for block in page("README.md").blocks if block.language == "yaml"),
    "monday.json.gz": "",
    "vsched-61.json.gz": "",
    "issue.json.gz": "",
    "today.json.gz": "",
    "tls.crt": "",
    "tls.key": "",
}
"""Files by name; those that commands write are empty until then."""


def write_files(folder: Path) -> None:
    """Make a folder in which the commands of the guide can be run."""
    for name, text in FILES.items():
        if text:
            (folder / name).write_text(text, encoding="utf-8")
    for name in ("config", "helm", "vsched", "Makefile"):
        (folder / name).symlink_to(TOP / name)


def _namespace(name: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _job(namespace: str, name: str, pods: int, minimum: int, cpu: str) -> list[Obj]:
    group: Obj = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"minMember": minimum, "queue": "research"},
    }
    return [group, *(_pod(namespace, f"{name}-{number}", name, cpu) for number in range(pods))]


def _pod(namespace: str, name: str, group: str, cpu: str) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": {"scheduling.k8s.io/group-name": group},
        },
        "spec": {
            "schedulerName": "vsched",
            "containers": [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}],
        },
    }


def _deployment(namespace: str, name: str) -> Obj:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"nodeName": "node-1", "containers": [{"name": "main", "image": "busybox"}]},
            },
        },
    }


def world() -> list[Obj]:
    """What has to be in the cluster for the commands to find something: a job that runs, and one that cannot."""
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "research"},
        "spec": {"weight": 2, "capability": {"cpu": "48"}},
    }
    policy = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "vsched-policy", "namespace": "vsched"},
        "data": {"scheduler.yaml": _copy("config/scheduler.yaml")},
    }
    return [
        *map(_namespace, ("team-a", "batch", "vsched")),
        queue,
        *_job("team-a", "runs", 2, 2, "2"),
        *_job("team-a", "train", 3, 3, "40"),
        policy,
        _deployment("vsched", "vsched"),
        *yaml.safe_load_all(_copy("config/migration/volcano.yaml")),
    ]
