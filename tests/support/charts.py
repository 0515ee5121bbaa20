"""The chart, rendered by Helm itself; skips where Helm's library is not there."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from vsched.cli.run.command import command, options_of
from vsched.daemon.options import Options
from vsched.daemon.permissions.needs import Right
from vsched.yamltext import KubernetesLoader

helm = pytest.importorskip("helm_python", reason="Helm's library is not installed (pip install helm-python-sdk)")

Obj = dict[str, Any]
CHART = Path(__file__).parents[2] / "helm" / "vsched"
RELEASE, NAMESPACE = "vsched", "batch"
POD = "vsched-6d5f8-x2k4l"
OF_THE_PROCESS = ("kubeconfig", "context", "log_level", "log_format", "window_ms")
"""Flags of ``vsched run`` that are not options of a daemon."""

ISSUER = {"source": "cert-manager", "issuerRef": {"name": "house", "kind": "ClusterIssuer"}}
OWN = {"source": "secret", "secretName": "mine", "caBundle": "Y2E="}
SECRET = {"namespace": "monitoring", "name": "prometheus", "key": "token"}
VGPUS = """actions: allocate
tiers:
- plugins:
  - name: deviceshare
    arguments:
      deviceshare.VGPUEnable: true
"""
VALUES: dict[str, Obj] = {
    "as it comes": {},
    "everything that can be switched on": {
        "arbitration": {"enabled": True},
        "webhook": {"jobs": True},
        "tls": {"listen": True},
        "access": {"authentication": "tokenreview"},
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "prometheusRule": {"enabled": True},
        "dashboard": {"enabled": True},
        "ingress": {"enabled": True, "hosts": ["vsched.example.com"], "className": "nginx"},
        "httpRoute": {"enabled": True, "parentRefs": [{"name": "public"}], "hostnames": ["vsched.example.com"]},
        "networkPolicy": {"egress": {"enabled": True}, "metricsFrom": [{"namespaceSelector": {}}]},
    },
    "certificates that the pods renew themselves": {
        "webhook": {"jobs": True},
        "tls": {"listen": True, "certificate": {"source": "self"}},
    },
    "an arbitrator alone, its certificates by cert-manager": {
        "schedule": False,
        "arbitration": {"enabled": True, "grace": "0", "evictions": 5},
        "webhook": {"failurePolicy": "Fail"},
        "tls": {"certificate": ISSUER},
    },
    "a shadow beside Volcano": {"shadow": {"enabled": True}},
    "a shadow of plain pods, with usage from the metrics server": {
        "shadow": {"enabled": True, "schedulerNames": ["default-scheduler"]},
        "policy": {"content": {"metrics": {"type": "metrics_server"}}},
    },
    "beside Volcano's controllers, with Volcano's pods": {
        "schedulerNames": ["vsched", "volcano"],
        "controllers": {"queues": False, "podGroups": False, "jobs": False, "gates": False},
        "evictionMode": "delete",
    },
    "vcjobs are reviewed, and nothing else": {"webhook": {"jobs": True}},
    "beside another scheduler, with a node shard": {"nodeShard": {"mode": "soft", "name": "batch"}},
    "three replicas that all act, by pools of nodes": {"replicas": 3, "shards": {"count": 3, "by": "node-pool"}},
    "two replicas that all act, and share the cluster among namespaces": {
        "replicas": 2,
        "shards": {"count": 2},
        "arbitration": {"enabled": True},
    },
    "one replica without a lease": {
        "replicas": 1,
        "leaderElection": {"enabled": False},
        "podDisruptionBudget": {"enabled": False},
        "networkPolicy": {"enabled": False},
    },
    "usage from the metrics server": {"policy": {"content": {"metrics": {"type": "metrics_server"}}}},
    "usage from the custom metrics API": {"policy": {"content": {"metrics": {"type": "prometheus_adapter"}}}},
    "nodes by ProvisioningRequests": {"policy": {"content": {"autoscaling": {"provisioningRequest": True}}}},
    "NPUs, and their models in a ConfigMap of another name": {
        "policy": {
            "content": {
                "tiers": [
                    {"plugins": [{"name": "gang"}, {"name": "predicates"}]},
                    {
                        "plugins": [
                            {
                                "name": "deviceshare",
                                "arguments": {
                                    "deviceshare.AscendHAMiVNPUEnable": True,
                                    "deviceshare.KnownGeometriesCMName": "hami-scheduler-device",
                                },
                            }
                        ]
                    },
                ]
            }
        }
    },
    "nodes are locked while pods get devices": {
        "policy": {
            "content": {
                "tiers": [
                    {"plugins": [{"name": "gang"}, {"name": "predicates"}]},
                    {"plugins": [{"name": "deviceshare", "arguments": {"deviceshare.NodeLockEnable": True}}]},
                ]
            }
        }
    },
    "vGPUs, and MIG geometries in a ConfigMap of another name": {
        "policy": {"text": VGPUS + "      deviceshare.KnownGeometriesCMName: gpus\n"}
    },
    "usage from a Prometheus that wants a token": {
        "policy": {"content": {"metrics": {"type": "prometheus", "address": "http://p:9090", "tokenSecret": SECRET}}}
    },
    "arbitration with a certificate of one's own, and readers by name": {
        "arbitration": {"enabled": True},
        "tls": {"listen": True, "certificate": OWN},
        "access": {"authentication": "tokenreview", "allowGroups": ["monitoring"]},
    },
    "a policy as text": {"policy": {"text": "actions: allocate\ntiers:\n- plugins:\n  - name: gang # all or none\n"}},
    "a policy that is somebody else's": {"policy": {"existingConfigMap": "theirs", "key": "volcano-scheduler.conf"}},
    "no usage history, and a Lease of another name": {
        "history": {"enabled": False},
        "leaderElection": {"leaseName": "other"},
    },
    "a kind of workload of one's own": {
        "workloads": {
            "kinds": [
                {
                    "apiVersions": ["example.com/v1"],
                    "kind": "InferenceService",
                    "roles": [{"name": "all", "replicas": "spec.replicas"}],
                }
            ]
        }
    },
    "no kinds of workloads but one's own": {
        "workloads": {
            "builtIn": False,
            "kinds": [{"apiVersions": ["example.com/v1"], "kind": "Index", "plural": "indices"}],
        }
    },
    "PodGroups by Volcano, gates by vsched": {"controllers": {"podGroups": False, "volcanoNamespace": ""}},
    "vcjobs alone": {"controllers": {"queues": False, "podGroups": False, "gates": False}},
    "vcjobs of two namespaces, in the pods that place pods": {
        "controllers": {"jobsApart": False, "jobNamespaces": ["team-a", "team-b"]}
    },
    "vcjobs of all namespaces": {"controllers": {"jobNamespaces": ["*"]}},
    "jobs end once their wall time is over": {
        "policy": {"content": {"actions": "allocate", "tiers": [{"plugins": [{"name": "wall-time"}]}]}}
    },
    "probes of pods in two networks": {"controllers": {"podNetworks": ["10.244.0.0/16", "fd01::/48"]}},
    "replicas that never share a node": {"antiAffinity": "required", "tolerations": [{"operator": "Exists"}]},
}
"""Sets of values, by what they are for."""


@functools.cache
def _rendered(values: str, release: str) -> dict[str, str]:
    found: dict[str, str] = helm.Chart.load(CHART).render(values=json.loads(values), name=release, namespace=NAMESPACE)
    return found


def files_of(values: Obj, release: str = RELEASE) -> dict[str, str]:
    """What the chart comes to, by file of ``templates``."""
    return {Path(path).name: text for path, text in _rendered(json.dumps(values), release).items()}


def objects_of(values: Obj, release: str = RELEASE) -> list[Obj]:
    """Every object of the chart."""
    return list(_objects(json.dumps(values), release))


@functools.cache
def _objects(values: str, release: str) -> tuple[Obj, ...]:
    """Read once: nobody changes them."""
    texts = (text for path, text in _rendered(values, release).items() if not path.endswith("NOTES.txt"))
    return tuple(each for text in texts for each in yaml.load_all(text, KubernetesLoader) if each)


def one(objects: Sequence[Obj], kind: str, name: str = "") -> Obj:
    """The only object of a kind, or of a kind and a name."""
    found = [each for each in objects if each["kind"] == kind and name in ("", each["metadata"]["name"])]
    assert len(found) == 1, (kind, name, [each["metadata"]["name"] for each in found])
    return found[0]


SCHEDULER, VCJOBS = "vsched", "vcjobs"
"""The containers of the two Deployments."""


def deployments_of(objects: Sequence[Obj]) -> dict[str, Obj]:
    """The Deployments by the name of their only container."""
    found = [each for each in objects if each["kind"] == "Deployment"]
    assert all(len(each["spec"]["template"]["spec"]["containers"]) == 1 for each in found)
    return {each["spec"]["template"]["spec"]["containers"][0]["name"]: each for each in found}


def container_of(objects: Sequence[Obj], name: str = SCHEDULER) -> Obj:
    container: Obj = deployments_of(objects)[name]["spec"]["template"]["spec"]["containers"][0]
    return container


def options_in(objects: Sequence[Obj], container: str = SCHEDULER) -> Options:
    """What ``vsched run`` makes of the container's arguments."""
    arguments = container_of(objects, container)["args"]
    assert arguments[0] == "run"
    # As a kubelet puts them in.
    context = command.make_context("run", [each.replace("$(POD_NAME)", POD) for each in arguments[1:]])
    if context.params["workloads_file"] is not None:
        context.params["workloads_file"] = _mounted(objects)
    flags = {name: value for name, value in context.params.items() if name not in OF_THE_PROCESS}
    return options_of(flags, context.params["window_ms"])


