"""Jobs that must be in one domain stay in one, whatever the actions of a policy do, cycle after cycle."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.hypernodes import Obj, hypernode_object
from tests.support.plans import NOW, manifests, mirror, policy_of
from tests.support.taking import taking
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.kernels.topology.tiers import tiers_of
from vsched.model.pods.status import HOLDS
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

CYCLES = 4
Cluster = tuple[str, list[Obj], dict[str, int | None]]
"""Text, HyperNodes, and the highest tier of each job that has one."""
POLICIES = [
    policy_of("priority gang", "predicates nodeorder network-topology-aware"),
    taking("enqueue, allocate, preempt, reclaim, backfill", "priority gang-P conformance", "predicates proportion"),
    taking("enqueue, allocate, gangpreempt, gangreclaim", "priority gang-PR conformance", "predicates proportion"),
]


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Nodes, most of them in racks, which may be in blocks; jobs of some that must be, or want to be, close."""
    nodes = [f"n{number}" for number in range(draw(st.integers(2, 8)))]
    lines = [f"node {name} cpu={draw(st.integers(2, 4))} pods=6" for name in nodes]
    lines += ["class high 1000", "queue q1", "queue q2"]
    racks: dict[str, list[str]] = {}
    for name in nodes:
        racks.setdefault(draw(st.sampled_from(["r1", "r2", "r3", ""])), []).append(name)
    hypernodes = [hypernode_object(rack, 1, *members) for rack, members in racks.items() if rack]
    if len(hypernodes) > 1 and draw(st.booleans()):
        members = [f"^{rack}" for rack in racks if rack][: draw(st.integers(1, 3))]
        hypernodes.append(hypernode_object("block", 2, *members))
    limits: dict[str, int | None] = {}
    for job in "abcd"[: draw(st.integers(1, 4))]:
        mode, tier = draw(st.sampled_from(["hard", "hard", "soft"])), draw(st.integers(1, 3))
        close = f"topology={mode} tier={tier}" if draw(st.integers(0, 3)) else ""
        limits[f"ns/{job}"] = tier if close and mode == "hard" else None
        fields = f"min={draw(st.integers(1, 4))} queue={draw(st.sampled_from(['q1', 'q2']))} {close}"
        lines.append(f"job ns/{job} {fields} {draw(st.sampled_from(['', 'class=high']))} age={draw(st.integers(0, 9))}")
        lines.append(f"pods ns/{job} {draw(st.integers(1, 5))} cpu={draw(st.integers(1, 3))}")
        if draw(st.integers(0, 2)) == 0:
            lines.append(f"pods ns/{job} {draw(st.integers(1, 2))}")
    old = draw(st.integers(0, 3))
    if old:
        lines.append("job ns/old phase=Running queue=q2")
        lines += [f"pods ns/old 1 cpu={draw(st.integers(1, 3))} on={draw(st.sampled_from(nodes))}" for _ in range(old)]
    return "\n".join(lines), hypernodes, limits


def check(snapshot: Snapshot, limits: Mapping[str, int | None]) -> None:
    tiers = tiers_of(snapshot.topology, (), snapshot.nodes.statics)
    for key, limit in limits.items():
        tasks = (task for task in snapshot.jobs[key].tasks.values() if HOLDS[task.status].allocated)
        rows = [snapshot.nodes.statics.row[task.node] for task in tasks]
        if limit is not None and rows:
            domains = {tier.level: {int(tier.ids[row]) for row in rows} for tier in tiers.tiers}
            levels = [level for level, found in domains.items() if len(found) == 1 and -1 not in found]
            assert not tiers.is_flat, key
            assert min(levels) <= limit, key


@settings(max_examples=examples(50), deadline=None)
@given(clusters(), st.sampled_from(POLICIES))
def test_a_hard_constraint_holds_over_cycles(cluster: Cluster, policy: Policy) -> None:
    text, hypernodes, limits = cluster
    cache = mirror([*manifests(text), *hypernodes])
    for _ in range(CYCLES):
        snapshot = cache.snapshot(NOW)
        report = run_cycle(snapshot, policy, REGISTRY)
        cache.settle(report)
        check(cache.snapshot(NOW), limits)
