"""Gauges that are computed at each scrape: of queues, jobs, namespaces, the mirror and the workqueues.

So a queue, job or namespace that is gone leaves no series behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from vsched.model.amounts.counted import NOTHING, Counted, counted_scale
from vsched.model.amounts.resources import ResourceAxis, Vector, add
from vsched.model.plan import QueueOutcome
from vsched.model.snapshot import Snapshot
from vsched.web.findings import Arbitrated, Findings
from vsched.web.metrics.device_gauges import of_devices, of_vgpus
from vsched.web.metrics.help_texts import meaning_of
from vsched.web.metrics.job_gauges import MOST_NAMESPACES, OTHER, dominant, of_jobs
from vsched.web.metrics.listing import Listing

Amounts = Mapping[str, int]

MOST_QUEUES = 500
"""How many queues have series of their own; most amounts of the others together are those of ``other``."""


class Unannounced(Collector):
    """A collector whose names are known only when it is asked."""

    def describe(self) -> Iterable[Metric]:
        """Nothing: nobody else may use its names."""
        return ()


class NumberGauges(Unannounced):
    """Numbers that their owner reads off its parts, by name and then by the only label."""

    def __init__(self, numbers: Callable[[], Mapping[str, Mapping[str, float]]]) -> None:
        self._numbers = numbers

    def collect(self) -> Iterator[Metric]:
        """Every family, fresh."""
        for name, by_label in self._numbers().items():
            yield _family(name, by_label)


class Gauges(Unannounced):
    """What the last cycle found out, as gauges."""

    def __init__(
        self, findings: Findings, most_namespaces: int = MOST_NAMESPACES, most_queues: int = MOST_QUEUES
    ) -> None:
        self._findings = findings
        self._queues = Listing(most_queues)
        self._namespaces = Listing(most_namespaces)
        self._divided = Listing(most_namespaces)

    def collect(self) -> Iterator[Metric]:
        """Every family, fresh."""
        snapshot = self._findings.snapshot
        if snapshot is not None:
            yield from _of_queues(snapshot, self._findings.queues, self._queues)
            yield from of_jobs(snapshot, self._findings, self._namespaces)
            yield from of_devices(snapshot)
            yield from of_vgpus(snapshot)
        if self._findings.arbitrated is not None:
            evicted = dict(self._findings.arbitrated_away)
            yield from _namespaces(self._findings.arbitrated, evicted, self._divided)


def _family(name: str, by_label: Mapping[str, float]) -> Metric:
    """One of the owner's numbers, by its only label; a name that ends in ``_total`` only ever grows."""
    kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
    family = kind(name, meaning_of(name), labels=("name",))
    for label, value in by_label.items():
        family.add_metric((label,), value)
    return family


def _of_queues(snapshot: Snapshot, found: Mapping[str, QueueOutcome], listing: Listing) -> Iterator[Metric]:
    """What queues hold, ask for and may hold; beyond a bound, what the others hold and ask for together."""
    queues = dict(found)
    listed, others = listing.choose({name: _busy(snapshot, name) for name in queues})
    for kind, amounts_of in _QUEUE_AMOUNTS.items():
        cpu = GaugeMetricFamily(f"volcano_queue_{kind}_milli_cpu", f"cpu {kind} of a queue", labels=("queue_name",))
        memory = GaugeMetricFamily(
            f"volcano_queue_{kind}_memory_bytes", f"memory {kind} of a queue", labels=("queue_name",)
        )
        scalars = GaugeMetricFamily(
            f"volcano_queue_{kind}_scalar_resources", f"others {kind} of a queue", labels=("queue_name", "resource")
        )
        told = {name: amounts_of(snapshot, queues[name]) for name in listed}
        if others and kind in _SUMMED:
            told[OTHER] = _together(amounts_of(snapshot, queues[name]) for name in others)
        for name, amounts in told.items():
            cpu.add_metric((name,), amounts.get("cpu", 0))
            memory.add_metric((name,), amounts.get("memory", 0))
            for resource, value in amounts.items():
                if resource not in ("cpu", "memory", "pods"):
                    scalars.add_metric((name, resource), value)
        yield from (cpu, memory, scalars)
    for kind, number_of in _QUEUE_NUMBERS.items():
        family = GaugeMetricFamily(f"volcano_queue_{kind}", f"{kind} of a queue", labels=("queue_name",))
        for name in listed:
            family.add_metric((name,), number_of(queues[name]))
        yield family