def _mounted(objects: Sequence[Obj]) -> Path:
    """The table of workload kinds as a file, as a kubelet puts it there."""
    text = one(objects, "ConfigMap", f"{RELEASE}-workloads")["data"]["workloads.yaml"]
    path = Path(tempfile.mkdtemp()) / "workloads.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def rights_in(objects: Sequence[Obj], account: str) -> set[Right]:
    """What the roles that are bound to an account of the release's namespace allow it."""
    found = set()
    for binding in (each for each in objects if each["kind"].endswith("RoleBinding")):
        (subject,) = binding["subjects"]
        assert (subject["kind"], subject["namespace"]) == ("ServiceAccount", NAMESPACE)
        if subject["name"] != account:
            continue
        namespace = binding["metadata"].get("namespace", "")
        roles = [each for each in objects if each["kind"] == binding["roleRef"]["kind"]]
        role = next(
            each
            for each in roles
            if each["metadata"]["name"] == binding["roleRef"]["name"]
            and each["metadata"].get("namespace", namespace) == namespace
        )
        for rule in role["rules"]:
            found |= {
                Right(verb, group, resource, namespace, name)
                for verb in rule["verbs"]
                for group in rule["apiGroups"]
                for resource in rule["resources"]
                for name in rule.get("resourceNames", [""])
            }
    return found
