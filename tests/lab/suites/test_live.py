"""Workloads over HTTP: a cluster and a daemon in processes of their own."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.suites import CLAIM, CLAIM_TEMPLATE, CLAIMING, CLASS, DEVICES, POD, workload_of
from vsched.lab.suites.live import live_of
from vsched.lab.suites.run import SUITE_POLICY

NODES = "- {opcode: createNodes, count: 2, nodeTemplatePath: node.yaml}"


def test_pods_are_placed_deleted_and_counted_over_http(tmp_path: Path) -> None:
    gated = POD + "  schedulingGates: [{name: example.com/wait}]\n"
    operations = """
- {opcode: createPods, count: 1, namespace: gated, podTemplatePath: gated.yaml, skipWaitToCompletion: true}
- {opcode: barrier, stageRequirement: Attempted}
- {opcode: churn, mode: recreate, number: 1, templatePaths: [node.yaml], intervalMilliseconds: 50}
- {opcode: createPods, count: 2, namespace: old}
- {opcode: deletePods, namespace: old, deletePodsPerSecond: 100}
- {opcode: createAny, templatePath: claim.yaml, namespace: init, count: 3}
- {opcode: allocResourceClaims, namespace: init}
- {opcode: createPods, count: 1, namespace: work, podTemplatePath: claiming.yaml}
- {opcode: createPods, count: 3, collectMetrics: true}
"""
    templates = {"gpus": CLASS, "one": CLAIM_TEMPLATE, "claiming": CLAIMING, "claim": CLAIM, "gated": gated}
    workload = workload_of(tmp_path, NODES + DEVICES + operations, **templates)
    [meter] = asyncio.run(live_of(SUITE_POLICY)(workload))
    assert meter.bound == 3
    assert meter.seconds > 0
    assert meter.used.keys() == {"server", "daemon", "user"}
    assert min(meter.used.values()) >= 0 < sum(meter.used.values())
