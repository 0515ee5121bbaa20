"""Nobody is evicted for a gang while nodes for it are being provisioned."""

from __future__ import annotations

import pytest

from tests.support.plans import NOW, manifests, mirror, policy_of
from vsched.framework.cycle import run_cycle
from vsched.model.jobs.provisioning import Provisioning
from vsched.model.plan import CycleReport
from vsched.model.words import nodes_are_asked_for
from vsched.settings.built_in import REGISTRY

POLICY = policy_of("priority gang", "predicates", actions="allocate, preempt")
TEXT = """
node n1 cpu=4
class high 9
job x/low min=1
pods x/low 4 cpu=1 on=n1
job x/new min={least} pods=2 cpu=1 class=high age={age}
"""


def report(provisioning: dict[str, Provisioning] | None, least: int = 2, age: int = 60) -> CycleReport:
    found = mirror(manifests(TEXT.format(least=least, age=age)))
    found.inputs.provision(provisioning)
    return run_cycle(found.snapshot(NOW), POLICY, REGISTRY)


def asked(evict_from: float) -> dict[str, Provisioning]:
    return {"x/new": Provisioning("r", "c", evict_from=evict_from)}


@pytest.mark.parametrize(
    ("provisioning", "least", "age", "evicted"),
    [
        pytest.param(None, 2, 0, 2, id="where nodes are not asked for, they go at once"),
        pytest.param(asked(NOW + 60), 2, 60, 0, id="not while nodes are on their way"),
        pytest.param(asked(NOW), 2, 60, 2, id="they go once that has taken too long"),
        pytest.param(asked(0.0), 2, 60, 2, id="or once the request has failed"),
        pytest.param({}, 2, 0, 0, id="nor before nodes could be asked for"),
        pytest.param({}, 2, 60, 2, id="they go for a gang that no nodes are asked for"),
        pytest.param({}, 1, 0, 1, id="and for pods that are no gang"),
    ],
)
def test_who_goes(provisioning: dict[str, Provisioning] | None, least: int, age: int, evicted: int) -> None:
    assert len(report(provisioning, least, age).evictions) == evicted


def test_a_session_is_due_when_the_time_is_over() -> None:
    assert report(asked(NOW + 60)).due == NOW + 60


def test_pods_say_what_became_of_the_request_and_their_bindings_name_it() -> None:
    found = report(asked(NOW + 60))
    waits = found.unschedulable["x/new.0"]
    assert waits.reason == "Provisioning"
    for message in (waits.message, found.jobs["x/new"].message):
        assert message.endswith(f"; {nodes_are_asked_for('ProvisioningRequest r', '')}")
        assert message.count("ProvisioningRequest") == 1

    mirrored = mirror(manifests("node n1 cpu=4\njob x/new min=2 pods=2 cpu=1"))
    mirrored.inputs.provision(asked(0.0))
    (first, _) = run_cycle(mirrored.snapshot(NOW), POLICY, REGISTRY).binds
    assert dict(first.annotations) == {
        "autoscaling.x-k8s.io/consume-provisioning-request": "r",
        "autoscaling.x-k8s.io/provisioning-class-name": "c",
    }


def test_a_request_is_for_what_the_gang_needs_with_its_roles() -> None:
    text = "node n1 cpu=1\njob x/a min=3 roles=ps:1,worker:2\npods x/a 3 cpu=2 role=worker\npods x/a 2 cpu=2 role=ps"
    found = mirror(manifests(text))
    found.inputs.provision({})
    pods = run_cycle(found.snapshot(NOW), POLICY, REGISTRY).unschedulable.values()
    tasks = {task.uid: task for job in found.snapshot(NOW).jobs.values() for task in job.tasks.values()}
    asked_for = sorted(tasks[one.uid].role for one in pods if one.reason == "Provisioning")

    assert asked_for == ["ps", "worker", "worker"]
    assert not [one for one in pods if one.reason == "Unschedulable"]


def test_a_gang_that_runs_asks_for_more_pods_by_their_conditions() -> None:
    text = "node n1 cpu=2\njob x/a min=2 phase=Running\npods x/a 2 cpu=1 on=n1\npods x/a 1 cpu=1"
    found = mirror(manifests(text))
    found.inputs.provision({})
    pods = run_cycle(found.snapshot(NOW), POLICY, REGISTRY).unschedulable

    assert [one.reason for one in pods.values()] == ["Unschedulable"]


def test_a_gang_with_pods_of_too_many_kinds_for_a_request_asks_by_their_conditions() -> None:
    kinds = "\n".join(f"pods x/a 1 cpu={2 + number}" for number in range(33))
    found = mirror(manifests(f"node n1 cpu=1\njob x/a min=33\n{kinds}"))
    found.inputs.provision({})
    pods = run_cycle(found.snapshot(NOW), POLICY, REGISTRY).unschedulable

    assert {one.reason for one in pods.values()} == {"Unschedulable"}
