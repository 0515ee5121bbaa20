"""The bench of the decision core: its stable JSON, its table, and that it measures what it says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.support.printed import printed
from vsched.cli import cli
from vsched.errors import BadInput
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.lab.bench import core
from vsched.lab.bench.backlog import ADMISSION, CAPABILITY, NODES, REASONS, WaitingCluster
from vsched.lab.bench.growth import capacity_policy
from vsched.lab.bench.victims import POOR, RICH, TAKING_POLICY, URGENT, FullCluster, FullWorld, measure_taking
from vsched.lab.bench.words import core as words
from vsched.lab.bench.world import APART, NEAR, RULES, SPREAD, ZONES, MirrorFeeder, World
from vsched.model.plan import CycleReport
from vsched.settings import default_settings, load_file, load_text
from vsched.settings.built_in import REGISTRY

ROOT = Path(__file__).parents[3]
SMALL = ("--nodes", "4", "--pods", "12", "--gang", "3", "--queues", "2", "--running", "24")
KEYS = {
    "placed",
    "seconds",
    "pods_per_second",
    "cycle_ms",
    "snapshot_ms",
    "assume_ms",
    "idle_cycle_ms",
    "one_pod_cycle_ms",
    "bound_pod_cycle_ms",
    "ended_pod_cycle_ms",
    "rss_mb",
    "profile",
}
TAKING = load_text(TAKING_POLICY, "policy", REGISTRY).policy
CAPACITY = load_file(str(ROOT / "config" / "policies" / "capacity.yaml"), REGISTRY).policy


def bench(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["bench", *SMALL, *arguments])


def measured(*arguments: str) -> dict[str, Any]:
    found = bench("--json", *arguments)
    assert found.exit_code == 0, found.output
    document: dict[str, Any] = json.loads(found.stdout)
    return document


@pytest.fixture(scope="module", autouse=True)
def _few_cycles() -> Iterator[None]:
    """Each figure is the median of a few cycles: how large it is proves nothing here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "REPEATS", 3)
        patch.setattr(core, "PODS_ONE_BY_ONE", 3)
        yield


@pytest.fixture(scope="module")
def full() -> dict[str, Any]:
    """What is measured where taking back is asked for as well."""
    return measured("--full")


def test_gangs_with_rules_are_compared_with_the_same_gangs_without() -> None:
    document = measured("--rules")
    found = document["rules"]
    assert document.keys() == {*KEYS, "rules"}
    assert found.keys() == {"plain_cycle_ms", *RULES}
    for rule in RULES:
        assert found[rule]["times_plain"] == round(found[rule]["cycle_ms"] / found["plain_cycle_ms"], 2)
        assert f"{found[rule]['times_plain']} times" in printed(core.as_table(document))


def test_gangs_of_several_kinds_start_where_they_fit() -> None:
    document = measured("--mixed")
    found = document["mixed"]
    assert document.keys() == {*KEYS, "mixed"}
    assert {name for name, one in found.items() if one["starts"]} == {"launchers", "twelve_roles", "packed", "apart"}
    assert found["one_too_many"]["steps"] > 0
    assert all(f"{one['steps']} steps" in printed(core.as_table(document)) for one in found.values())


@pytest.mark.parametrize(
    ("rule", "hosts", "zones"),
    [
        pytest.param(APART, 6, 6, id="no two pods on a host"),
        pytest.param(SPREAD, 6, 6, id="as many in each zone"),
        pytest.param(NEAR, 1, 1, id="in the zone of the first"),
    ],
)
def test_pods_of_a_gang_are_placed_by_its_rule(rule: str, hosts: int, zones: int) -> None:
    crowd = MirrorFeeder(World(nodes=20, pods=6, gang=6, rule=rule))
    crowd.fill()
    binds = run_cycle(crowd.mirror.snapshot(0.0), default_settings(REGISTRY).policy, REGISTRY).binds
    nodes = [bind.node for bind in binds]
    assert (len(nodes), len(set(nodes)), len({int(node[-5:]) % ZONES for node in nodes})) == (6, hosts, zones)


def test_the_json_has_the_keys_that_others_rely_on() -> None:
    document = measured()

    assert document.keys() == KEYS
    assert document["placed"] == 12
    for key in ("cycle_ms", "snapshot_ms", "assume_ms"):
        assert 0 < document[key]["p50"] <= document[key]["p99"]


def test_taking_back_is_measured_on_demand(full: dict[str, Any]) -> None:
    assert full.keys() == {*KEYS, "taking"}
    taking = dict(full["taking"])
    assert taking.keys() == {"verdict_ms", "backlog_ms", "reclaim_ms", "preempt_ms", "evictions"}
    assert taking.pop("evictions") == {"verdict": 0, "backlog": 0, "reclaim": 12, "preempt": 12}
    assert all(0 < spread["p50"] <= spread["p99"] for spread in taking.values())


def test_gangs_in_domains_are_measured_against_the_same_gangs_without() -> None:
    document = measured("--tiers", "2")

    assert document.keys() == {*KEYS, "tiers"}
    assert document["placed"] == 12
    tiers = document["tiers"]
    assert tiers.keys() == {"cycle_ms", "plain_cycle_ms", "times_plain"}
    assert tiers["times_plain"] == round(tiers["cycle_ms"] / tiers["plain_cycle_ms"], 2)


