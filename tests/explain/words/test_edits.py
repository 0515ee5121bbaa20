"""Edits in words and as commands: what people read, and what kubectl takes."""

from __future__ import annotations

import json
import shlex
from typing import Any

import msgspec
import pytest

from tests.support.deviceshare import asking, pods
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from tests.support.volumes import claim, storage_capacity
from vsched.explain.edits.base import Edit
from vsched.explain.edits.claims import AddDevices, AddVolumes, CreateVolumeClaims, SetStorage
from vsched.explain.edits.every import kinds
from vsched.explain.edits.jobs import (
    SetHighestTier,
    SetJobQueue,
    SetMinMember,
    SetMinResources,
    SetPriority,
    SetRoleMinimum,
    SetVictimMinimum,
)
from vsched.explain.edits.namespaces import AllowDisruptions, SetConsumerLimit, SetQuota
from vsched.explain.edits.nodes import (
    AddNodes,
    AddPoolNodes,
    LabelNodes,
    PoolNode,
    RemoveTaint,
    SetNodeAmount,
    Uncordon,
)
from vsched.explain.edits.others import CreatePodGroup, CreatePriorityClass, EndJobs
from vsched.explain.edits.pods import AddPods, RemoveGates, SetDeviceAmount, SetRequest
from vsched.explain.edits.policy import SetArgument, SetOvercommit, SetThreshold, UseAction
from vsched.explain.edits.queues import (
    AddNodeGroup,
    CreateQueue,
    LowerGuarantee,
    OpenQueue,
    SetGroupLimit,
    SetJobLimit,
    SetQueueAmount,
    SetQueueWeight,
    SetReclaimable,
    SetWallTime,
)
from vsched.explain.edits.rules import DropRule, Tolerate, TolerateDevices
from vsched.explain.edits.subgroups import SetMinSubGroups, SetSubGroupSize, SetSubGroupTier
from vsched.explain.records import Change
from vsched.explain.situation import Situation, change_of
from vsched.explain.words import edits
from vsched.model.nodes.table import Taint
from vsched.model.snapshot import Snapshot
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy

GIB = 1 << 30
LIMITS = "vsched.io/max-running-jobs=2 vsched.io/max-running-jobs-per-user=1 vsched.io/max-wall-time=1h"
WORLD = f"""
node n1 cpu=8 memory=32Gi gpu=4
node n2 taint=gpu:yes
queue a capability=cpu:6 weight=2 guarantee=cpu:1 volcano.sh/nodegroup-resource-limits={{"g1":{{"cpu":"2"}}}} {LIMITS}
quota x/small requests.cpu=8 requests.memory=6Gi
pdb x/guard selector=job:a allowed=1
job x/b min=8 pods=8 cpu=2 queue=a minResources=cpu:16,memory:8Gi roles=ps:1,worker:7 role=worker
job x/ruled min=1 pods=1 cpu=1 selector=zone:z apart=b port=80
job x/g min=2
job x/close min=1
job x/named min=1
job x/parts min=9 minResources=cpu:9,gpu:9
pods x/g 2 cpu=1 gated
"""
WISHES = {"x/close": NetworkTopology(highest_tier=1), "x/named": NetworkTopology(tier_name="rack")}
POLICIES = (
    SubGroupPolicy("worker", 4, 2, match_keys=("w",), topology=NetworkTopology(highest_tier=1)),
    SubGroupPolicy("", 1, 1, match_keys=("v",), topology=NetworkTopology(tier_name="rack")),
)
"""The sub-groups of x/parts."""
PART = pods(
    "job x/part min=1 pods=1",
    asking(vgpu_number=1, vgpu_memory=50, vgpu_cores=20),
    **{"nvidia.com/use-gputype": "A100"},
)
SAID: list[tuple[Edit, str, str]] = [
    (SetMinMember("x/b", 6), "minMember 6 (2 fewer)", '{"spec":{"minMember":6}}'),
    (
        SetMinMember("x/b", 6, {"cpu": 12_000, "memory": 6 * GIB}),
        "minMember 6 (2 fewer), and minResources cpu 12, memory 6Gi",
        '{"spec":{"minMember":6,"minResources":{"cpu":"12","memory":"6Gi"}}}',
    ),
    (
        SetRoleMinimum("x/b", "worker", 5, 6),
        edits.minimum_of_role(5, "worker", 2, 6),
        '{"spec":{"minMember":6,"minTaskMember":{"worker":5}}}',
    ),
    (
        SetMinResources("x/b", {"memory": 4 * GIB}),
        "minResources memory 4Gi",
        '{"spec":{"minResources":{"memory":"4Gi"}}}',
    ),
    (
        SetVictimMinimum("x/b", 6, {"cpu": 12_000}),
        "minMember 6 of job x/b (now 8), and minResources cpu 12",
        '{"spec":{"minMember":6,"minResources":{"cpu":"12"}}}',
    ),
    (
        CreatePriorityClass("high", 10),
        edits.priority_class_created("high", 10),
        "kubectl create priorityclass high --value=10",
    ),
    (SetHighestTier("x/close", 2), "highestTierAllowed 2 (now 1)", '{"networkTopology":{"highestTierAllowed":2}}'),
    (
        SetHighestTier("x/named", 2),
        "highestTierAllowed 2 (now rack)",
        '{"networkTopology":{"highestTierAllowed":2,"highestTierName":null}}',
    ),
    (
        SetSubGroupTier("x/parts", 0, 2),
        edits.highest_tier_of_sub_groups(2, "worker", "1"),
        '[{"op":"test","path":"/spec/subGroupPolicy/0/name","value":"worker"},'
        '{"op":"test","path":"/spec/subGroupPolicy/0/networkTopology/highestTierAllowed","value":1},'
        '{"op":"add","path":"/spec/subGroupPolicy/0/networkTopology/highestTierAllowed","value":2}]',
    ),
    (
        SetSubGroupTier("x/parts", 1, 2),
        edits.highest_tier_of_sub_groups(2, "subGroupPolicy[1]", "rack"),
        '[{"op":"test","path":"/spec/subGroupPolicy/1/networkTopology/highestTierName","value":"rack"},'
        '{"op":"remove","path":"/spec/subGroupPolicy/1/networkTopology/highestTierName"},'
        '{"op":"add","path":"/spec/subGroupPolicy/1/networkTopology/highestTierAllowed","value":2}]',
    ),
    (
        SetMinSubGroups("x/parts", 0, 1, 5, {"cpu": 5000, "example.com/gpu": 5000}),
        edits.minimum_of_sub_groups(1, "worker", 1)
        + edits.and_min_member(5)
        + edits.and_min_resources("cpu 5, example.com/gpu 5"),
        '{"op":"test","path":"/spec/subGroupPolicy/0/minSubGroups","value":2},'
        '{"op":"add","path":"/spec/subGroupPolicy/0/minSubGroups","value":1},'
        '{"op":"add","path":"/spec/minMember","value":5},'
        '{"op":"add","path":"/spec/minResources/cpu","value":"5"},'
        '{"op":"add","path":"/spec/minResources/example.com~1gpu","value":"5"}]',
    ),
    (
        SetSubGroupSize("x/parts", 0, 3, 9),
        edits.size_of_sub_groups(3, "worker", 1),
        '{"op":"test","path":"/spec/subGroupPolicy/0/subGroupSize","value":4},'
        '{"op":"add","path":"/spec/subGroupPolicy/0/subGroupSize","value":3}]',
    ),
    (EndJobs(("x/b",)), edits.end_of("job x/b"), ""),
    (EndJobs(("x/b", "x/g", "x/h", "x/i")), edits.end_of("jobs x/b, x/g, x/h and 1 more"), ""),
    (
        SetRequest("x/b", "cpu", 1500),
        edits.request_of_pods("1500m", "cpu", "2") + edits.and_min_resources("cpu 12"),
        "",
    ),
    (SetRequest("x/g", "cpu", 500), edits.request_of_pods("500m", "cpu", "1"), ""),
    (SetJobQueue("x/b", "leaf"), edits.as_its_queue("leaf"), '{"spec":{"queue":"leaf"}}'),
    (SetPriority("x/b", 10, "high"), "priority class high", '{"spec":{"priorityClassName":"high"}}'),
    (SetPriority("x/b", 10), edits.priority(10, 0), ""),
    (
        Tolerate("x/b", "gpu", "yes"),
        edits.toleration("gpu=yes:NoSchedule"),
        """-p '[{"op":"add","path":"/spec/tolerations","value":[{"key":"gpu","operator":"Equal","value":"yes",""",
    ),
    (
        DropRule("x/ruled", "nodeSelector"),
        edits.rule_dropped("nodeSelector"),
        '{"spec":{"nodeSelector":null}}',
    ),
    (
        DropRule("x/ruled", "podAntiAffinity"),
        edits.rule_dropped("podAntiAffinity"),
        '{"spec":{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":null}}}}',
    ),
    (DropRule("x/b", "hostPorts"), "its host ports dropped", ""),
    (RemoveGates("x/g"), edits.GATES_REMOVED, '{"spec":{"schedulingGates":null}}'),
    (
        AddPods("x/b", "b.0", 1, "ps"),
        "1 more pod of role ps",
        '{"metadata":{"name":"b.0-more-ps-0","uid":null,"resourceVersion":null,'
        '"annotations":{"volcano.sh/task-spec":"ps"}},"spec":{"nodeName":null}}',
    ),
    (AddPods("x/b", "b.0", 2), "2 more pods", '"name":"b.0-more-1"'),
    (AddPods("x/b", "b.0", 20), "20 more pods", ""),
    (CreatePodGroup("x/new", "a"), edits.podgroup_created("x/new", "a"), "kubectl create -f -"),
    (CreateQueue("q"), "queue q created", "kubectl create -f -"),
    (OpenQueue("a"), "queue a opened", "vsched queue open a"),
    (
        SetQueueAmount("a", "capability", "cpu", 7500),
        "1500m more cpu in queue a (capability 7500m)",
        '{"spec":{"capability":{"cpu":"7500m"}}}',
    ),
    (
        SetQueueAmount("a", "deserved", "example.com/gpu", 2000),
        "2 more example.com/gpu in queue a (deserved 2)",
        '{"spec":{"deserved":{"example.com/gpu":"2"}}}',
    ),
    (
        SetQueueAmount("a", "guarantee", "cpu", 2000),
        "1 more cpu in queue a (guarantee 2)",
        '{"spec":{"guarantee":{"resource":{"cpu":"2"}}}}',
    ),
    (
        LowerGuarantee("a", "cpu", 500),
        edits.less_guaranteed("500m", "cpu", "a", "500m"),
        '{"spec":{"guarantee":{"resource":{"cpu":"500m"}}}}',
    ),
    (SetQueueWeight("a", 5), edits.weight(5, "a", 2), '{"spec":{"weight":5}}'),
    (SetJobLimit("a", 3), edits.running_jobs(3, "a", 2), "annotate queues.scheduling.volcano.sh a"),
    (
        SetJobLimit("a", 2, per_user=True),
        edits.running_jobs(2, "a", 1, per_user=True),
        "vsched.io/max-running-jobs-per-user=2 --overwrite",
    ),
    (
        SetWallTime("a", 5400.0),
        edits.wall_time("1h30m", "a", "1h"),
        "annotate queues.scheduling.volcano.sh a vsched.io/max-wall-time=1h30m --overwrite",
    ),
    (SetReclaimable("a"), "queue a made reclaimable", '{"spec":{"reclaimable":true}}'),
    (
        AddNodeGroup("a", "g2"),
        edits.node_group_added("g2", "a"),
        '{"spec":{"affinity":{"nodeGroupAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":["g2"]}}}}',
    ),
    (
        SetGroupLimit("a", "g1", "cpu", 3000),
        edits.more_on_node_group("1 more cpu", "a", "g1", "3"),
        'volcano.sh/nodegroup-resource-limits={"g1":{"cpu":"3"}}',
    ),
    (
        SetQuota("x", "small", "requests.cpu", 9000),
        edits.more_in_quota("1 more requests.cpu", "x/small", "9"),
        '{"spec":{"hard":{"requests.cpu":"9"}}}',
    ),
    (
        SetQuota("x", "small", "requests.memory", 7 * GIB),
        edits.more_in_quota("1Gi more requests.memory", "x/small", "7Gi"),
        '{"spec":{"hard":{"requests.memory":"7Gi"}}}',
    ),
    (
        SetConsumerLimit("x", "cpu", 6000),
        edits.limit_of_consumer("6", "cpu", "x/defaults"),
        '{"spec":{"hard":{"cpu":"6"}}}',
    ),
    (SetDeviceAmount("x/part", "memory", 40), edits.request_of_containers(40, "volcano.sh/vgpu-memory", 50), ""),
    (SetDeviceAmount("x/part", "cores", 10), edits.request_of_containers(10, "volcano.sh/vgpu-cores", 20), ""),
    (
        DropRule("x/part", "deviceWishes"),
        edits.rule_dropped("deviceWishes"),
        '{"metadata":{"annotations":{"nvidia.com/use-gputype":null}}}',
    ),
    (AllowDisruptions("x", "guard", 2), edits.more_evictions(1, "x/guard"), ""),
    (AllowDisruptions("x", "guard", 3), edits.more_evictions(2, "x/guard"), ""),
    (Uncordon(("n1", "n2")), "nodes n1, n2 uncordoned", "kubectl uncordon n1 n2"),
    (Uncordon(("a", "b", "c", "d", "e")), "nodes a, b, c and 2 more uncordoned", "kubectl uncordon a b c d e"),
    (
        RemoveTaint(("n2",), "gpu", "yes"),
        edits.taint_removed("gpu=yes:NoSchedule", "node n2"),
        "kubectl taint nodes n2 gpu=yes:NoSchedule-",
    ),
    (
        RemoveTaint(("n2",), "gpu", "", "NoExecute"),
        edits.taint_removed("gpu:NoExecute", "node n2"),
        "kubectl taint nodes n2 gpu:NoExecute-",
    ),
    (LabelNodes(("n1",), {"zone": "c"}), "node n1 labelled zone=c", "kubectl label nodes n1 zone=c --overwrite"),
    (SetNodeAmount("n1", "memory", 33 * GIB), edits.more_on_node("1Gi more memory", "n1"), ""),
    (SetNodeAmount("n1", "pods", 111), edits.more_on_node("1 more pod slot", "n1"), ""),
    (AddNodes("n1", 1), "1 more node like n1", ""),
    (AddNodes("n1", 3), "3 more nodes like n1", ""),
    (AddPoolNodes("h100", (PoolNode({}, (Taint("gpu"),), {"cpu": 1000}),), 8), edits.more_of_pool(8, "h100"), ""),
    (
        TolerateDevices("x/b", "burn-in", "yes"),
        edits.toleration_in_claims("burn-in=yes:NoSchedule"),
        "",
    ),
    (AddDevices("n1", "gpu", ("d", "p", "g"), 1), edits.more_devices(1, "gpu", "n1"), ""),
    (AddDevices("n1", "gpu", ("d", "p", "g"), 2), edits.more_devices(2, "gpu", "n1"), ""),
    (AddVolumes("x/data", 1), edits.more_volumes(1, "made", 3 << 30), ""),
    (AddVolumes("x/data", 2), edits.more_volumes(2, "made", 3 << 30), ""),
    (CreateVolumeClaims(("x/new",)), "PersistentVolumeClaim new created", ""),
    (CreateVolumeClaims(("x/a", "x/b")), "PersistentVolumeClaims a, b created", ""),
    (CreateVolumeClaims(tuple(f"x/{c}" for c in "abcde")), "PersistentVolumeClaims a, b, c and 2 more created", ""),
    (
        SetStorage("kube-system/capacity", 12 * GIB),
        edits.more_storage(2 << 30, "made", "kube-system/capacity"),
        "",
    ),
    (SetThreshold("cpu", 90.0), edits.usage_threshold("cpu", 90), ""),
    (SetOvercommit(1.3), edits.overcommit_factor(1.3), ""),
    (SetArgument("binpack", "binpack.cpu", 3), edits.argument("binpack.cpu", "3", "binpack"), ""),
    (UseAction("reclaim"), edits.action("reclaim"), ""),
]


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    volumes = [claim("data", "3Gi", namespace="x", storage_class="made"), storage_capacity(storage_class="made")]
    found = mirror([*manifests(WORLD), *volumes, *PART]).snapshot(NOW)
    for key, wish in WISHES.items():
        found.jobs[key].spec = msgspec.structs.replace(found.jobs[key].spec, topology=wish)
    parts = found.jobs["x/parts"]
    parts.spec = msgspec.structs.replace(parts.spec, sub_groups=POLICIES)
    return found


