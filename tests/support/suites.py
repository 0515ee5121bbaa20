"""Small files of workloads, as scheduler_perf has them, and what they do on a mirror in memory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from textwrap import dedent

from vsched.framework.policy import Policy
from vsched.lab.suites.core import CoreCluster
from vsched.lab.suites.operations import Workload
from vsched.lab.suites.perform import Performer
from vsched.lab.suites.place import PlacementMeter
from vsched.lab.suites.reading import read_suite
from vsched.lab.suites.run import SUITE_POLICY
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

POD = """
apiVersion: v1
kind: Pod
metadata: {generateName: pod-, labels: {app: work}}
spec:
  containers:
  - {name: main, image: registry.example/work:1, resources: {requests: {cpu: "1"}}}
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {generateName: node-}
status:
  capacity: {cpu: "2", memory: 8Gi, pods: "10"}
  conditions: [{type: Ready, status: "True"}]
  phase: Running
"""
CLASS = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}
"""
CLAIM_TEMPLATE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
"""
CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: "claim-{{.Index}}"}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
"""
CLAIMING = """
apiVersion: v1
kind: Pod
metadata: {generateName: pod-}
spec:
  containers: [{name: main, image: registry.example/work:1, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
"""
DEVICES = """
- {opcode: createResourceDriver, driverName: gpu.example.com, nodes: node-*, maxClaimsPerNode: 2}
- {opcode: createAny, templatePath: gpus.yaml}
- {opcode: createAny, templatePath: one.yaml, namespace: work}
"""
BASIC = """
- name: Basic
  defaultPodTemplatePath: pod.yaml
  workloadTemplate:
  - {opcode: createNodes, countParam: $nodes, nodeTemplatePath: node.yaml}
  - {opcode: createPods, countParam: $pods, collectMetrics: true}
  workloads:
  - name: small
    labels: [short]
    threshold: 1
    params: {nodes: 2, pods: 3}
"""


def suite_of(folder: Path, text: str = BASIC, **templates: str) -> Path:
    """The path of a file of workloads; ``pod.yaml`` and ``node.yaml`` are beside it, and ``NAME.yaml`` of templates."""
    for name, template in {"pod": POD, "node": NODE, **templates}.items():
        (folder / f"{name}.yaml").write_text(dedent(template), encoding="utf-8")
    path = folder / "performance-config.yaml"
    path.write_text(dedent(text), encoding="utf-8")
    return path


def workload_of(folder: Path, operations: str, params: str = "{}", **templates: str) -> Workload:
    """The one workload of a test case with these operations."""
    text = (
        "- name: Case\n  defaultPodTemplatePath: pod.yaml\n  workloadTemplate:\n"
        + "".join(f"  {line}\n" for line in dedent(operations).strip().splitlines())
        + f"  workloads:\n  - {{name: one, params: {params}}}\n"
    )
    [found] = read_suite(suite_of(folder, text, **templates))
    return found


def suite_policy() -> Policy:
    """The policy that workloads are measured under."""
    return load_text(SUITE_POLICY, "the built-in policy", REGISTRY).policy


def performed(workload: Workload) -> tuple[CoreCluster, list[PlacementMeter]]:
    """The cluster after a workload was carried out on a mirror, and what was measured."""
    place = CoreCluster(suite_policy())
    return place, asyncio.run(Performer(place, 2).run(workload))