def test_several_daemons_are_measured_against_one_that_decides_for_all() -> None:
    document = measured("--shards", "2")

    assert (document["one_placed"], document["placed"]) == (12, 12)
    assert document["times"] == pytest.approx(document["one_seconds"] / document["seconds"], abs=0.01)
    assert document["times_cpu"] == pytest.approx(document["one_cpu_seconds"] / document["cpu_seconds"], abs=0.01)
    assert document["others_seconds"] >= 0


def test_the_gangs_of_the_bench_are_in_one_domain_each() -> None:
    crowd = MirrorFeeder(World(nodes=9, pods=12, gang=3, tiers=2))
    crowd.fill()
    snapshot = crowd.mirror.snapshot(0.0)
    report = run_cycle(snapshot, CAPACITY, REGISTRY)

    assert [len(one.members) for one in snapshot.topology.hypernodes] == [3, 3, 3, 3]
    assert len(report.binds) == 12
    assert {job.tier for job in report.jobs.values()} == {1}


def test_a_tree_of_queues_is_measured_against_the_same_queues_side_by_side() -> None:
    document = measured("--queues", "9", "--queue-levels", "2")

    assert document.keys() == {*KEYS, "tree"}
    assert document["placed"] == 12
    tree = document["tree"]
    assert tree["times_flat"] == pytest.approx(tree["cycle_ms"] / tree["flat_cycle_ms"], abs=0.01)
    assert words.QUEUES_IN_A_TREE in printed(core.as_table(document))


@pytest.mark.parametrize(
    ("queues", "levels", "inner"), [(8, 3, [2, 4]), (9, 2, [3]), (1000, 4, [5, 28, 167]), (5, 1, [])]
)
def test_queues_are_leaves_of_a_tree_with_so_many_levels(queues: int, levels: int, inner: list[int]) -> None:
    crowd = MirrorFeeder(World(nodes=10, pods=0, queues=queues, queue_levels=levels))
    crowd.fill()
    snapshot = crowd.mirror.snapshot(0.0)
    found = [sum(1 for name in snapshot.queues if name.startswith(f"branch-{depth}-")) for depth in range(1, levels)]

    assert found == inner
    plugins = Session(snapshot, capacity_policy(in_a_tree=True), REGISTRY, Trace()).plugins
    leaf = snapshot.queues["queue-0"]
    named = [name for name, _ in plugins.queue_parts(leaf)]
    assert len([name for name in named if isinstance(name, str)]) == levels
    assert plugins.division(leaf).problem is None


def test_nodes_kept_for_pods_are_measured() -> None:
    document = measured("--nominated", "2")

    assert document.keys() == {*KEYS, "nominated"}
    assert document["placed"] == 14
    assert document["nominated"].keys() == {"cycle_ms", "backfill_ms", "plain_cycle_ms"}
    assert words.NODES_KEPT in printed(core.as_table(document))


@pytest.mark.parametrize("reason", REASONS)
def test_cycles_while_pods_wait_in_vain_are_measured(reason: str) -> None:
    document = measured("--backlog", "7", "--waiting-for", reason)

    assert document.keys() == {*KEYS, "backlog"}
    times = {"first_cycle_ms", "unchanged_cycle_ms", "one_pod_cycle_ms"}
    assert document["backlog"].keys() == {"waiting", "waiting_for", *times}
    assert words.waiting_first_cycle(7, reason) in printed(core.as_table(document))


def test_what_a_backlog_waits_for_is_said_of_a_backlog() -> None:
    found = bench("--waiting-for", "admission")
    assert found.exit_code == 2
    assert words.WITHOUT_BACKLOG in found.output


@pytest.mark.parametrize(
    ("reason", "phases", "codes"),
    [
        pytest.param(NODES, {"Inqueue": 30}, {"Resources": 30}, id="for room on the nodes"),
        pytest.param(ADMISSION, {"Inqueue": 4, "Pending": 26}, {"Resources": 4, "Order": 26}, id="to be admitted"),
        pytest.param(CAPABILITY, {"Inqueue": 30}, {"Resources": 30}, id="in a queue that may hold half of them"),
    ],
)
def test_pods_of_a_backlog_wait_for_what_they_are_to_wait_for(
    reason: str, phases: dict[str, int], codes: dict[str, int]
) -> None:
    policy, snapshot = default_settings(REGISTRY).policy, WaitingCluster(2, 30, 1, reason).mirror.snapshot(0.0)
    waiting = [one for key, one in run_cycle(snapshot, policy, REGISTRY).jobs.items() if key.startswith("asking/")]
    assert Counter(one.phase for one in waiting) == phases
    assert Counter(one.code for one in waiting) == codes
    assert dict(snapshot.queues[POOR].capability) == ({0: 15_000} if reason == CAPABILITY else {})