@pytest.mark.parametrize(("edit", "sentence"), [pytest.param(row[0], row[1], id=row[1]) for row in SAID])
def test_an_edit_is_told_with_what_there_is_more_or_less_of(snapshot: Snapshot, edit: Edit, sentence: str) -> None:
    assert edit.sentence(Situation(snapshot, DEFAULT_POLICY)) == sentence


@pytest.mark.parametrize(("edit", "part"), [pytest.param(row[0], row[2], id=row[1]) for row in SAID])
def test_a_command_is_one_that_a_shell_takes(snapshot: Snapshot, edit: Edit, part: str) -> None:
    line = edit.command(snapshot)
    assert part in line
    assert bool(line) is bool(part), line
    for one in line.splitlines():
        words = shlex.split(one)
        for word in words:
            if word.startswith("{"):
                json.loads(word)


@pytest.mark.parametrize("edit", [pytest.param(row[0], id=row[1]) for row in SAID])
def test_programs_get_an_edit_back_as_it_was(edit: Edit) -> None:
    change = Change("said", (edit,))
    assert msgspec.json.decode(msgspec.json.encode(change), type=Change) == change


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(CreateQueue("q'; rm -rf ~ #"), id="a quote"),
        pytest.param(CreateQueue("$(reboot)"), id="a command in a command"),
        pytest.param(CreateQueue("--all"), id="a flag"),
        pytest.param(SetQueueWeight("a\nreboot", 2), id="a line of its own"),
        pytest.param(SetQueueAmount("a", "capability", "x\u202ey/z", 1000), id="a mark that turns text around"),
        pytest.param(SetJobQueue("x/b", "`id`"), id="backquotes"),
        pytest.param(LabelNodes(("n1",), {"zone": "a b"}), id="a blank in a label"),
        pytest.param(Uncordon(("n1", "-l")), id="a flag among nodes"),
        pytest.param(RemoveTaint(("n1",), "k", "\x1b[2J"), id="a terminal's own words"),
    ],
)
def test_of_a_name_that_kubernetes_would_not_let_in_no_command_is_made(snapshot: Snapshot, edit: Edit) -> None:
    assert edit.command(snapshot) == ""


