"""PodDisruptionBudgets and ResourceQuotas as the scheduler sees them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from vsched.errors import BadObject
from vsched.mirror.ingest.budgets import budget_of, quota_of, quota_request_of
from vsched.model import words
from vsched.model.pods.shape import Requirement, Selector

APP = Requirement("app", "In", ("a",))


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param(None, None, id="without a selector it is about no pod"),
        pytest.param({}, Selector(), id="an empty selector means all pods"),
        pytest.param({"matchLabels": {"app": "a"}}, Selector((APP,)), id="labels"),
        pytest.param(
            {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]},
            Selector((APP, Requirement("tier", "Exists"))),
            id="labels and expressions",
        ),
    ],
)
def test_which_pods_a_budget_is_about(selector: Any, expected: Selector | None) -> None:
    found = budget_of(make.decode(make.budget(selector=selector)))

    assert (None if found is None else found.selector) == expected


@pytest.mark.parametrize(
    ("status", "allowed", "disrupted"),
    [
        pytest.param({}, 0, set(), id="a budget nobody has looked at yet allows nothing"),
        pytest.param({"disruptionsAllowed": 2}, 2, set(), id="so many"),
        pytest.param({"disruptionsAllowed": -1}, 0, set(), id="never less than none"),
        pytest.param({"disruptedPods": {"p": "2026-08-01T10:00:00Z"}}, 0, {"p"}, id="granted evictions"),
    ],
)
def test_what_a_budget_allows(status: dict[str, Any], allowed: int, disrupted: set[str]) -> None:
    found = budget_of(make.decode(make.budget("b", {}, **status)))

    assert found is not None
    assert (found.namespace, found.name, found.allowed, found.disrupted) == ("ns", "b", allowed, disrupted)


HARD = {
    "cpu": "4",
    "requests.memory": "1Ki",
    "limits.cpu": "500m",
    "pods": 3,
    "requests.example.com/gpu": 0,
    "hugepages-2Mi": "2Mi",
    "count/pods": 5,
    "services": 1,
    "requests.storage": "1Gi",
    "persistentvolumeclaims": 2,
    "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
    "volcano.sh/namespace.weight": "lots",
}
LINES = {
    "cpu": ("cpu", 4000),
    "hugepages-2Mi": ("hugepages-2Mi", 2 << 20),
    "limits.cpu": ("limits.cpu", 500),
    "pods": ("pods", 3),
    "requests.example.com/gpu": ("example.com/gpu", 0),
    "requests.memory": ("memory", 1024),
}


def test_the_lines_of_a_quota_are_those_on_resources_of_pods() -> None:
    found = quota_of(make.decode(make.limits(spec={"hard": HARD})))

    assert found is not None
    assert {line.name: (line.resource, line.hard) for line in found.lines} == LINES
    assert {line.used for line in found.lines} == {0}


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        pytest.param(
            {"spec": {"hard": {"cpu": 1}}, "status": {"hard": {"cpu": 2}, "used": {"cpu": "1500m"}}},
            [(2000, 1500)],
            id="the limits in force are those of the status",
        ),
        pytest.param({"spec": {"hard": {"cpu": 1}}, "status": {"used": {"memory": 1}}}, [(1000, 0)], id="unused"),
        pytest.param({"spec": {"hard": {"cpu": 1}, "scopes": ["BestEffort"]}}, None, id="scopes"),
        pytest.param({"spec": {"hard": {"cpu": 1}, "scopeSelector": {"matchExpressions": []}}}, None, id="selected"),
        pytest.param({"spec": {"hard": {"services": 1}}}, None, id="nothing of pods"),
        pytest.param({}, None, id="nothing at all"),
    ],
)
def test_what_a_quota_leaves(fields: dict[str, Any], lines: list[tuple[int, int]] | None) -> None:
    found = quota_of(make.decode(make.limits(**fields)))

    assert (None if found is None else [(line.hard, line.used) for line in found.lines]) == lines


@pytest.mark.parametrize(
    ("found", "message"),
    [
        pytest.param(
            make.limits(spec={"hard": {"requests.cpu": "many"}}),
            "ResourceQuota ns/q: spec.hard.requests.cpu: 'many' is not a quantity",
            id="a quota that is no quantity",
        ),
        pytest.param(
            make.limits(status={"hard": {"cpu": 1}, "used": {"cpu": "-1"}}),
            words.negative("ResourceQuota ns/q: status.used.cpu", "-1"),
            id="a use below zero",
        ),
        pytest.param(
            make.budget(selector={"matchExpressions": [{"key": "a", "operator": "Near"}]}),
            "PodDisruptionBudget ns/b: spec.selector.matchExpressions[0].operator: 'Near' is unknown",
            id="an operator that does not exist",
        ),
    ],
)
def test_an_object_that_cannot_be_used_says_why(found: dict[str, Any], message: str) -> None:
    with pytest.raises(BadObject) as error:
        (budget_of if found["kind"] == "PodDisruptionBudget" else quota_of)(make.decode(found))

    assert str(error.value).startswith(message)


def test_what_only_quotas_know_of_a_minimum() -> None:
    wanted = {"cpu": 1, "requests.memory": "1Ki", "limits.cpu": "2", "count/pods": 3, "limits.storage": 1}

    assert quota_request_of(wanted, "spec.minResources") == (("limits.cpu", 2000), ("memory", 1024))
    assert quota_request_of(None, "spec.minResources") == ()
