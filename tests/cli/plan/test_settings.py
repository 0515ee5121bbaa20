"""``--set`` in a what-if: what may be set, how it is read, and how it is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.plans import NOW
from tests.support.questions import trial_of
from vsched.cli.plan.settings import setting_of
from vsched.cli.plan.trial import PlanTrial
from vsched.cli.plan.words import flags as words
from vsched.errors import BadInput
from vsched.model.amounts.resources import CPU
from vsched.model.snapshot import Snapshot

CLUSTER = """
    node n1 cpu=4
    node n1.example.com cpu=4
    queue research weight=1 capability=cpu:4
    queue a.b weight=1
    queue prod deserved=cpu:2
    class high 100
    job ml/train min=2 pods=2 cpu=1 queue=research
"""
Told = Callable[[Snapshot], object]

SETTINGS: dict[str, tuple[str, Told, object]] = {
    "a weight": ("queue/research.weight=3", lambda seen: seen.queues["research"].weight, 3),
    "a queue with a dot in its name": ("queue/a.b.weight=3", lambda seen: seen.queues["a.b"].weight, 3),
    "a limit": ("queue/prod.capability.cpu=8", lambda seen: seen.queues["prod"].capability, ((CPU, 8000),)),
    "a limit taken out": ("queue/research.capability.cpu=", lambda seen: seen.queues["research"].capability, ()),
    "what is deserved": ("queue/prod.deserved.cpu=500m", lambda seen: seen.queues["prod"].deserved, ((CPU, 500),)),
    "a guarantee": ("queue/prod.guarantee.cpu=1", lambda seen: seen.queues["prod"].guarantee, ((CPU, 1000),)),
    "a resource with a dot and a slash in its name": (
        "queue/prod.capability.example.com/gpu=2",
        lambda seen: [seen.axis.names[column] for column, _ in seen.queues["prod"].capability],
        ["example.com/gpu"],
    ),
    "a priority": ("queue/prod.priority=7", lambda seen: seen.queues["prod"].priority, 7),
    "a state": ("queue/prod.state=Closed", lambda seen: seen.queues["prod"].open, False),
    "a parent": ("queue/prod.parent=research", lambda seen: seen.queues["prod"].parent, "research"),
    "whether it gives back": ("queue/prod.reclaimable=false", lambda seen: seen.queues["prod"].reclaimable, False),
    "a minimum": ("podgroup/ml/train.minMember=1", lambda seen: seen.jobs["ml/train"].spec.min_member, 1),
    "a minimum of a role": (
        "podgroup/ml/train.minTaskMember.ps=1",
        lambda seen: seen.jobs["ml/train"].spec.min_task_member,
        (("ps", 1),),
    ),
    "minimal resources": (
        "podgroup/ml/train.minResources.cpu=2",
        lambda seen: seen.jobs["ml/train"].spec.min_resources,
        ((CPU, 2000),),
    ),
    "another queue": ("podgroup/ml/train.queue=prod", lambda seen: seen.jobs["ml/train"].spec.queue, "prod"),
    "a class": ("podgroup/ml/train.priorityClassName=high", lambda seen: seen.jobs["ml/train"].priority, 100),
    "a cordon": (
        "node/n1.example.com.unschedulable=true",
        lambda seen: [node.unschedulable for node in seen.nodes.statics.attributes],
        [False, True],
    ),
    "a label of a node": (
        "node/n1.labels.topology.kubernetes.io/zone=b",
        lambda seen: [node.labels.get("topology.kubernetes.io/zone") for node in seen.nodes.statics.attributes],
        ["b", None],
    ),
    "an amount of a node": (
        "node/n1.allocatable.cpu=16",
        lambda seen: int(seen.nodes.allocatable[CPU, seen.nodes.statics.row["n1"]]),
        16_000,
    ),
}


@pytest.mark.parametrize(("text", "told", "expected"), SETTINGS.values(), ids=SETTINGS.keys())
def test_what_is_set_is_seen(text: str, told: Told, expected: object) -> None:
    trial = trial_of(CLUSTER)
    before = trial.mirror.snapshot(NOW)
    jobs = {key: sorted(job.tasks) for key, job in before.jobs.items()}
    setting_of(text).apply(trial)
    seen = trial.mirror.snapshot(NOW)
    assert told(seen) == expected
    assert {key: sorted(job.tasks) for key, job in seen.jobs.items()} == jobs


REFUSED = {
    "no equals sign": ("queue/prod.weight", words.EXPECTED_SETTING),
    "no field": ("queue/prod=3", words.EXPECTED_SETTING),
    "another kind": ("queues/prod.weight=3", words.cannot_be_set("", "queues", words.did_you_mean("queue"))),
    "a field that is no field": (
        "queue/prod.wieght=3",
        words.no_field("Queue", "wieght", words.did_you_mean("weight")),
    ),
    "a limit of nothing": ("queue/prod.capability=3", words.no_field("Queue", "capability", "")),
    "no number": ("queue/prod.weight=much", f"'much': {words.EXPECTED_WHOLE_NUMBER}"),
    "no boolean": ("queue/prod.reclaimable=maybe", f"'maybe': {words.EXPECTED_TRUE_OR_FALSE}"),
    "no amount": ("queue/prod.capability.cpu=lots", "'lots' is not a quantity"),
    "no resource": ("queue/prod.capability.cpus=3", "'cpus' is no resource that pods are placed by"),
    "less than none": ("queue/prod.capability.cpu=-3", "is negative"),
    "no state": ("queue/prod.state=Shut", "'Shut': expected Open, Closed or Closing"),
    "a weight that the definition forbids": ("queue/prod.weight=0", "greater than or equal to 1"),
    "a minimum below none": ("podgroup/ml/train.minMember=-1", "expected zero or more"),
    "an unknown queue": ("queue/pord.weight=3", "there is no Queue 'pord' (did you mean 'prod'?)"),
    "an unknown PodGroup": ("podgroup/ml/trian.minMember=3", "there is no PodGroup 'ml/trian'"),
    "an unknown node": ("node/n7.unschedulable=true", "there is no Node 'n7'"),
    "a queue to move to that is not there": ("podgroup/ml/train.queue=pord", "there is no Queue 'pord'"),
    "a class that is not there": ("podgroup/ml/train.priorityClassName=higher", "did you mean 'high'?"),
}


@pytest.mark.parametrize(("text", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_set_is_refused_with_what_was_asked(text: str, says: str) -> None:
    trial = trial_of(CLUSTER)
    with pytest.raises(BadInput) as refused:
        setting_of(text).apply(trial)
    assert str(refused.value).startswith(f"--set {text}: ")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_settings_of_one_object_add_up() -> None:
    trial: PlanTrial = trial_of(CLUSTER)
    for text in ("queue/prod.weight=3", "queue/prod.capability.cpu=8", "queue/prod.state=Closed"):
        setting_of(text).apply(trial)
    queue = trial.mirror.snapshot(NOW).queues["prod"]
    assert (queue.weight, queue.capability, queue.open) == (3, ((CPU, 8000),), False)
    assert queue.deserved == ((CPU, 2000),)


def test_a_node_is_opened_again() -> None:
    trial = trial_of("node n1 cpu=4")
    for word in ("true", "false"):
        setting_of(f"node/n1.unschedulable={word}").apply(trial)
    [node] = trial.mirror.snapshot(NOW).nodes.statics.attributes
    assert (node.unschedulable, node.taints) == (False, ())


def test_a_podgroup_that_was_made_for_pods_cannot_be_changed() -> None:
    made = {
        "kind": "PodGroup",
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "metadata": {
            "name": "podgroup-web",
            "namespace": "x",
            "labels": {"app.kubernetes.io/managed-by": "vsched"},
        },
        "spec": {"minMember": 1},
    }
    with pytest.raises(BadInput, match="only records what its pods and their workload say"):
        setting_of("podgroup/x/podgroup-web.minMember=2").apply(trial_of("node n1", made))