def test_lists_are_changed_as_long_as_they_are_as_they_were_seen() -> None:
    text = WORLD.replace("queue a ", "queue a required=g1,g3 antiRequired=g4,g2 ")
    line = AddNodeGroup("a", "g2").command(mirror(manifests(text)).snapshot(NOW))
    steps = json.loads(shlex.split(line)[-1])
    wanted = "/spec/affinity/nodeGroupAffinity/requiredDuringSchedulingIgnoredDuringExecution"
    avoided = "/spec/affinity/nodeGroupAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/1"
    assert steps == [
        {"op": "test", "path": avoided, "value": "g2"},
        {"op": "remove", "path": avoided},
        {"op": "test", "path": wanted, "value": ["g1", "g3"]},
        {"op": "add", "path": f"{wanted}/-", "value": "g2"},
    ]


def test_limits_of_other_groups_stay_as_they_are_written() -> None:
    limits = '{"g1":{"cpu":"2","memory":"9G"},"g2":{"cpu":1}}'
    text = WORLD.replace('{"g1":{"cpu":"2"}}', limits)
    line = SetGroupLimit("a", "g1", "cpu", 3000).command(mirror(manifests(text)).snapshot(NOW))
    written = shlex.split(line)[4].partition("=")[2]
    assert json.loads(written) == {"g1": {"cpu": "3", "memory": "9G"}, "g2": {"cpu": 1}}


