"""A policy that preempts, and gangs of a priority class."""

from __future__ import annotations

from typing import Any

from vsched.sim.cluster import ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

POLICY = """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
"""


QUICK_TO_GO = ClusterSettings(ControllerSettings(PodTimes(termination=0.05)))


Obj = dict[str, Any]


def priority_class(name: str, value: int) -> Obj:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def of_class(name: str, objects: list[Obj]) -> list[Obj]:
    """A gang whose PodGroup and pods are of a priority class."""
    for found in objects:
        found["spec"]["priorityClassName"] = name
    return objects
