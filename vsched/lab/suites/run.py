"""Workloads one after the other, and what each of them took."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter

import msgspec

from vsched.daemon.system.tuning import tuned
from vsched.framework.policy import Policy
from vsched.lab.suites import words
from vsched.lab.suites.core import CoreCluster
from vsched.lab.suites.operations import (
    Churn,
    CreateAny,
    CreateNamespaces,
    CreateNodes,
    CreatePods,
    CreatePodSets,
    Operation,
    UpdateAny,
    Workload,
)
from vsched.lab.suites.perform import Performer
from vsched.lab.suites.place import LeftOut, NotPlaced, PlacementMeter
from vsched.lab.suites.templates import template_of
from vsched.together import run_fast

ARRIVALS = 1000
"""How many measured pods come at once to the decision core: the next ones come when these have nodes."""


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of one collection of a workload."""

    name: str
    pods: int
    seconds: float
    cpu_seconds: Mapping[str, float] = msgspec.field(default_factory=dict)
    """The processor time that each process has used meanwhile; empty where there is only one."""

    @property
    def pods_per_second(self) -> float:
        return self.pods / self.seconds if self.seconds else 0.0

    @property
    def cpu_ms_per_pod(self) -> dict[str, float]:
        """The same for each pod that got a node, in milliseconds."""
        return {name: seconds * 1e3 / self.pods for name, seconds in self.cpu_seconds.items() if self.pods}


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one workload."""

    workload: Workload
    measured: tuple[Measurement, ...] = ()
    left_out: str = ""
    """Why it was not measured."""
    problem: str = ""
    """Why it did not end as it should."""
    same_as: str = ""
    """The workload that it differs from in feature gates alone, which was measured for both."""
    seconds: float = 0.0
    """It took so long in all, with making and feeding the objects."""

    @property
    def slowest(self) -> Measurement | None:
        """The slowest of what was measured; None where nothing was."""
        return min((each for each in self.measured if each.pods), key=lambda each: each.pods_per_second, default=None)

    @property
    def pods_per_second(self) -> float:
        """That of the slowest; 0 where nothing was measured, or where it did not end as it should."""
        return 0.0 if self.problem or self.slowest is None else self.slowest.pods_per_second

    @property
    def times_threshold(self) -> float | None:
        """How many times the file's threshold that is; None where there is nothing to compare."""
        threshold = self.workload.threshold
        if threshold is None or threshold.counts or self.left_out:
            return None
        return self.pods_per_second / threshold.number


Perform = Callable[[Workload], Awaitable[list[PlacementMeter]]]


def run_all(
    workloads: Sequence[Workload], perform: Perform, tell: Callable[[int, Result | None], None]
) -> list[Result]:
    """The results of these workloads; ``tell`` gets the number of each as it begins, and then its result."""
    for workload in workloads:
        for operation in () if workload.left_out else workload.operations:
            check(operation)
    results: list[Result] = []
    first: dict[tuple[str, str], Result] = {}
    for at, workload in enumerate(workloads):
        tell(at, None)
        alike = (workload.case, repr(workload.operations))
        known = first.get(alike)
        if workload.left_out:
            result = Result(workload=workload, left_out=workload.left_out)
        elif known is not None:
            result = msgspec.structs.replace(known, workload=workload, same_as=known.workload.full_name)
        else:
            result = run_fast(_result(workload, perform))
            gc.collect()
            first[alike] = result
        tell(at, result)
        results.append(result)
    return results


async def _result(workload: Workload, perform: Perform) -> Result:
    began = perf_counter()
    try:
        meters = await perform(workload)
    except LeftOut as error:
        return Result(workload=workload, left_out=str(error), seconds=perf_counter() - began)
    except NotPlaced as error:
        return Result(workload=workload, problem=str(error), seconds=perf_counter() - began)
    measured = tuple(
        Measurement(name=each.name, pods=each.bound, seconds=each.seconds, cpu_seconds=each.used) for each in meters
    )
    nothing = "" if any(each.pods for each in measured) else words.NO_PODS_MEASURED
    return Result(workload=workload, measured=measured, left_out=nothing, seconds=perf_counter() - began)


def core_of(policy: Policy) -> Perform:
    """Workloads on the decision core under a policy."""

    async def perform(workload: Workload) -> list[PlacementMeter]:
        place = CoreCluster(policy)
        with tuned():
            found = await Performer(place, ARRIVALS).run(workload)
        place.close()
        return found

    return perform


def check(operation: Operation) -> None:
    """Read the templates of an operation; raises BadInput with file and line."""
    match operation:
        case CreatePods():
            paths = [operation.template, operation.volume, operation.claim]
        case CreatePodSets():
            check(operation.pods)
            return
        case CreateNodes() | CreateNamespaces() | CreateAny() | UpdateAny():
            paths = [operation.template]
        case Churn():
            paths = list(operation.templates)
        case _:
            return
    for path in paths:
        if path is not None:
            template_of(path)


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
