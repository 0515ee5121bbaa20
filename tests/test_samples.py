"""Every file of ``config/samples`` gives the result that its own comment promises."""

from __future__ import annotations

import re
from collections import Counter
from io import StringIO
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from tests.support.plans import DEFAULT_POLICY, NOW
from vsched.api.manifests import read
from vsched.cli import cli
from vsched.cli.plan.arbitrate import AT_ONCE
from vsched.cli.plan.live import OUR_NAMES
from vsched.cli.plan.on_paper import decide_on_paper
from vsched.cli.plan.usage_file import read_usage
from vsched.cli.plan.view import Document, as_document
from vsched.cli.plan.workloads import decode_with_pods
from vsched.explain.menu import words as menus
from vsched.framework.places import words as places
from vsched.framework.words import nodes as node_words
from vsched.kernels.topology.membership import counts, membership
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.settings import load_file
from vsched.settings.built_in import REGISTRY

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "config" / "samples"
APPLIED = frozenset({"topology/racks"})
"""Samples for ``kubectl apply``."""
NAMES = sorted(
    name
    for path in (*SAMPLES.glob("*.yaml"), *SAMPLES.glob("topology/*.yaml"))
    if (name := str(path.relative_to(SAMPLES).with_suffix(""))) not in APPLIED
)
A100, V100 = "nvidia.com/a100", "nvidia.com/v100"


def command_line(name: str) -> tuple[Path | None, Path | None, bool, int]:
    """The policy and the usage that a sample's own command line names, None for none; arbitration; and the cycles."""
    text = (SAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
    flags = r"(?: --config (\S+))?(?: --usage (\S+))?( --arbitrate)?(?: --cycles (\d+))?"
    line = rf"^# vsched plan -f config/samples/{name}.yaml{flags}$"
    found = re.search(line, text, re.MULTILINE)
    assert found is not None, "the sample says how it is run"
    policy, usage = (ROOT / path if path else None for path in found.group(1, 2))
    return policy, usage, found[3] is not None, int(found[4] or 1)


def planned(name: str, *, by_default: bool = False) -> Document:
    """What comes of a sample, by its policy or by the default one."""
    manifests = decode_with_pods(read([str(SAMPLES / f"{name}.yaml")], StringIO()))
    path, figures, arbitrate, cycles = command_line(name)
    usage = read_usage(str(figures), NOW) if figures is not None else None
    policy = DEFAULT_POLICY if path is None or by_default else load_file(path, REGISTRY).policy
    rules = AT_ONCE if arbitrate else None
    return as_document(
        decide_on_paper(manifests, policy, OUR_NAMES, cycles=cycles, now=NOW, usage=usage, rules=rules).planned
    )


def binds(document: Document, cycle: int = 0) -> dict[str, str]:
    return {bind["pod"].partition("/")[2]: bind["node"] for bind in document["cycles"][cycle]["binds"]}


def bound(document: Document, cycle: int = 0) -> dict[str, int]:
    """How many pods of each job are bound; a pod is named after its job."""
    return dict(Counter(name.rpartition("-")[0] for name in binds(document, cycle)))


def evicted(document: Document) -> dict[tuple[str, str], int]:
    """How many pods of each job the first cycle evicts, by action."""
    first, *later = document["cycles"]
    assert not any(cycle["evictions"] for cycle in later)
    found = first["evictions"]
    return dict(Counter((one["pod"].partition("/")[2].rpartition("-")[0], one["action"]) for one in found))


def nominated(document: Document) -> dict[str, str]:
    """Where pods are to go once others have left, as the first cycle says."""
    return {one["pod"].partition("/")[2]: one["node"] for one in document["cycles"][0]["nominations"]}


def held(document: Document, *resources: str) -> dict[str, tuple[str, ...]]:
    """How much of these resources each queue holds in the end."""
    return {
        name: tuple(found["allocated"].get(one, "0") for one in resources) for name, found in document["queues"].items()
    }


@pytest.mark.parametrize(
    ("name", "cores"),
    [
        ("fair-share-1", {"q1/ns1": "4", "q1/ns2": "4", "q2/ns3": "6", "q2/ns4": "2"}),
        ("fair-share-2", {"q1/ns1": "3", "q1/ns2": "1", "q2/ns3": "10", "q2/ns4": "2"}),
        ("fair-share-3", {"q1/ns1": "4", "q2/ns1": "3", "q2/ns2": "9"}),
    ],
)
def test_the_tables_of_namespace_fair_share(name: str, cores: dict[str, str]) -> None:
    namespaces = planned(name)["namespaces"]

    assert {key: found["allocated"]["cpu"] for key, found in namespaces.items()} == cores


def test_a_gang_that_is_too_large_binds_nothing_and_says_why() -> None:
    document = planned("gang-too-large")
    training = document["jobs"]["team/training"]

    assert bound(document) == {"batch": 2}
    assert (training["ready"], training["pending"]) == (0, 8)
    assert (
        training["message"]
        == "the gang needs 8, 6 fit, and no more would if all nodes were empty: 2 nodes have too little cpu"
    )


def test_a_gang_that_lacks_nodes_waits_and_has_a_menu() -> None:
    assert bound(planned("more-nodes")) == {}

    flags = ["--buy", "--pools", str(ROOT / "config" / "pools.yaml"), "-o", "json"]
    found = CliRunner().invoke(cli, ["plan", "-f", str(SAMPLES / "more-nodes.yaml"), *flags])
    (menu,) = orjson.loads(found.stdout)["menus"]
    assert [offer["message"] for offer in menu["nodes"]["offers"]] == [menus.more_would_start(1, "of pool h100", "", 1)]
    assert menu["waiting"]["start"]["latest"] - menu["waiting"]["start"]["earliest"] == 600.0
    assert [(one["job"], one["pods"]) for one in menu["work"]["jobs"]] == [("team-b/eval", 1)]


def test_a_gang_stays_in_one_rack_or_waits_and_says_how_much_room_there_is() -> None:
    document = planned("topology/hypernodes")
    nodes = binds(document)

    assert bound(document) == {"train": 4, "wide": 4}
    assert {nodes[f"train-{number}"][0] for number in range(4)} == {"b"}
    assert {nodes[f"wide-{number}"][0] for number in range(4)} == {"a", "b"}
    assert document["jobs"]["team/large"]["message"].startswith(places.no_room("rack-a of tier 1 (rack)", 3, 5, []))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("topology/labels-topograph", {"pair": "n1 n2", "leaf": "n5 n6 n7", "near": "n3 n4 n8"}),
        ("topology/labels-nvlink", {"first": "a1 a2 a3", "zonal": "b1 b2 b3 b4"}),
        ("topology/labels-gke", {"block": "n1 n2 n3 n4", "sub": "n5 n6"}),
        ("topology/labels-aws", {"ring": "n4 n5 n6", "wide": "n1 n2 n3"}),
    ],
)
def test_labels_of_nodes_make_tiers(name: str, expected: dict[str, str]) -> None:
    document = planned(name)
    found: dict[str, list[str]] = {}
    for pod, node in sorted(binds(document).items()):
        found.setdefault(pod.rpartition("-")[0], []).append(node)

    assert {job: " ".join(sorted(nodes)) for job, nodes in found.items()} == expected
    waits = [job["message"] for job in document["jobs"].values() if job["pending"]]
    assert waits == [
        "a/cl.1 of tier 1 (nvlink) has room for 2 of 3; looked at 4 domains of tier 1 (nvlink)"
        for _ in expected.keys() & {"zonal"}
    ]


