"""The record of pods: bound, finished and forgotten gangs, and latencies."""

from __future__ import annotations

import msgspec
import pytest

from vsched.kube.watch.deltas import Delta
from vsched.lab.outcomes import PodOutcomes, PodSeen, SubmittedGang, spread_ms


def seen(name: str, node: str = "", phase: str = "Pending") -> PodSeen:
    pod = {"metadata": {"name": name, "namespace": "ns"}, "spec": {"nodeName": node}, "status": {"phase": phase}}
    return msgspec.convert(pod, PodSeen)


@pytest.fixture
def placed() -> list[SubmittedGang]:
    """Gangs of which all pods were seen on nodes."""
    return []


@pytest.fixture
def outcomes(placed: list[SubmittedGang]) -> PodOutcomes:
    """A outcomes in which a gang of two is expected and sent."""
    found = PodOutcomes(placed.append)
    found.expect(SubmittedGang("ns/g", "q", ("ns/g-0", "ns/g-1"), 2, cpus=4))
    for pod in ("ns/g-0", "ns/g-1"):
        found.sending(pod)
    return found


class TestOutcomes:
    def test_a_gang_is_bound_once_all_its_pods_were_seen_on_nodes(
        self, outcomes: PodOutcomes, placed: list[SubmittedGang]
    ) -> None:
        outcomes.apply(Delta.MODIFIED, seen("g-0", "n1"))
        assert (outcomes.partial(), outcomes.waiting_cpus(), placed) == (["ns/g"], {("q", "ns"): 4}, [])
        outcomes.apply(Delta.MODIFIED, seen("g-1", "n1", "Running"))
        assert (outcomes.partial(), outcomes.bound, outcomes.gangs_bound, outcomes.per_second()) == ([], 2, 1, 2)
        assert placed[0].nodes == {"n1"}
        assert placed[0].bound_at >= placed[0].began > 0
        assert len(outcomes.latencies) == len(outcomes.by_queue["q"]) == 2
        assert outcomes.on_nodes == {"n1": 2}

    def test_what_is_told_twice_counts_once(self, outcomes: PodOutcomes, placed: list[SubmittedGang]) -> None:
        for _ in range(2):
            outcomes.apply(Delta.MODIFIED, seen("g-0", "n1", "Succeeded"))
            outcomes.replace([seen("g-1", "n2", "Failed")], "7")
        assert (outcomes.created, outcomes.bound, outcomes.finished, outcomes.gangs_bound, len(placed)) == (
            2,
            2,
            2,
            1,
            1,
        )
        assert list(outcomes.done) == placed
        assert (outcomes.on_nodes, outcomes.running["q"]) == ({}, 0)

    def test_pods_of_others_a_pod_that_goes_and_forgotten_gangs_change_nothing(self, outcomes: PodOutcomes) -> None:
        outcomes.apply(Delta.ADDED, seen("stranger", "n1"))
        outcomes.apply(Delta.DELETED, seen("g-0", "n1"))
        outcomes.forget(outcomes.gangs["ns/g"])
        outcomes.apply(Delta.MODIFIED, seen("g-1", "n1"))
        assert (outcomes.bound, outcomes.gangs, outcomes.waiting()) == (0, {}, {})

    def test_a_spread_of_nothing_is_zero(self) -> None:
        assert spread_ms([]) == {"p50": 0.0, "p99": 0.0}
        assert spread_ms([0.001, 0.003]) == {"p50": 2.0, "p99": 2.98}
