"""Small random clusters of every kind that the checker looks at, each with a policy that is about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from tests.support.plans import policy_from, policy_of
from tests.support.taking import taking
from vsched.framework.policy import Policy

PLACE = "predicates nodeorder binpack"
GANG = "priority gang conformance"
CALM = "priority gang-P conformance"
TIERS = '{name: network-topology-aware, arguments: {"hypernode.labels": [rack, zone]}}'
NEAR = f"""
actions: "%s"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]
- plugins: [{{name: drf}}, {{name: predicates}}, {{name: %s}}, {TIERS}, {{name: nodeorder}}]
"""
LOADED = """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: predicates}, {name: proportion}, {name: nodeorder}, {name: usage, arguments: {thresholds.cpu: 80}}]
"""
POLICIES: Mapping[str, Sequence[Policy]] = {
    "default": (
        policy_of(GANG, f"overcommit drf {PLACE} proportion"),
        policy_of("gang", PLACE, actions="allocate, backfill"),
    ),
    "flat": (
        policy_of(GANG, f"drf {PLACE} capacity"),
        taking("enqueue, allocate, reclaim, backfill", GANG, f"drf-P {PLACE} capacity"),
        taking("enqueue, allocate, preempt, reclaim, backfill", f"{CALM} capacity", f"drf {PLACE}"),
    ),
    "tree": (
        taking("enqueue, allocate, backfill", GANG, f"drf {PLACE} capacity-H"),
        taking("enqueue, allocate, reclaim, backfill", GANG, f"drf-P {PLACE} capacity-H"),
        taking("allocate, reclaim, preempt, backfill", f"{GANG} capacity-L", f"drf-P {PLACE}"),
    ),
    "preempt": (
        taking("enqueue, allocate, preempt, backfill", CALM, f"overcommit drf-P {PLACE} proportion"),
        taking("allocate, preempt, backfill", GANG, f"drf {PLACE}"),
        taking("enqueue, allocate, backfill, preempt", GANG, PLACE),
    ),
    "reclaim": (
        taking("enqueue, allocate, reclaim, backfill", GANG, f"drf-P {PLACE} proportion"),
        taking("enqueue, allocate, backfill, reclaim, preempt", CALM, f"overcommit drf-P {PLACE} proportion"),
        taking("reclaim, allocate, preempt, backfill", f"{GANG} proportion pdb", f"drf {PLACE}"),
    ),
    "gangs": (
        policy_from(NEAR % ("enqueue, allocate, gangpreempt, gangreclaim, backfill", "capacity")),
        policy_from(NEAR % ("enqueue, allocate, gangreclaim, gangpreempt, backfill", "proportion")),
        policy_from(NEAR % ("enqueue, allocate, reclaim, preempt, backfill", "capacity")),
    ),
    "usage": (policy_from(LOADED),),
    "moving": (
        taking(
            "enqueue, allocate, consolidate, preempt, reclaim, backfill", GANG, f"drf-P eviction-cost {PLACE} capacity"
        ),
        taking("enqueue, allocate, consolidate, backfill", GANG, f"drf {PLACE} proportion"),
        taking("consolidate, allocate, preempt, consolidate, backfill", CALM, f"drf-P {PLACE}"),
    ),
}
KINDS = tuple(POLICIES)
TAKING = frozenset({"preempt", "reclaim", "gangs", "flat", "tree", "usage", "moving"})


class Case(NamedTuple):
    """A cluster in the language of ``tests.support.plans``, and a policy."""

    text: str
    policy: Policy


def case_of(random: Random, kind: str, *, size: int | None = None) -> Case:
    """A cluster of one kind: nodes that are mostly full where somebody may take, jobs that run, jobs that wait.

    With a size, all pods ask for so many cpus, and for as much memory as any other.
    """
    lines, free = ["class high 5", "class higher 9"], dict[str, list[int]]()
    for number in range(random.randint(1, 4)):
        cpu, memory = random.randint(2, 8), random.choice([64, 64, random.randint(3, 9)])
        slots = random.choice([110, 110, 110, random.randint(2, 5)])
        place = f" rack=r{number // 2} zone=z{number // 4}" if kind == "gangs" else ""
        taint = " taint=dedicated:yes" if random.random() < 0.05 else ""
        lines.append(f"node n{number} cpu={cpu} memory={memory}Gi pods={slots}{place}{taint}")
        free[f"n{number}"] = [cpu, memory, slots]
        if kind == "usage" and random.random() < 0.7:
            lines.append(f"usage n{number} cpu={random.randint(0, 99)} memory={random.randint(0, 99)}")
    names = [f"q{number}" for number in range(random.randint(1, 3))]
    if kind == "tree":
        names.append("dept")
    lines += [_queue(random, name, kind, sum(cpu for cpu, _, _ in free.values())) for name in names]
    leaving = random.random() < 0.15
    leaves = [name for name in names if name != "dept"]
    for number in range(random.randint(2, 6)):
        runs = random.random() < (0.8 if kind in TAKING and number < 3 else 0.3)
        key, queue = f"{random.choice('xy')}/j{number}", random.choice(leaves)
        lines += _job(random, key, queue, kind, free, runs=runs, leaving=leaving, size=size)
    return Case("\n".join(lines), random.choice(POLICIES[kind]))


def _queue(random: Random, name: str, kind: str, cpu: int) -> str:
    words = [f"queue {name} weight={random.randint(1, 3)}"]
    if kind == "tree" and name != "dept":
        words.append(f"parent={random.choice(['dept', 'root'])}")
    if kind in ("flat", "tree", "gangs") and random.random() < 0.8:
        memory = f",memory:{random.randint(1, 8)}Gi" if random.random() < 0.3 else ""
        words.append(f"deserved=cpu:{random.randint(1, max(1, cpu // 2))}{memory}")
    if random.random() < 0.25:
        words.append(f"guarantee=cpu:{random.randint(1, 2)}")
    if random.random() < 0.2:
        words.append(f"capability=cpu:{random.randint(2, 8)}")
    if random.random() < 0.1:
        words.append("reclaimable=false")
    return " ".join(words)


def _job(
    random: Random,
    key: str,
    queue: str,
    kind: str,
    free: dict[str, list[int]],
    *,
    runs: bool,
    leaving: bool,
    size: int | None,
) -> list[str]:
    """A job, its pods on nodes as long as there is room if it runs; pods of a job are mostly alike."""
    pods, cpu, memory = random.randint(1, 5), random.choice([1, 1, 1, 2, 3]), random.choice([1, 1, 1, 2])
    cpu, memory = (cpu, memory) if size is None else (size, 1)
    minimum = random.choice([1, 1, max(1, pods // 2), pods])
    phase = "Running" if runs else random.choice(["Inqueue", "Inqueue", "Pending"])
    words = [f"job {key} min={minimum} queue={queue} phase={phase} age={random.randint(0, 3)}"]
    if random.random() < 0.4:
        words.append(f"class={random.choice(['high', 'higher'])}")
    if random.random() < (0.8 if phase == "Pending" else 0.3):
        words.append(f"minResources=cpu:{minimum * cpu}")
    roles = random.choice([[], [], [], ["master", "worker"]])
    if roles and pods > 1:
        words.append(f"roles=master:1,worker:{max(0, minimum - 1)}")
    groups = kind == "gangs" and not roles and pods > 1 and random.random() < 0.3
    if groups:
        words.append(f"subGroups=part:{random.randint(1, 2)}:{random.randint(1, 2)}")
    if kind == "gangs" and random.random() < 0.4:
        words.append(f"topology=hard tier={random.randint(1, 2)}")
    lines = [" ".join(words)]
    if kind != "default" and random.random() < 0.1:
        lines.append(f"pdb {key} selector=job:{key[2:]} allowed={random.randint(0, 2)}")
    for number in range(pods):
        line = f"pods {key} 1 cpu={cpu if size or random.random() < 0.95 else cpu + 1} memory={memory}Gi"
        line += f" role={roles[min(number, 1)]}" if roles else ""
        line += f" labels=part:{number // 2}" if groups else ""
        line += f" priority={random.randint(0, 3)}" if random.random() < 0.1 else ""
        line += " volcano.sh/preemptable=false" if random.random() < 0.05 else ""
        asked = (cpu + (size is None), memory, 1)
        able = [node for node, room in free.items() if all(a <= r for a, r in zip(asked, room, strict=True))]
        if runs and able:
            node = random.choice(able)
            free[node] = [has - part for has, part in zip(free[node], asked, strict=True)]
            line += f" on={node}" + (" leaving" if leaving and random.random() < 0.3 else "")
            if kind == "moving":
                line += f" started={random.choice([60, 3600, 3600, 7200])}" + " owned" * (random.random() < 0.8)
        lines.append(line)
    return lines
