"""A generator file of Kueue's performance tests: cohorts of queues, and when which workloads are created.

The file is read as Kueue's own test reads it. What it may say and has no equivalent here is refused with its line.
Amounts are thousandths of a CPU, times are milliseconds since the first moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vsched.lab.kueue import words
from vsched.lab.kueue.fields import GeneratorFields, read_fields
from vsched.settings.reading.problems import Problems

ANY, NEVER, LOWER_PRIORITY = "Any", "Never", "LowerPriority"
REQUIRED, PREFERRED, BALANCED = "required", "preferred", "balanced"
NODE_GROUP = "tas-node-group"
"""The label that Kueue's test gives all nodes of a topology."""
MOST_WORKLOADS, MOST_QUEUES, MOST_NODES = 1_000_000, 10_000, 100_000
NODE_CPU, NODE_MEMORY, NODE_PODS = "96", "256Gi", "110"
"""What a node of a topology has unless the file says otherwise; the number of pods is fixed."""


@dataclass(frozen=True, slots=True)
class WorkloadTemplate:
    """A kind of workload."""

    class_name: str
    runtime_ms: int
    priority: int
    cpu_milli: int
    """Of one pod."""
    pods: int = 1
    constraint: str = ""
    """``required``, ``preferred`` or ``balanced``; empty where pods may be anywhere."""
    level: str = ""
    """The label of the level of the topology that the constraint is about."""
    slice_size: int = 0
    """Of ``balanced``: so many pods have to be together."""


@dataclass(frozen=True, slots=True)
class WorkloadsSet:
    """Workloads created one after the other."""

    count: int
    interval_ms: int
    templates: tuple[WorkloadTemplate, ...]
    """In each of ``count`` rounds one of each is created, each after a pause of ``interval_ms``."""


@dataclass(frozen=True, slots=True)
class QueuesSet:
    """Queues of one cohort that are alike."""

    class_name: str
    count: int
    nominal_milli: int
    borrowing_milli: int | None
    """What a queue may hold besides its nominal quota; None: all that its cohort has."""
    reclaims: bool
    """Whether a queue takes back what others of the cohort have borrowed."""
    preempts: bool
    """Whether workloads of a queue evict those of lower priority in it."""
    workloads: tuple[WorkloadsSet, ...]


@dataclass(frozen=True, slots=True)
class CohortSet:
    """Cohorts that are alike."""

    class_name: str
    count: int
    queues: tuple[QueuesSet, ...]