def _busy(snapshot: Snapshot, queue: str) -> float:
    """The dominant shares of what a queue holds and waits for, 0 for one without jobs."""
    usage = snapshot.books.get(queue)
    return 0.0 if usage is None else dominant(usage.allocated, snapshot) + dominant(usage.pending, snapshot)


def _together(amounts: Iterable[Amounts]) -> Counter[str]:
    found = Counter[str]()
    for one in amounts:
        found.update(one)
    return found


def _named(axis: ResourceAxis, held: Vector) -> dict[str, int]:
    return {axis.names[column]: value for column, value in held.items() if value}


def _request(snapshot: Snapshot, outcome: QueueOutcome) -> Amounts:
    usage = snapshot.books.get(outcome.name)
    if usage is None:
        return {}
    total = usage.allocated.copy()
    add(total, usage.pending.items())
    return _named(snapshot.axis, total)


def _inqueue(snapshot: Snapshot, outcome: QueueOutcome) -> Amounts:
    usage = snapshot.books.get(outcome.name)
    return {} if usage is None else _named(snapshot.axis, usage.inqueue)


def _capacity(snapshot: Snapshot, outcome: QueueOutcome) -> Amounts:
    """The limit in the queue's spec; ``real_capacity`` is what that is in the cluster."""
    queue = snapshot.queues.get(outcome.name)
    return {} if queue is None else _named(snapshot.axis, dict(queue.capability))


_QUEUE_AMOUNTS: dict[str, Callable[[Snapshot, QueueOutcome], Amounts]] = {
    "allocated": lambda _, outcome: outcome.allocated,
    "request": _request,
    "deserved": lambda _, outcome: outcome.deserved,
    "capacity": _capacity,
    "real_capacity": lambda _, outcome: outcome.capability,
    "inqueue": _inqueue,
}
_SUMMED = frozenset({"allocated", "request", "deserved", "inqueue"})
"""Amounts that are of a queue alone, so that sums over several of them say something."""
_QUEUE_NUMBERS: dict[str, Callable[[QueueOutcome], float]] = {
    "share": lambda outcome: outcome.share,
    "weight": lambda outcome: outcome.weight,
    "overused": lambda outcome: float(outcome.overused),
}


def _namespaces(found: Arbitrated, evicted: Mapping[str, int], listing: Listing) -> Iterator[Metric]:
    """What each namespace deserves and holds, in whole units (cores, bytes, pods), and how arbitration treats it."""
    listed, _ = listing.choose({name: float(bool(_held(found, name))) for name in found.division.namespaces})
    for what, amounts_of in _NAMESPACE_AMOUNTS.items():
        says = f"{what} of a namespace, in cores, bytes and numbers"
        family = GaugeMetricFamily(f"vsched_namespace_{what}", says, labels=("namespace", "resource"))
        for namespace in listed:
            for resource, value in amounts_of(found, namespace).items():
                family.add_metric((namespace, resource), value / counted_scale(resource))
        yield family
    overused = GaugeMetricFamily(
        "vsched_namespace_overused_seconds",
        "How long a namespace has held more than it deserves while another is short.",
        labels=("namespace",),
    )
    taken = CounterMetricFamily(
        "vsched_namespace_evictions_total", "Pods of a namespace that arbitration evicted.", labels=("namespace",)
    )
    for namespace in listed:
        overuse = found.verdict.overused.get(namespace)
        overused.add_metric((namespace,), 0.0 if overuse is None else max(0.0, found.now - overuse.since))
        taken.add_metric((namespace,), evicted.get(namespace, 0))
    yield from (overused, taken)


def _held(found: Arbitrated, namespace: str) -> Counted:
    account = found.arbitration.parties.get(namespace)
    return NOTHING if account is None else account.held


_NAMESPACE_AMOUNTS: dict[str, Callable[[Arbitrated, str], Counted]] = {
    "deserved": lambda found, namespace: found.division.namespaces[namespace].deserved,
    "allocated": _held,
    "reserved": lambda found, namespace: found.division.namespaces[namespace].reserved,
    "hard": lambda found, namespace: found.division.namespaces[namespace].hard,
}
