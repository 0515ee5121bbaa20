"""PodDisruptionBudgets: healthy, wanted and allowed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.workload_objects import NOW, ago, controlled_by, deleting, pod, workload
from vsched.apimachinery.workloads.actions import After, SetStatus
from vsched.sim.controllers.disruption_budgets import reconcile

OWNER = workload("ReplicaSet", "rs")


def budget(**spec: Any) -> dict[str, Any]:
    meta = {"name": "b", "namespace": "default", "uid": "uid-b", "generation": 3}
    return {"metadata": meta, "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec}}


def pods(ready: int, others: int = 0) -> list[dict[str, Any]]:
    references = [controlled_by(OWNER, "ReplicaSet")]
    return [pod(f"p{index}", ready=index < ready, ownerReferences=references) for index in range(ready + others)]


def status(obj: dict[str, Any], selected: list[dict[str, Any]], replicas: int | None = 4) -> dict[str, Any]:
    [found] = [
        each for each in reconcile(obj, selected, lambda reference: replicas, NOW) if isinstance(each, SetStatus)
    ]
    return found.status


@pytest.mark.parametrize(
    ("spec", "ready", "others", "numbers"),
    [
        pytest.param({"minAvailable": 2}, 3, 1, (1, 3, 2, 4), id="what is above the minimum may go"),
        pytest.param({"minAvailable": 3}, 2, 0, (0, 2, 3, 2), id="nothing below it"),
        pytest.param({"minAvailable": "50%"}, 3, 0, (1, 3, 2, 4), id="a percentage is of what the owners want"),
        pytest.param({"minAvailable": "30%"}, 4, 0, (2, 4, 2, 4), id="percentages of a minimum round up"),
        pytest.param({"maxUnavailable": 1}, 4, 0, (1, 4, 3, 4), id="one may be missing"),
        pytest.param({"maxUnavailable": 1}, 3, 1, (0, 3, 3, 4), id="one is missing already"),
        pytest.param({"maxUnavailable": "30%"}, 4, 0, (2, 4, 2, 4), id="percentages of a maximum round up, too"),
        pytest.param({"maxUnavailable": "100%"}, 2, 0, (2, 2, 0, 4), id="all may be missing"),
        pytest.param({}, 2, 0, (1, 2, 1, 2), id="without numbers one must stay"),
        pytest.param({"minAvailable": 0}, 0, 0, (0, 0, 0, 0), id="nothing is expected where there is nothing"),
    ],
)
def test_numbers(spec: dict[str, Any], ready: int, others: int, numbers: tuple[int, int, int, int]) -> None:
    found = status(budget(**spec), pods(ready, others))
    keys = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    assert tuple(found[key] for key in keys) == numbers
    assert found["observedGeneration"] == 3
    [condition] = found["conditions"]
    assert condition["status"] == ("True" if numbers[0] else "False")
    assert condition["reason"] == ("SufficientPods" if numbers[0] else "InsufficientPods")


def test_terminating_and_finished_pods_are_not_healthy() -> None:
    selected = [*pods(2), deleting(pod("leaving", ready=True)), pod("done", phase="Succeeded")]
    assert status(budget(minAvailable=1), selected)["currentHealthy"] == 2


def test_a_granted_eviction_counts_until_its_pod_terminates() -> None:
    granted = budget(minAvailable=1)
    granted["status"] = {"disruptedPods": {"p0": ago(5), "gone": ago(5)}}
    actions = reconcile(granted, pods(2), lambda reference: 2, NOW)
    assert actions[0].status["currentHealthy"] == 1  # type: ignore[union-attr]
    assert actions[0].status["disruptedPods"] == {"p0": ago(5)}  # type: ignore[union-attr]
    assert actions[1:] == [After(115)]


def test_a_granted_eviction_is_forgotten_after_two_minutes() -> None:
    granted = budget(minAvailable=1)
    granted["status"] = {"disruptedPods": {"p0": ago(120)}}
    found = status(granted, pods(2))
    assert found["currentHealthy"] == 2
    assert "disruptedPods" not in found


@pytest.mark.parametrize(
    ("selected", "replicas", "message"),
    [
        pytest.param([pod("bare", ready=True)], 1, "found no controller ref for pod 'bare'", id="a bare pod"),
        pytest.param(pods(1), None, "does not implement the scale subresource", id="an owner without a size"),
    ],
)
def test_what_cannot_be_told_allows_nothing(selected: list[Any], replicas: int | None, message: str) -> None:
    found = status(budget(maxUnavailable=1), selected, replicas)
    assert found["disruptionsAllowed"] == 0
    [condition] = found["conditions"]
    assert condition["reason"] == "SyncFailed"
    assert message in condition["message"]