@dataclass(frozen=True, slots=True)
class Level:
    """A level of a topology."""

    name: str
    count: int
    """In each domain of the level above."""
    label: str


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes in a tree of domains; the lowest level is the nodes."""

    levels: tuple[Level, ...]
    cpu: str
    memory: str

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        found = 1
        for level in self.levels:
            found *= level.count
        return found


@dataclass(frozen=True, slots=True)
class Cohort:
    """Queues that borrow from each other."""

    name: str
    nominal_milli: int


@dataclass(frozen=True, slots=True)
class ClusterQueue:
    """One queue of a cohort."""

    name: str
    cohort: Cohort
    terms: QueuesSet


@dataclass(frozen=True, slots=True)
class Arrival:
    """A workload, and when it is created."""

    at_ms: int
    name: str
    queue: ClusterQueue
    template: WorkloadTemplate


@dataclass(frozen=True, slots=True)
class Generator:
    """All that a generator file says."""

    cohorts: tuple[CohortSet, ...]
    topology: Topology | None = None

    def queues(self) -> Iterator[ClusterQueue]:
        """All queues, by cohort."""
        for kind in self.cohorts:
            for number in range(kind.count):
                nominal = sum(terms.count * terms.nominal_milli for terms in kind.queues)
                cohort = Cohort(f"{kind.class_name}-{number}", nominal)
                for place, terms in enumerate(kind.queues):
                    for index in range(terms.count):
                        yield ClusterQueue(f"{terms.class_name}-{place}-{index}-{cohort.name}", cohort, terms)

    def templates(self) -> Iterator[tuple[QueuesSet, WorkloadTemplate]]:
        """All kinds of workloads, with the queues that they come to."""
        for cohort in self.cohorts:
            for terms in cohort.queues:
                for kind in terms.workloads:
                    for template in kind.templates:
                        yield terms, template

    def workload_classes(self) -> set[str]:
        """The names of the classes of workloads."""
        return {template.class_name for _, template in self.templates()}

    def arrivals(self) -> list[Arrival]:
        """All workloads in the order of their creation, those of one moment in the order of the file."""
        found = [arrival for queue in self.queues() for arrival in _arrivals_of(queue)]
        return sorted(found, key=lambda arrival: arrival.at_ms)


def _arrivals_of(queue: ClusterQueue) -> Iterator[Arrival]:
    for place, kind in enumerate(queue.terms.workloads):
        at_ms = 0
        for index in range(kind.count):
            for position, template in enumerate(kind.templates):
                at_ms += kind.interval_ms
                yield Arrival(at_ms, f"{template.class_name}-{place}-{index}-{position}", queue, template)


def read_generator(path: Path) -> Generator:
    """The generator of a file; raises BadInput with a line for each problem."""
    problems = Problems(str(path))
    root = read_fields(path, problems, words.GENERATOR, "cohorts")
    topology = _topology(root)
    root.refuse("dra", words.NO_CLAIMS)
    sections = [*root.sections("cohorts")]
    cohorts = tuple(_cohort(one, topology) for one in sections)
    names = [cohort.class_name for cohort in cohorts]
    for at, one in enumerate(sections):
        if names[at] in names[:at]:
            one.wrong("className", words.twice(names[at]))
    root.end()
    problems.raise_if_any()
    found = Generator(cohorts, topology)
    _check_size(found, root, problems)
    problems.raise_if_any()
    return found


def _check_size(found: Generator, root: GeneratorFields, problems: Problems) -> None:
    queues = sum(cohort.count * terms.count for cohort in found.cohorts for terms in cohort.queues)
    workloads = sum(
        cohort.count * terms.count * kind.count * len(kind.templates)
        for cohort in found.cohorts
        for terms in cohort.queues
        for kind in terms.workloads
    )
    if not 0 < queues <= MOST_QUEUES:
        problems.add(root.line_of("cohorts"), "cohorts", f"{queues} queues (expected 1 to {MOST_QUEUES})")
    elif not 0 < workloads <= MOST_WORKLOADS:
        problems.add(root.line_of("cohorts"), "cohorts", f"{workloads} workloads (expected 1 to {MOST_WORKLOADS})")
    if found.topology is not None and found.topology.nodes > MOST_NODES:
        line = root.line_of("topology")
        problems.add(line, "topology", words.too_many_nodes(found.topology.nodes, MOST_NODES))


# -- cohorts ----------------------------------------------------------------------------------------------------------


def _cohort(one: GeneratorFields, topology: Topology | None) -> CohortSet:
    found = CohortSet(
        one.text("className", None),
        one.whole("count", None),
        tuple(_queues(terms, topology) for terms in one.sections("queuesSets")),
    )
    if len({terms.reclaims for terms in found.queues}) > 1:
        one.wrong("queuesSets", words.RECLAIM_DIFFERS)
    one.end()
    return found


def _queues(one: GeneratorFields, topology: Topology | None) -> QueuesSet:
    one.refuse("deviceNominalQuota", words.NO_CLAIMS)
    one.refuse("deviceBorrowingLimit", words.NO_CLAIMS)
    found = QueuesSet(
        one.text("className", None),
        one.whole("count", None),
        one.milli("nominalQuota"),
        one.milli("borrowingLimit", "") if one.text("borrowingLimit") else None,
        one.choice("reclaimWithinCohort", (ANY, NEVER), NEVER) == ANY,
        one.choice("withinClusterQueue", (LOWER_PRIORITY, NEVER), NEVER) == LOWER_PRIORITY,
        tuple(_workloads(kind, topology) for kind in one.sections("workloadsSets")),
    )
    one.end()
    return found


def _workloads(one: GeneratorFields, topology: Topology | None) -> WorkloadsSet:
    found = WorkloadsSet(
        one.whole("count", None),
        one.whole("creationIntervalMs"),
        tuple(_template(template, topology) for template in one.sections("workloads")),
    )
    one.end()
    return found


def _template(one: GeneratorFields, topology: Topology | None) -> WorkloadTemplate:
    one.refuse("devices", words.NO_CLAIMS)
    constraint = one.choice("tasConstraint", (REQUIRED, PREFERRED, BALANCED, ""), "")
    found = WorkloadTemplate(
        one.text("className", None),
        one.whole("runtimeMs"),
        one.whole("priority", least=-(10**9)),
        one.milli("request"),
        one.whole("podCount", 1, most=10_000) or 1,
        constraint,
        one.text("tasLevel"),
        one.whole("sliceSize", most=10_000),
    )
    if not found.level:
        for name in ("podCount", "tasConstraint", "sliceSize"):
            if one.has(name):
                one.wrong(name, words.WITHOUT_LEVEL)
    elif topology is None:
        one.wrong("tasLevel", words.NO_TOPOLOGY)
    elif found.level not in (labels := [level.label for level in topology.levels]):
        one.wrong("tasLevel", words.no_level(found.level, ", ".join(labels)))
    if constraint == BALANCED and not found.slice_size:
        one.wrong("sliceSize", words.HOW_MANY_TOGETHER)
    elif constraint == BALANCED and found.pods % found.slice_size:
        one.wrong("sliceSize", words.no_divisor(found.pods))
    elif constraint != BALANCED and found.slice_size:
        one.wrong("sliceSize", words.NOT_BALANCED)
    one.end()
    return found


# -- topology ---------------------------------------------------------------------------------------------------------


def _topology(root: GeneratorFields) -> Topology | None:
    one, flavor = root.section("topology"), root.section("resourceFlavor")
    found = None if one is None else _levels(one)
    name = "" if one is None else one.text("name")
    if one is not None:
        one.end()
    if flavor is not None:
        flavor.text("name", None)
        of, label = flavor.text("topologyName"), flavor.text("nodeLabel")
        if of != name:
            flavor.wrong("topologyName", words.other_topology(name, of))
        elif of and label != NODE_GROUP:
            flavor.wrong("nodeLabel", words.other_label(NODE_GROUP, label))
        flavor.end()
    elif one is not None:
        root.wrong("topology", words.NOT_USED)
    return found


def _levels(one: GeneratorFields) -> Topology:
    levels: list[Level] = []
    cpu, memory = NODE_CPU, NODE_MEMORY
    sections = [*one.sections("levels")]
    for at, level in enumerate(sections):
        levels.append(
            Level(level.text("name", None), level.whole("count", None, least=1), level.text("nodeLabel", None))
        )
        if at < len(sections) - 1:
            level.refuse("capacity", words.NO_CAPACITY)
        elif (capacity := level.section("capacity")) is not None:
            capacity.milli("cpu", NODE_CPU)
            capacity.milli("memory", NODE_MEMORY)
            cpu, memory = capacity.text("cpu") or NODE_CPU, capacity.text("memory") or NODE_MEMORY
            capacity.end()
        level.end()
    if len(levels) < 2:
        one.wrong("levels", words.TWO_LEVELS)
    for kind in ("name", "label"):
        values = [getattr(level, kind) for level in levels]
        if len(set(values)) < len(values):
            one.wrong("levels", words.same_levels("name" if kind == "name" else "nodeLabel"))
    return Topology(tuple(levels), cpu, memory)