def test_every_edit_there_is_has_words_and_is_in_the_table() -> None:
    assert {type(edit) for edit, _, _ in SAID} == set(kinds())


PODS_MADE_AGAIN = """
job x/kept min=1 pods=1 cpu=1 tolerates=other
job x/none min=1 pods=1 cpu=1
"""


def test_a_toleration_is_added_to_those_there_are(snapshot: Snapshot) -> None:
    world = mirror(manifests(WORLD + PODS_MADE_AGAIN)).snapshot(NOW)
    assert '"path":"/spec/tolerations/-"' in Tolerate("x/kept", "gpu", "yes").command(world)
    assert '"path":"/spec/tolerations"' in Tolerate("x/none", "gpu", "yes").command(world)


def test_pods_that_a_controller_makes_are_not_made_by_hand() -> None:
    objects = manifests(WORLD + PODS_MADE_AGAIN)
    for found in objects:
        if found["kind"] == "Pod":
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
            found["metadata"]["ownerReferences"] = [owner]
    world = mirror(objects).snapshot(NOW)
    for edit in (Tolerate("x/none", "gpu", "yes"), DropRule("x/ruled", "nodeSelector"), AddPods("x/b", "b.0", 1)):
        assert edit.command(world) == ""


MINIMUM, QUEUE = "scheduling.volcano.sh/group-min-member", "scheduling.volcano.sh/queue-name"
TIER = "volcano.sh/network-topology-highest-tier"


