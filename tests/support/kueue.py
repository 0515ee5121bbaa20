"""Small generators of Kueue's performance tests, written as YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from vsched.lab.kueue.generator import Generator, read_generator
from vsched.lab.kueue.run import BUILT_IN, COHORTS, KueueReplay
from vsched.settings import load_text
from vsched.settings.installed import registry

RACK = "example.com/rack"


def workload(name: str = "small", *, runtime_ms: int = 200, priority: int = 50, cpu: int = 1, **more: Any) -> Any:
    """A kind of workload."""
    return {"className": name, "runtimeMs": runtime_ms, "priority": priority, "request": cpu, **more}


def series(count: int, every_ms: int, *workloads: Any) -> Any:
    """So many rounds of workloads, each after a pause."""
    return {"count": count, "creationIntervalMs": every_ms, "workloads": [*workloads]}


def queues(
    *series: Any, name: str = "cq", count: int = 1, nominal: int = 4, borrows: int | None = 4, **more: Any
) -> Any:
    """Queues that are alike; they take back and preempt unless told otherwise."""
    terms = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority", **more}
    limit = {} if borrows is None else {"borrowingLimit": borrows}
    return {"className": name, "count": count, "nominalQuota": nominal, **limit, **terms, "workloadsSets": [*series]}


def cohorts(*queues: Any, name: str = "cohort", count: int = 1) -> Any:
    """Cohorts that are alike."""
    return {"className": name, "count": count, "queuesSets": [*queues]}


def topology(racks: int = 2, nodes: int = 2, cpu: str = "2") -> dict[str, Any]:
    """A block of racks of nodes, and the flavor that uses it."""
    levels = [
        {"name": "block", "count": 1, "nodeLabel": "example.com/block"},
        {"name": "rack", "count": racks, "nodeLabel": RACK},
        {"name": "node", "count": nodes, "nodeLabel": "kubernetes.io/hostname", "capacity": {"cpu": cpu}},
    ]
    flavor = {"name": "flavor", "nodeLabel": "tas-node-group", "topologyName": "tree"}
    return {"topology": {"name": "tree", "levels": levels}, "resourceFlavor": flavor}


def written(folder: Path, *cohorts: Any, **more: Any) -> Path:
    """A generator file with these cohorts."""
    path = folder / "generator.yaml"
    path.write_text(yaml.safe_dump({"cohorts": [*cohorts], **more}, sort_keys=False))
    return path


def generator(folder: Path, *cohorts: Any, **more: Any) -> Generator:
    """The generator of such a file."""
    return read_generator(written(folder, *cohorts, **more))


def replayed(found: Generator, *, apart_ms: int = 0) -> KueueReplay:
    """A generator after its replay under the built-in policy."""
    policy = load_text(COHORTS, BUILT_IN, registry()).policy
    replay = KueueReplay(found, policy, registry(), lambda _: None, apart_ms=apart_ms)
    replay.run()
    return replay
