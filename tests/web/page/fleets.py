"""Pictures of clusters that are as large as they get, and how they go on: to look at the page, and to measure it."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from vsched.web.overview.document import (
    JobRow,
    NamespaceRow,
    NodeRow,
    Overview,
    PolicyRow,
    QueueRow,
    Resource,
    SessionRow,
)

GIB = 1 << 30
START = 1_790_000_000.0
REASONS = {
    "QueueCapability": "queue {queue} allows 64 nvidia.com/gpu: 64 held, 8 more asked",
    "GangSize": "gang needs 8, 6 fit; 1,204 nodes: Insufficient nvidia.com/gpu",
    "Order": "waits behind 14 jobs of the queue",
    "Resources": "0/{nodes} nodes are available: {nodes} Insufficient cpu",
    "Taints": "3 of 5 nodes tainted dedicated=infra:NoSchedule",
    "Usage": "over usage threshold on 12 nodes",
}
GROUPS = ("a100", "h100", "cpu-large", "cpu-small", "spot", "infra")
NAMESPACES = ("training", "serving", "notebooks", "etl")
ACTIONS = ("enqueue", "allocate", "preempt", "reclaim", "backfill")


def fleet(nodes: int, jobs: int, queues: int = 12, seed: int = 1) -> Overview:
    """A cluster with queues in a tree, namespaces in them, groups of nodes, and jobs of which most wait."""
    random = Random(seed)
    named = [f"team-{number}" for number in range(queues)]
    resources = (
        Resource("cpu", "milli", nodes * 64_000, nodes * 49_000),
        Resource("memory", "bytes", nodes * 256 * GIB, nodes * 141 * GIB),
        Resource("nvidia.com/gpu", "milli", nodes * 4000, nodes * 3700),
        Resource("ephemeral-storage", "bytes", nodes * 900 * GIB, nodes * 88 * GIB),
        Resource("pods", "one", nodes * 110, nodes * 23),
    )
    rows = {"root": _queue(random, "root", "", resources, 1)}
    for number, name in enumerate(named):
        rows[name] = _queue(random, name, "root" if number < 4 else named[number % 4], resources, queues)
    held = {
        f"{name}/{namespace}": NamespaceRow(
            *(name, namespace, random.randint(1, 3), random.random() / queues),
            tuple(amount // 4 for amount in rows[name].allocated),
            *(random.randint(0, 9), (None,) * len(resources)),
        )
        for name in named
        for namespace in NAMESPACES[: random.randint(1, 3)]
    }
    made = [_job(random, number, named, nodes, len(resources)) for number in range(jobs)]
    shown = [_node(random, number, nodes) for number in range(nodes)]
    waiting = sum(row.position is not None for row in made)
    policy = PolicyRow(
        *(4, "9f2c1d77ab", "/etc/vsched/scheduler.yaml", ACTIONS),
        (("priority", "gang"), ("drf", "predicates", "proportion", "nodeorder")),
        *(START - 4000, True, "tiers[1].plugins: added nodeorder", ()),
    )
    counts = {
        "nodes": nodes,
        "pods_running": nodes * 23,
        "pods_waiting": waiting * 4,
        "jobs_running": jobs - waiting,
        "jobs_waiting": waiting,
        "bound_total": 102_931,
        "evicted_total": 412,
        "bound_by_others": 0,
        "jobs_left_out": 0,
    }
    return Overview(
        *(1, START, "0.1.0", "leader", resources, rows, held, {row.name: row for row in shown}),
        {row.key: row for row in made},
        tuple(_session(random, number) for number in range(1, 241)),
        *(policy, counts),
    )


def later(random: Random, before: Overview, nodes: int = 100, jobs: int = 50, seconds: float = 1.0) -> Overview:
    """The same so much later: so many nodes have other loads, so many jobs have begun or come."""
    rows = dict(before.nodes)
    for name in random.sample(sorted(rows), min(nodes, len(rows))):
        row = rows[name]
        rows[name] = replace(row, allocated=(random.randint(0, 100), *row.allocated[1:]), pods=random.randint(0, 60))
    found, names = dict(before.jobs), sorted(before.queues.keys() - {"root"})
    for key in random.sample(sorted(found), min(jobs, len(found))):
        if random.random() < 0.5:
            del found[key]
        else:
            found[key] = replace(found[key], running=found[key].running + 1, message="starting", position=None)
    for number in range(jobs // 2):
        row = _job(random, before.number * 100_000 + number, names, len(rows), len(before.resources))
        found[row.key] = row
    at = round(before.at + seconds, 3)
    queues = {
        name: replace(row, allocated=tuple(int(value * random.uniform(0.97, 1.03)) for value in row.allocated))
        for name, row in before.queues.items()
    }
    session = replace(_session(random, before.sessions[-1].number + 1), at=at)
    return replace(
        before,
        number=before.number + 1,
        at=at,
        nodes=rows,
        jobs=found,
        queues=queues,
        sessions=(*before.sessions[1:], session),
        counts=before.counts | {"bound_total": before.counts["bound_total"] + session.binds},
    )


def _queue(random: Random, name: str, parent: str, resources: tuple[Resource, ...], among: int) -> QueueRow:
    deserved = tuple(resource.total // among for resource in resources)
    part = random.uniform(0.3, 1.3) if parent else 0.8
    allocated = tuple(int(amount * part * random.uniform(0.8, 1.0)) for amount in deserved)
    rarely = random.random() < 0.4 and bool(parent)
    capability = tuple(int(amount * 1.4) if rarely else None for amount in deserved)
    guarantee = tuple(amount // 3 if random.random() < 0.3 else None for amount in deserved)
    problem = "guarantee: cpu 400 is more than its parent guarantees (200)" if random.random() < 0.08 else ""
    return QueueRow(
        *(name, parent, "Open" if random.random() < 0.95 else "Closing", random.randint(1, 5), 0, part, part > 1),
        *(allocated, deserved, guarantee, capability, random.randint(4, 900), random.randint(0, 400), problem),
    )


def _node(random: Random, number: int, nodes: int) -> NodeRow:
    group = GROUPS[number * len(GROUPS) // nodes]
    gpus = group in ("a100", "h100")
    full = min(100, max(0, int(random.gauss(78 if gpus else 55, 25))))
    known = random.random() < 0.95
    allocated = (full, max(0, full - 12), random.choice((0, 25, 50, 75, 100, 100)) if gpus else None, 10, full // 3)
    state = random.choices(("", "cordoned", "tainted", "notready"), (96, 1, 2, 1))[0]
    usage = (max(0, full - 20), max(0, full - 30)) if known else (None, None)
    return NodeRow(f"{group}-{number:05}", allocated, *usage, random.randint(0, 60), state, group)


def _job(random: Random, number: int, queues: list[str], nodes: int, resources: int) -> JobRow:
    queue, size = random.choice(queues), random.choice((1, 4, 8, 16, 64))
    waits = random.random() < 0.85
    reason = random.choices(list(REASONS), (30, 20, 25, 10, 5, 2))[0] if waits else ""
    message = REASONS[reason].format(queue=queue, nodes=nodes) if waits else ""
    return JobRow(
        *(f"{random.choice(NAMESPACES)}/train-{number}", queue, "Inqueue" if waits else "Running", 0, size),
        *(0 if waits else size, size if waits else 0, 0 if waits else size, START - random.randint(5, 200_000)),
        *(number // len(queues) + 1 if waits else None, reason, message, (4000 * size,) + (0,) * (resources - 1)),
    )


def _session(random: Random, number: int) -> SessionRow:
    times = {action: random.expovariate(1.0) * 3 for action in ACTIONS}
    binds = int(random.expovariate(0.05)) if random.random() < 0.7 else 0
    evictions = random.randint(1, 6) if random.random() < 0.06 else 0
    decide = sum(times.values()) + random.random()
    return SessionRow(number, START - 240 + number, "change", 1.1, decide, 0.8, binds, evictions, 4000, times)
