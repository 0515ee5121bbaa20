"""Workloads over HTTP: a cluster and a daemon in processes of their own."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.suites import POD, workload_of
from vsched.lab.suites.live import live_of
from vsched.lab.suites.policy import SUITE_POLICY


def test_pods_are_placed_deleted_and_counted_over_http(tmp_path: Path) -> None:
    gated = POD + "  schedulingGates: [{name: example.com/wait}]\n"
    operations = """
- {opcode: createNodes, count: 2, nodeTemplatePath: node.yaml}
- {opcode: createPods, count: 1, namespace: gated, podTemplatePath: gated.yaml, skipWaitToCompletion: true}
- {opcode: barrier, stageRequirement: Attempted}
- {opcode: churn, mode: recreate, number: 1, templatePaths: [node.yaml], intervalMilliseconds: 50}
- {opcode: createPods, count: 2, namespace: old}
- {opcode: deletePods, namespace: old, deletePodsPerSecond: 100}
- {opcode: createPods, count: 3, collectMetrics: true}
"""
    [meter] = asyncio.run(live_of(SUITE_POLICY)(workload_of(tmp_path, operations, gated=gated)))
    assert (meter.name, meter.bound) == ("namespace-6", 3)
    assert meter.seconds > 0