@pytest.mark.parametrize(
    ("fields", "edit", "message", "line"),
    [
        pytest.param(
            {"made_for": "LeaderWorkerSet llm (group 0)", "gang": "LeaderWorkerSet llm"},
            SetMinMember("x/b", 6),
            f"annotation {MINIMUM}: 6 on LeaderWorkerSet x/llm (2 fewer)",
            f"kubectl annotate leaderworkerset llm -n x {MINIMUM}=6 --overwrite",
            id="the minimum of a gang, on the owner that it was found by",
        ),
        pytest.param(
            {"made_for": "ReplicaSet web"},
            SetJobQueue("x/b", "poor"),
            f"annotation {QUEUE}: poor on ReplicaSet x/web",
            f"kubectl annotate replicaset web -n x {QUEUE}=poor --overwrite",
            id="the queue of a workload's pods",
        ),
        pytest.param(
            {"made_for": "ReplicaSet web"},
            SetHighestTier("x/b", 2),
            f"annotation {TIER}: 2 on ReplicaSet x/web",
            f"kubectl annotate replicaset web -n x {TIER}=2 --overwrite",
            id="how close they are to be",
        ),
        pytest.param(
            {"made_for": "ReplicaSet web", "said_by_pods": (MINIMUM,)},
            SetMinMember("x/b", 6),
            f"annotation {MINIMUM}: 6 on its pods (2 fewer)",
            f"kubectl annotate pod b.0 b.1 b.2 b.3 b.4 b.5 b.6 b.7 -n x {MINIMUM}=6 --overwrite",
            id="pods that say it themselves go before their owner",
        ),
        pytest.param(
            {"made_for": "Rollout web"},
            SetMinMember("x/b", 6),
            f"annotation {MINIMUM}: 6 on its pods (2 fewer)",
            f"kubectl annotate pod b.0 b.1 b.2 b.3 b.4 b.5 b.6 b.7 -n x {MINIMUM}=6 --overwrite",
            id="nobody reads the annotations of a controller of an unknown kind",
        ),
        pytest.param(
            {"made_for": "ReplicaSet web"}, SetPriority("x/b", 9, "high"), "priority class high", "", id="not a class"
        ),
    ],
)
def test_what_a_podgroup_takes_from_its_owner_is_changed_there(
    fields: dict[str, Any], edit: Edit, message: str, line: str
) -> None:
    made = mirror(manifests(WORLD)).snapshot(NOW)
    job = made.jobs["x/b"].clone()
    job.spec = msgspec.structs.replace(job.spec, made=True, **fields)
    made.jobs["x/b"] = job  # type: ignore[index]
    assert edit.sentence(Situation(made, DEFAULT_POLICY)) == message
    assert edit.command(made) == line


