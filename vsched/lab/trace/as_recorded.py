"""What really happened, in the figures of a replay; and how well a replay matches it.

A replay says what a policy would have done. Whether it can be believed shows where the policy in force is replayed:
jobs have to wait about as long as they really did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vsched.lab.trace.accounts import TraceAccounts
from vsched.lab.trace.files import ClusterTrace, TraceNode, TracePod
from vsched.lab.trace.machines import Machine
from vsched.lab.trace.measures import spread

CLOSE_SECONDS, CLOSE_PART = 60.0, 0.1
"""A job waits as long as recorded where the difference is at most this long, or this part of the recorded wait."""
SHORTEST_SECONDS = 0.001
"""A run takes some time: what begins ends later."""
DIGITS = 4
_ARRIVES, _ENDS, _STARTS = 0, 1, 2


def as_recorded(trace: ClusterTrace, weights: Mapping[str, int]) -> dict[str, Any]:
    """The summary of a replay, of what really became of the pods of a trace that says it."""
    accounts = TraceAccounts(trace, weights)
    machines = {node.name: Machine.of(node) for node in trace.nodes}
    accounts.machines([*machines.values()])
    runs = {name: len(runs) for name, runs in trace.really.items()}
    last = None
    for at, what, pod, node in sorted(_steps(trace), key=lambda step: (step[0], step[1], step[2].name)):
        if last is not None and at > last:
            accounts.sample(last)
        last = at
        if what == _ARRIVES:
            accounts.arrive(pod, at)
        elif what == _STARTS:
            accounts.start(pod, _taken(machines, node, pod), at, whole=True)
        else:
            _leave(machines, node, pod)
            runs[pod.name] -= 1
            if runs[pod.name]:
                accounts.evict(pod, at)
            else:
                accounts.finish(pod)
    if last is not None:
        accounts.sample(last)
    return accounts.summary()


def _steps(trace: ClusterTrace) -> Iterator[tuple[float, int, TracePod, str]]:
    first = trace.pods[0].created
    for pod in trace.pods:
        yield float(pod.created - first), _ARRIVES, pod, ""
        since = float(pod.created)
        for run in trace.really.get(pod.name, ()):
            since = max(run.start, since)
            yield since - first, _STARTS, pod, run.node
            if run.end is not None:
                since = max(run.end, since + SHORTEST_SECONDS)
                yield since - first, _ENDS, pod, run.node


def _taken(machines: Mapping[str, Machine], node: str, pod: TracePod) -> Machine:
    """The machine with the pod on it; one of its own where the trace's nodes have no room for what was recorded."""
    machine = machines.get(node)
    if machine is None or sum(machine.devices.free) < pod.gpu_amount:
        return Machine.of(TraceNode(node, pod.cpu_milli, pod.memory_mib))
    machine.cpu_milli -= pod.cpu_milli
    machine.memory_mib -= pod.memory_mib
    machine.pods[pod.name] = pod
    machine.devices.take(pod.name, pod)
    return machine


def _leave(machines: Mapping[str, Machine], node: str, pod: TracePod) -> None:
    machine = machines.get(node)
    if machine is None or pod.name not in machine.pods:
        return
    del machine.pods[pod.name]
    machine.cpu_milli += pod.cpu_milli
    machine.memory_mib += pod.memory_mib
    machine.devices.give_back(pod.name, pod)


def waits_really(trace: ClusterTrace) -> dict[str, float]:
    """How long the jobs of a trace really waited until they had nodes for the last time, by the name of their pod."""
    found = {}
    for pod in trace.pods:
        runs = trace.really.get(pod.name, ())
        if runs and pod.is_first_of_job:
            waited, since = 0.0, float(pod.created)
            for run in runs:
                waited += max(0.0, run.start - since)
                since = run.end or run.start
            found[pod.name] = waited
    return found


def match(trace: ClusterTrace, waits: Mapping[str, float]) -> dict[str, Any]:
    """How well the waits of a replay, by the name of the pod, match what was recorded: a document."""
    really = waits_really(trace)
    both = sorted(really.keys() & waits.keys())
    differences = [abs(waits[name] - really[name]) for name in both]
    close = sum(
        difference <= max(CLOSE_SECONDS, CLOSE_PART * really[name])
        for name, difference in zip(both, differences, strict=True)
    )
    found = spread(differences)
    return {
        "jobs": len(both),
        "as_recorded": round(close / len(both), DIGITS) if both else 0.0,
        "difference_seconds": {name: found[name] for name in ("p50", "p90", "mean")},
        "mean_wait_seconds": {
            "recorded": round(sum(really[name] for name in both) / len(both), DIGITS) if both else 0.0,
            "replayed": round(sum(waits[name] for name in both) / len(both), DIGITS) if both else 0.0,
        },
    }