def test_each_sub_group_gets_a_rack_and_the_job_a_block() -> None:
    racks = {(name.rpartition("-")[0], node.partition("-")[0]) for name, node in binds(planned("sub-groups")).items()}

    assert racks == {("training-a", "r3"), ("training-b", "r4")}
    assert bound(planned("sub-groups")) == {"training-a": 4, "training-b": 4}


def test_native_podgroups_start_as_they_ask() -> None:
    document = planned("native-podgroups")
    nodes = binds(document)

    assert bound(document) == {"train": 4, "leader": 1, "workers": 2, "sweep": 2}
    assert {nodes[f"train-{number}"][0] for number in range(4)} == {"b"}
    waits = document["jobs"]["team/sweep:scheduling.k8s.io"]["message"]
    assert waits == "one more pod waits: 4 nodes have too little cpu"


def test_priorities_decide_among_jobs_and_among_pods() -> None:
    document = planned("priorities")

    assert bound(document) == {"urgent": 3, "nightly": 1}
    assert next(iter(binds(document))) == "urgent-leader"


def test_queues_share_by_weight_and_within_their_capability() -> None:
    document = planned("queues-by-weight")
    queues = document["queues"]

    assert bound(document) == {"research-work": 4, "web-work": 2, "capped-work": 2}
    assert queues["capped"]["deserved"]["cpu"] == queues["capped"]["capability"]["cpu"] == "2"


def test_pods_without_requests_fill_in_as_far_as_there_are_slots() -> None:
    document = planned("backfill")

    assert bound(document) == {"solver": 2, "probe": 2}
    assert document["unschedulable"]["team/probe-2"]["message"] == node_words.available(1, {node_words.FULL: 1})