def test_a_pod_that_is_made_again_does_not_name_the_podgroup_that_goes_with_the_old_one() -> None:
    world = mirror(manifests(WORLD + PODS_MADE_AGAIN)).snapshot(NOW)
    edit, nameless = (
        Tolerate("x/none", "gpu", "yes"),
        "kubectl annotate --local -f - scheduling.k8s.io/group-name- -o json",
    )
    assert nameless not in edit.command(world)
    world.jobs["x/none"].spec = msgspec.structs.replace(world.jobs["x/none"].spec, made=True)
    assert f"| {nameless} | kubectl replace --force -f -" in edit.command(world)


@pytest.mark.parametrize(
    ("edit", "part"),
    [
        pytest.param(SetMinMember("x/b", 6, {"cpu": 12_000}), '{"spec":{"minAvailable":6}}', id="its minimum"),
        pytest.param(SetVictimMinimum("x/b", 6), '{"spec":{"minAvailable":6}}', id="its minimum, for others"),
        pytest.param(SetPriority("x/b", 10, "high"), '{"spec":{"priorityClassName":"high"}}', id="its class"),
        pytest.param(SetPriority("x/b", 10), "", id="a priority without a class"),
        pytest.param(SetRoleMinimum("x/b", "worker", 5, 6), "", id="the minimum of a task"),
        pytest.param(SetMinResources("x/b", {"cpu": 1000}), "", id="what follows from its tasks"),
    ],
)
def test_what_a_volcano_job_writes_is_changed_in_the_job(edit: Edit, part: str) -> None:
    objects = manifests(WORLD)
    group = next(one for one in objects if one["kind"] == "PodGroup" and one["metadata"]["name"] == "b")
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
    group["metadata"]["ownerReferences"] = [owner]
    line = edit.command(mirror(objects).snapshot(NOW))
    assert bool(line) is bool(part)
    assert part in line
    assert not line or line.startswith("kubectl patch jobs.batch.volcano.sh train -n x --type merge")


def test_several_edits_are_one_change_with_a_command_only_if_all_have_one(snapshot: Snapshot) -> None:
    situation = Situation(snapshot, DEFAULT_POLICY)
    both = change_of(situation, [Uncordon(("n1",)), SetQueueWeight("a", 3)])
    assert both.message == "node n1 uncordoned and weight 3 for queue a (now 2)"
    assert len(both.command.splitlines()) == 2
    assert change_of(situation, [Uncordon(("n1",)), AddNodes("n1", 1)]).command == ""


def test_a_later_edit_may_be_about_what_an_earlier_one_makes(snapshot: Snapshot) -> None:
    made = change_of(Situation(snapshot, DEFAULT_POLICY), [CreateQueue("q"), SetQueueWeight("q", 3)])
    assert made.message == "queue q created and weight 3 for queue q (now 1)"
