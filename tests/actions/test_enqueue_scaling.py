"""Admission where nodes can be added: the size of the cluster is no limit, what queues state is one."""

from __future__ import annotations

import json

import pytest

from tests.support.plans import NOW, manifests, mirror, policy_from
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.settings.built_in import REGISTRY


def policy(divides: str, **autoscaling: bool) -> Policy:
    tiers = [["priority", "gang"], ["overcommit", "predicates", divides]]
    plugins = [{"plugins": [{"name": name} for name in tier]} for tier in tiers]
    return policy_from(json.dumps({"actions": "enqueue, allocate", "tiers": plugins, "autoscaling": autoscaling}))


def phases(text: str, chosen: Policy) -> dict[str, str]:
    found = run_cycle(mirror(manifests(text)).snapshot(NOW), chosen, REGISTRY).jobs
    return {key.partition("/")[2]: job.phase for key, job in found.items()}


@pytest.mark.parametrize("divides", ["proportion", "capacity"])
@pytest.mark.parametrize(
    ("queue", "autoscaling", "phase"),
    [
        pytest.param("", {}, "Pending", id="not where nobody adds nodes"),
        pytest.param("", {"admit": True}, "Inqueue", id="where the policy says so"),
        pytest.param("", {"provisioningRequest": True}, "Inqueue", id="where nodes are asked for"),
        pytest.param("", {"provisioningRequest": True, "admit": False}, "Pending", id="unless it says otherwise"),
        pytest.param(" capability=gpu:16", {"admit": True}, "Inqueue", id="within the capability"),
        pytest.param(" capability=gpu:15", {"admit": True}, "Pending", id="not above it"),
    ],
)
def test_a_gang_without_pods_is_admitted_though_there_are_no_nodes_for_it(
    queue: str, autoscaling: dict[str, bool], phase: str, divides: str
) -> None:
    text = f"node n1 cpu=9\nqueue q{queue}\njob x/a min=16 queue=q minResources=gpu:16"

    assert phases(text, policy(divides, **autoscaling)) == {"a": phase}


@pytest.mark.parametrize("divides", ["proportion", "capacity"])
def test_admitted_jobs_count(divides: str) -> None:
    text = """
        node n1 cpu=9
        queue q capability=gpu:24
        job x/first min=16 queue=q minResources=gpu:16 age=60
        job x/second min=16 queue=q minResources=gpu:16 age=30
        job x/third min=8 queue=q minResources=gpu:8 age=10
    """

    assert phases(text, policy(divides, admit=True)) == {"first": "Inqueue", "second": "Pending", "third": "Inqueue"}