def test_the_table_says_the_same(full: dict[str, Any]) -> None:
    table = printed(core.as_table(full))

    assert "pods placed 12" in table
    assert words.GANG_RECLAIMS in table
    assert "12 evicted" in table
    without = bench().stdout
    assert not [label for label in core.TAKING_LABELS if label in without]


def test_a_policy_of_ones_own_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(TAKING_POLICY.replace("reclaim, preempt, ", "reclaim, "), encoding="utf-8")

    evictions = measured("--full", "--config", str(path))["taking"]["evictions"]
    assert evictions == {"verdict": 0, "backlog": 0, "reclaim": 12, "preempt": 0}


def test_a_policy_that_takes_nothing_back_is_refused() -> None:
    path = str(ROOT / "config" / "scheduler.yaml")
    found = bench("--full", "--config", path)

    assert isinstance(found.exception, BadInput)
    assert str(found.exception) == words.takes_nothing_back(path, "enqueue, allocate, backfill")


@pytest.mark.parametrize("claims", ["volumes", "devices"])
def test_pods_with_claims_are_measured_against_pods_without(claims: str) -> None:
    document = measured("--claims", claims)

    assert document.keys() == {*KEYS, "claims"}
    assert document["placed"] == 12
    compared = document["claims"]
    assert compared.keys() == {"plain_pods_per_second", "times_plain", "plain_rss_mb", "more_mb"}
    assert compared["times_plain"] == pytest.approx(
        compared["plain_pods_per_second"] / document["pods_per_second"], abs=0.01
    )
    assert compared["more_mb"] == document["rss_mb"] - compared["plain_rss_mb"]


@pytest.mark.parametrize("claims", ["volumes", "devices"])
def test_each_pod_of_the_bench_has_a_claim_that_it_needs(claims: str) -> None:
    crowd = MirrorFeeder(World(nodes=4, pods=12, gang=3, claims=claims))
    crowd.fill()
    report = run_cycle(crowd.mirror.snapshot(0.0), load_text(TAKING_POLICY, "policy", REGISTRY).policy, REGISTRY)
    plans = [bind.claims for bind in report.binds]

    assert len(plans) == 12
    if claims == "devices":
        chosen = {one.allocation.devices[0].device for plan in plans if plan for one in plan.devices}
        assert len(chosen) == 12
    else:
        # Every other gang has claims that are bound already.
        assert sum(len(plan.volumes) for plan in plans if plan) == 6


def test_without_running_pods_there_is_nothing_to_take() -> None:
    found = bench("--full", "--running", "1")

    assert found.exit_code == 2
    assert words.FULL_WITHOUT_RUNNING in found.output


def test_the_built_in_policy_is_the_one_that_is_shipped() -> None:
    assert load_file(str(ROOT / "config" / "policies" / "taking-back.yaml"), REGISTRY).policy == TAKING


def decided(cluster: FullCluster, policy: Policy = TAKING) -> CycleReport:
    return run_cycle(cluster.mirror.snapshot(0.0), policy, REGISTRY)


@pytest.mark.parametrize("running", [24, 25])
def test_running_pods_fill_the_nodes(running: int) -> None:
    snapshot = FullCluster(FullWorld(nodes=4, running=running, gang=7)).mirror.snapshot(0.0)
    cpu, pods = snapshot.axis.find("cpu"), snapshot.axis.find("pods")

    assert cpu is not None
    assert pods is not None
    assert not snapshot.nodes.idle[cpu].any()
    assert snapshot.nodes.idle[pods].all()
    assert sum(job.ready for job in snapshot.jobs.values()) == running
    assert all(job.ready == job.spec.min_member for job in snapshot.jobs.values()), "no gang can do with less"


def test_whoever_withdraws_leaves_nothing_behind() -> None:
    cluster = FullCluster(FullWorld(nodes=4, running=24, gang=6))
    before = set(cluster.mirror.snapshot(0.0).jobs)
    cluster.ask("some", POOR, 3)
    assert set(cluster.mirror.snapshot(0.0).jobs) == before | {"asking/some"}
    cluster.withdraw()
    assert set(cluster.mirror.snapshot(0.0).jobs) == before


@pytest.mark.parametrize("policy", [pytest.param(TAKING, id="proportion"), pytest.param(CAPACITY, id="capacity")])
def test_what_is_measured_is_taking_back(policy: Policy) -> None:
    cluster = FullCluster(FullWorld(nodes=4, running=24, gang=6, asking=5))
    cluster.ask("poor", POOR, 5)
    cluster.ask("urgent", RICH, 5, URGENT)
    assert decided(cluster, policy).evictions == ()
    cluster.let_shrink()
    found = decided(cluster, policy).evictions
    assert {(one.action, one.beneficiary) for one in found} == {
        ("reclaim", "asking/poor"),
        ("preempt", "asking/urgent"),
    }


def test_each_cycle_decides_the_same() -> None:
    costs = measure_taking(FullWorld(nodes=4, running=24, gang=6, asking=5, backlog=3), TAKING, repeats=3)

    assert {name: (len(cost.seconds), cost.evictions) for name, cost in costs.items()} == {
        "verdict": (3, 0),
        "backlog": (3, 0),
        "reclaim": (3, 5),
        "preempt": (3, 5),
    }