def test_rules_about_other_pods_are_kept() -> None:
    document = planned("spread-and-affinity")
    nodes = binds(document)
    zone = {"node-1": "a", "node-2": "a", "node-3": "b"}

    assert sorted(nodes[f"web-{number}"] for number in range(3)) == ["node-1", "node-2", "node-3"]
    assert list(document["unschedulable"]) == ["team/web-3"]
    assert Counter(zone[nodes[f"shards-{number}"]] for number in range(4)) == {"a": 2, "b": 2}
    assert (nodes["cache"], nodes["report"]) == ("node-3", "node-2")


@pytest.mark.parametrize(
    ("by_default", "pods"),
    [
        pytest.param(False, {"gold-work": 2, "bronze-work": 1}, id="by score"),
        pytest.param(True, {"gold-work": 3}, id="by priority"),
    ],
)
def test_queues_by_score_take_turns(by_default: bool, pods: dict[str, int]) -> None:
    assert bound(planned("queue-score", by_default=by_default)) == pods


@pytest.mark.parametrize(
    ("by_default", "order"),
    [
        pytest.param(False, ["b2-0", "a2-0", "a1-0"], id="across queues"),
        pytest.param(True, ["a2-0", "a1-0", "b2-0"], id="queue by queue"),
    ],
)
def test_jobs_across_queues_go_by_priority(by_default: bool, order: list[str]) -> None:
    assert list(binds(planned("across-queues", by_default=by_default))) == order


def test_pods_go_where_their_volumes_are_or_can_be_made() -> None:
    assert binds(planned("volumes-zones")) == {"db-0": "node-a", "db-1": "node-b", "db-2": "node-c"}


def test_a_node_attaches_as_many_volumes_as_it_can_and_one_pod_at_a_time_uses_some_claims() -> None:
    document = planned("volumes-limits")

    assert binds(document) == {"scan-0": "node-1"}
    assert {pod: why["message"] for pod, why in document["unschedulable"].items()} == {
        "team/scan-1": node_words.available(1, {node_words.TOO_MANY_VOLUMES: 1}),
        "team/alone-0": node_words.available(1, {node_words.VOLUME_IN_USE: 1}),
    }


def test_a_gang_whose_devices_are_not_all_there_gets_none() -> None:
    document = planned("devices-gang")

    assert binds(document) == {"tolerant-0": "node-2"}
    assert document["jobs"]["team/training"]["message"].startswith("the gang needs 4, 3 fit: ")


def test_parts_of_a_device_count_in_the_quota_of_the_queue() -> None:
    document = planned("devices-parts")

    assert binds(document) == {"half-0": "node-1", "quarter-0": "node-1"}
    assert document["unschedulable"]["team/third-0"]["message"] == (
        "queue parts allows 60Gi memory.deviceclass/gpu.example.com: 50Gi held, 20Gi more asked"
    )


def test_parts_of_gpus_are_counted_device_by_device() -> None:
    document = planned("devices-vgpu")

    others = {"small-0": "node-1", "small-1": "node-1", "small-2": "node-1", "wide-0": "node-1", "alone-0": "node-2"}
    assert binds(document) == others
    assert document["jobs"]["team/train"]["message"].startswith("the gang needs 3, 2 fit: ")


def test_npus_are_given_out_by_templates_and_by_network() -> None:
    document = planned("devices-npu")

    assert binds(document) == {"part-0": "node-1", "part-1": "node-1", "pair-0": "node-1", "pair-1": "node-2"}
    assert document["unschedulable"]["team/all-0"]["message"] == (
        "0/2 nodes are available: 2 node(s) had fewer than 4 devices with 100% of memory left."
    )


def test_a_queue_stays_within_its_capability_whatever_is_free() -> None:
    document = planned("capacity-1")

    assert bound(document) == {"research-work": 3}
    message = document["unschedulable"]["team/research-work-5"]["message"]
    assert message == "queue research allows 3 cpu: 3 held, 1 more asked"


def test_what_a_queue_deserves_is_lent_out() -> None:
    document = planned("capacity-2-lent")

    assert bound(document) == {"research-work": 8}
    assert document["queues"]["research"]["share"] == 2.0


def test_what_was_lent_is_taken_back() -> None:
    document = planned("capacity-2-back")

    assert evicted(document) == {("research-work", "reclaim"): 4}
    assert bound(document) == {}
    assert bound(document, 1) == {"web-work": 4}
    assert held(document, "cpu") == {"research": ("4",), "web": ("4",)}


