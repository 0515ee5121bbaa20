"""The zones of nodes in the mirror: reports, and pods that hold what was decided for them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.plans import NOW, manifests, mirror, policy_of
from tests.support.zones import DECISION, report, volcano_report
from vsched import api
from vsched.framework.cycle import run_cycle
from vsched.mirror.state.zones import ZoneStore
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.mirror.whatif.paper import PaperMirror
from vsched.model.dump.cycle import Recording, decode, encode
from vsched.model.nodes.zones import NO_ZONES, ZonedPod
from vsched.settings.built_in import REGISTRY

Obj = dict[str, Any]
AWARE = policy_of("priority gang", "predicates numa-aware")
LIMITS = "memory=1Gi limits=cpu:2,memory:1Gi"
TEXT = f"node n1 cpu=8\nnode n2 cpu=8\njob ns/j min=1\npods ns/j 1 cpu=2 {LIMITS}"


def cache(*reports: Obj, text: str = TEXT) -> PaperMirror:
    return mirror([*manifests(text), *reports])


def pods(found: PaperMirror, node: str = "n1") -> tuple[ZonedPod, ...]:
    return found.snapshot(NOW).zones.pods.get(node, ())


def test_without_reports_nothing_is_shown() -> None:
    assert cache().snapshot(NOW).zones is NO_ZONES


def test_a_binding_that_is_assumed_holds_what_was_decided_until_it_fails() -> None:
    found = cache(report("n1", "4", "4"))
    before = found.snapshot(NOW)
    assert before.zones.pods == {}
    found.assumptions.assume(run_cycle(before, AWARE, REGISTRY))

    assert [(pod.name, pod.running, pod.shares) for pod in pods(found)] == [("ns/j.0", False, ((0, (("cpu", 2000),)),))]
    found.assumptions.forget("ns/j.0")
    assert pods(found) == ()


def test_a_pod_on_a_node_holds_what_its_annotation_says_until_it_is_gone() -> None:
    decision = json.dumps({"numa": {"1": {"cpu": "2"}}}, separators=(",", ":"))
    found = cache(report("n1", "4", "4"), text=f"{TEXT} on=n1 {DECISION}={decision}")

    assert [(pod.running, pod.shares) for pod in pods(found)] == [(True, ((1, (("cpu", 2000),)),))]
    found.intake.replace("Pod", [])
    assert pods(found) == ()


def test_of_two_reports_on_a_node_the_first_kind_counts_as_long_as_it_is_there() -> None:
    found = cache(report("n1", "1", "1"), volcano_report("n1", "0-3", dict.fromkeys(range(4), 0)))
    assert len(found.snapshot(NOW).zones.nodes["n1"].zones) == 2
    found.intake.replace("NodeResourceTopology", [])
    assert len(found.snapshot(NOW).zones.nodes["n1"].zones) == 1
    found.intake.replace("Numatopology", [])
    assert found.snapshot(NOW).zones is NO_ZONES


def test_only_a_report_that_says_something_new_is_a_reason_for_a_session() -> None:
    """Agents write reports again and again."""

    def at(second: int, *free: str) -> api.NodeResourceTopology:
        found = report("n1", *free, managedFields=[{"time": f"2026-01-01T00:00:0{second}Z"}])
        decoded = api.decode("NodeResourceTopology", json.dumps(found).encode())
        assert isinstance(decoded, api.NodeResourceTopology)
        return decoded

    store = ZoneStore()
    assert store.put("n1", at(1, "4"))
    first = store.publish()
    assert not store.put("n1", at(2, "4")), "the time alone has changed"
    assert store.publish() is not first, "which is shown all the same"
    assert store.put("n1", at(3, "2"))


def test_what_a_simulation_starts_is_never_counted_by_a_report() -> None:
    found = cache(report("n1", "4", "4"))
    found.settle(run_cycle(found.snapshot(NOW), AWARE, REGISTRY))

    assert [(pod.running, pod.on_paper) for pod in pods(found)] == [(True, True)]


@pytest.mark.parametrize("owner", ["vsched", "other"])
def test_a_mirror_on_paper_and_a_recording_show_the_same(owner: str) -> None:
    """Also pods of other schedulers, of which a snapshot has nothing else."""
    objects = manifests(f"{TEXT} on=n1")
    for found in objects:
        if found["kind"] == "Pod":
            found["spec"]["schedulerName"] = owner
    snapshot = mirror([*objects, report("n1", "4", "4", "2")]).snapshot(NOW)
    assert len(snapshot.zones.pods["n1"]) == 1

    again = decode(encode(Recording(snapshot, "", None)))
    assert (again.snapshot.zones.nodes, again.snapshot.zones.pods) == (snapshot.zones.nodes, snapshot.zones.pods)
    assert ClusterEditor(snapshot).edited(()).zones.pods == snapshot.zones.pods
