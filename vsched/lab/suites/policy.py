"""The policy that workloads are measured under unless another is given."""

from __future__ import annotations

SUITE_POLICY = """
actions: "allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: predicates
  - name: nodeorder
"""
"""What kube-scheduler does without a configuration: pods by priority, its filters and scores, and preemption. Nothing
is about queues and quotas, which the workloads do not have."""