@pytest.mark.parametrize(
    ("name", "pods", "accelerators"),
    [
        pytest.param("capacity-3-alone", 20, "100", id="all there are"),
        pytest.param("capacity-3-guaranteed", 18, "90", id="all but what the other is guaranteed"),
    ],
)
def test_a_queue_that_is_alone_has(name: str, pods: int, accelerators: str) -> None:
    document = planned(name)

    assert bound(document) == {"queue1-a100": pods, "queue1-v100": pods}
    assert held(document, A100, V100)["queue1"] == (accelerators, accelerators)


def test_each_kind_of_accelerator_is_taken_back_as_deserved() -> None:
    document = planned("capacity-3-reclaimed")

    assert evicted(document) == {("queue1-a100", "reclaim"): 16, ("queue1-v100", "reclaim"): 10}
    assert bound(document) == {}
    assert bound(document, 1) == {"queue2-a100": 16, "queue2-v100": 10}
    assert binds(document, 1) == nominated(document)
    assert held(document, A100, V100) == {"queue1": ("20", "50"), "queue2": ("80", "50")}


def test_a_queue_that_is_alone_stays_within_its_capability() -> None:
    document = planned("capacity-4-alone")

    assert bound(document) == {"queue1-a100": 12}
    assert held(document, A100)["queue1"] == ("60",)


def test_what_is_free_is_taken_first_and_what_is_guaranteed_not_at_all() -> None:
    document = planned("capacity-4-reclaimed")

    assert bound(document) == {"queue2-a100": 8}
    assert evicted(document) == {("queue1-a100", "reclaim"): 8}
    assert binds(document, 1) == nominated(document)
    assert bound(document, 1) == {"queue2-a100": 8}
    assert held(document, A100) == {"queue1": ("20",), "queue2": ("80",)}
    assert len(document["unschedulable"]) == 4


def test_queues_by_weight_take_back_and_urgent_jobs_take_within_their_queue() -> None:
    document = planned("taking-back")

    beneficiaries = Counter((one["action"], one["for"]) for one in document["cycles"][0]["evictions"])
    assert evicted(document) == {("nightly", "reclaim"): 4, ("nightly", "preempt"): 2}
    assert beneficiaries == {("reclaim", "team/web-work"): 4, ("preempt", "team/urgent"): 2}
    assert bound(document, 1) == {"web-work": 4, "urgent": 2}


def test_evictions_waste_as_little_work_as_possible() -> None:
    document = planned("less-waste")

    assert evicted(document) == {("saved", "preempt"): 1}
    assert binds(document, 1) == {"urgent-0": "node-2"}


def test_a_pod_moves_where_that_makes_a_node_whole() -> None:
    document = planned("consolidate")

    assert evicted(document) == {("web", "consolidate"): 1}
    assert binds(document, 1) == {"train-0": "node-2"}


def test_pods_go_where_nodes_really_have_what_they_ask_for() -> None:
    assert binds(planned("usage")) == {"solver-0": "node-3", "cache-0": "node-1"}
    assert binds(planned("usage", by_default=True)) == {"solver-0": "node-1", "cache-0": "node-1"}


def deserved(document: Document, resource: str = "cpu") -> dict[str, tuple[str, str]]:
    """What each namespace deserves and holds of a resource."""
    found = document["allocations"].items()
    return {name: (one["deserved"][resource], one["allocated"].get(resource, "0")) for name, one in found}


def steps(document: Document) -> list[tuple[list[str], list[str]]]:
    """Who is bound and who is evicted by arbitration, cycle by cycle."""
    cycles = document["cycles"]
    assert all(one["action"] == "arbitrate" for cycle in cycles for one in cycle["evictions"])
    return [([one["pod"] for one in cycle["binds"]], [one["pod"] for one in cycle["evictions"]]) for cycle in cycles]


def test_a_namespace_that_is_alone_deserves_all_there_is() -> None:
    document = planned("arbitrate-1")

    assert sorted(steps(document)[0][0]) == ["one/work-0", "one/work-1"]
    assert document["allocations"] == {
        "one": {
            "deserved": {"cpu": "2", "memory": "2Gi"},
            "hard": {},
            "reserved": {},
            "allocated": {"cpu": "2", "memory": "2Gi"},
        }
    }


def test_a_namespace_that_arrives_gets_its_half_by_one_eviction() -> None:
    document = planned("arbitrate-2")

    assert steps(document) == [([], ["one/work-1"]), (["two/work-0"], []), ([], [])]
    assert document["cycles"][0]["evictions"][0]["for"] == "two/work-0"
    assert deserved(document) == {"one": ("1", "1"), "two": ("1", "1")}
    assert deserved(document, "memory") == {"one": ("1Gi", "1Gi"), "two": ("1Gi", "1Gi")}
    assert sorted(document["unschedulable"]) == ["one/work-2", "two/work-1"]


def test_where_everybody_has_what_it_deserves_nobody_is_evicted() -> None:
    document = planned("arbitrate-3")

    assert steps(document) == [([], [])]
    assert deserved(document) == {"one": ("1", "1"), "two": ("1", "1")}
    assert not any("overused" in one for one in document["allocations"].values())


def test_an_area_lends_what_it_does_not_need() -> None:
    document = planned("arbitrate-lend")

    assert bound(document) == {"shop": 1, "spark": 5, "hadoop": 4}
    assert {name: one["deserved"]["cpu"] for name, one in document["buckets"].items()} == {"app": "4", "bigdata": "6"}
    assert {name: one["allocated"]["cpu"] for name, one in document["buckets"].items()} == {"app": "1", "bigdata": "9"}


def test_buckets_in_buckets_keep_to_every_limit_above_them() -> None:
    document = planned("arbitrate-levels")

    assert bound(document) == {"lab": 6, "crm": 4, "build": 3, "test": 3}
    found = {name: (one["deserved"]["cpu"], one.get("parent", "")) for name, one in document["buckets"].items()}
    assert found == {"company": ("10", ""), "engineering": ("6", "company"), "sales": ("4", "company")}


def test_an_area_gets_back_what_it_lent_within_disruption_budgets() -> None:
    document = planned("arbitrate-back")

    assert steps(document) == [
        ([], ["spark/spark-5"]),
        (["shop/shop-1"], ["spark/spark-4"]),
        (["shop/shop-2"], []),
        ([], []),
    ]
    assert deserved(document) == {"shop": ("4", "3"), "spark": ("4", "4"), "hadoop": ("2", "3")}
    assert [name for name, one in document["allocations"].items() if "overused" in one] == ["hadoop"]


def test_what_is_reserved_comes_back_and_is_kept() -> None:
    document = planned("arbitrate-reserved")

    assert [evicted for _, evicted in steps(document)] == [
        ["guest/trial-0"],
        ["batch/nightly-2"],
        ["guest/trial-2"],
        [],
    ]
    assert deserved(document) == {"db": ("3", "3"), "batch": ("2", "2"), "guest": ("1", "1")}


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_says_how_it_is_run_and_what_comes_of_it(name: str) -> None:
    text = (SAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
    comments = [line for line in text.splitlines() if line.startswith("#")]

    policy, usage, arbitrate, cycles = command_line(name)
    told = "" if policy is None else f" --config {policy.relative_to(ROOT)}"
    told += "" if usage is None else f" --usage {usage.relative_to(ROOT)}"
    told += " --arbitrate" if arbitrate else ""
    told += "" if cycles == 1 else f" --cycles {cycles}"
    assert f"# vsched plan -f config/samples/{name}.yaml{told}" in comments
    assert any(line.startswith("# Result: ") for line in comments)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_sample_gives_the_same_bytes(name: str) -> None:
    first, second = (orjson.dumps(planned(name)) for _ in range(2))

    assert first == second


def test_every_sample_has_its_result_checked() -> None:
    checked = Path(__file__).read_text(encoding="utf-8")

    assert NAMES
    assert [name for name in NAMES if f'"{name}"' not in checked] == []


def test_hypernodes_for_kubectl_are_whole_trees() -> None:
    objects = decode_with_pods(read([str(SAMPLES / "topology/racks.yaml")], StringIO())).objects["HyperNode"]
    known = Mirror(MirrorSettings(frozenset()))
    known.intake.replace("HyperNode", objects)
    seen = known.snapshot(NOW)

    assert not known.broken
    assert counts(membership(seen.topology, seen.nodes.statics)) == {"rack-1": 0, "rack-2": 0, "hall": 0}


def test_roles_that_belong_together_share_nodes() -> None:
    found, by_default = binds(planned("roles")), binds(planned("roles", by_default=True))

    assert found["train-ps-0"] == found["train-worker-0"] != found["train-ps-1"] == found["train-worker-1"]
    assert set(by_default.values()) == {"node-1"}


def test_pods_with_whole_cpus_wait_for_a_numa_zone() -> None:
    found = planned("numa")

    assert binds(found) == {"wide": "node-2", "plain": "node-3"}
    assert "1 node(s) had too little cpu free in every NUMA node" in found["unschedulable"]["team/whole"]["message"]
    assert "whole" in binds(planned("numa", by_default=True))
