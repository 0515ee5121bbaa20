"""A snapshot with an edit made is the one that the mirror makes of objects that were edited so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import clusters, seeded
from tests.support.examples import examples
from tests.support.parties import party, world
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_of, reading
from tests.support.seen import seen
from vsched.arbitrator.ceilings import ceilings_of
from vsched.arbitrator.division.divide import divide
from vsched.errors import BadInput
from vsched.explain.edits.base import Edit
from vsched.explain.edits.jobs import (
    SetJobQueue,
    SetMinMember,
    SetMinResources,
    SetPriority,
    SetRoleMinimum,
    SetVictimMinimum,
)
from vsched.explain.edits.namespaces import AllowDisruptions, SetQuota
from vsched.explain.edits.nodes import AddNodes, LabelNodes, RemoveTaint, SetNodeAmount, Uncordon
from vsched.explain.edits.others import CreatePriorityClass
from vsched.explain.edits.pods import AddPods, RemoveGates, SetRequest
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
from vsched.explain.edits.rules import DropRule, Tolerate
from vsched.explain.edits.subgroups import SetMinSubGroups
from vsched.explain.situation import Situation, apply, apply_all
from vsched.framework.cycle import run_cycle
from vsched.mirror.whatif import words
from vsched.model.amounts.resources import CPU
from vsched.model.frozen import freeze
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.plugins.overcommit import OvercommitArgs
from vsched.plugins.usage import UsageArgs
from vsched.settings.built_in import REGISTRY

POLICY = policy_of(
    "priority gang conformance pdb",
    "overcommit drf predicates capacity nodeorder nodegroup resourcequota usage",
    actions="enqueue, allocate, preempt, reclaim, backfill",
)


def snapshot_of(text: str) -> Snapshot:
    cache = mirror(manifests(text))
    cache.inputs.use(reading(text))
    return cache.snapshot(NOW)


def decided(snapshot: Snapshot) -> CycleReport:
    return run_cycle(snapshot, POLICY, REGISTRY)


LIMITS = "vsched.io/max-running-jobs=2 vsched.io/max-running-jobs-per-user=3 vsched.io/max-wall-time=1h"
WORLD = f"""
class high 9
node n1 cpu=8 memory=32Gi gpu=4 zone=a
node n2 cpu=4 cordoned zone=b
node n3 cpu=4 taint=gpu:yes zone=c
queue top capability=cpu:20
queue a parent=top weight=2 capability=cpu:6,gpu:2 deserved=cpu:4 guarantee=cpu:1 {LIMITS}
queue b state=Closed reclaimable=false
quota x/small requests.cpu=8 used=requests.cpu:USED
quota y/limits limits.memory=1Gi
pdb x/guard selector=job:old allowed=0
job x/old min=2 pods=4 cpu=1 on=n1 queue=b phase=Running
job x/new min=3 pods=3 cpu=2 memory=2Gi queue=a minResources=cpu:6,memory:6Gi roles=ps:1,worker:2 role=worker
job x/far min=1 pods=1 cpu=1 queue=a selector=zone:z port=80 apart=old phase=Inqueue
job y/lost min=2 pods=2 cpu=1 queue=nowhere
job y/shut min=1 pods=1 cpu=1 gated
job y/few min=2 pods=1 cpu=1 phase=Inqueue age=9
job y/named min=1 pods=1 cpu=1 class=soon
"""

GIB = 1 << 30
SAME: list[tuple[str, Edit, str, str]] = [
    ("a smaller minimum", SetMinMember("y/few", 1), "few min=2", "few min=1"),
    (
        "a smaller minimum, and less that is stated with it",
        SetMinMember("x/new", 2, {"cpu": 4000, "memory": 4 * GIB}),
        "new min=3 pods=3 cpu=2 memory=2Gi queue=a minResources=cpu:6,memory:6Gi",
        "new min=2 pods=3 cpu=2 memory=2Gi queue=a minResources=cpu:4,memory:4Gi",
    ),
    (
        "less that is stated of one resource",
        SetMinResources("x/new", {"memory": 4 * GIB}),
        "minResources=cpu:6,memory:6Gi",
        "minResources=cpu:6,memory:4Gi",
    ),
    ("a smaller minimum of another job", SetVictimMinimum("x/old", 1), "old min=2", "old min=1"),
    (
        "a class that was missing",
        CreatePriorityClass("soon", 7),
        "class high 9",
        "class high 9\nclass soon 7",
    ),
    (
        "a smaller minimum of a role",
        SetRoleMinimum("x/new", "worker", 1, 2),
        "new min=3 pods=3 cpu=2 memory=2Gi queue=a minResources=cpu:6,memory:6Gi roles=ps:1,worker:2",
        "new min=2 pods=3 cpu=2 memory=2Gi queue=a minResources=cpu:6,memory:6Gi roles=ps:1,worker:1",
    ),
    (
        "smaller pods, and what the minimum states",
        SetRequest("x/new", "cpu", 1500),
        "pods=3 cpu=2 memory=2Gi queue=a minResources=cpu:6",
        "pods=3 cpu=1500m memory=2Gi queue=a minResources=cpu:4500m",
    ),
    ("another queue", SetJobQueue("y/lost", "a"), "queue=nowhere", "queue=a"),
    ("a priority", SetPriority("y/few", 9, "high"), "few min=2", "few min=2 class=high"),
    ("a toleration", Tolerate("y/few", "gpu", "yes"), "few min=2", "few tolerates=gpu min=2"),
    ("no selector", DropRule("x/far", "nodeSelector"), " selector=zone:z", ""),
    ("no host port", DropRule("x/far", "hostPorts"), " port=80", ""),
    ("no anti-affinity", DropRule("x/far", "podAntiAffinity"), " apart=old", ""),
    ("no gates", RemoveGates("y/shut"), " gated", ""),
    ("a queue that was missing", CreateQueue("nowhere"), "class high 9", "class high 9\nqueue nowhere"),
    ("a queue that was closed", OpenQueue("b"), "queue b state=Closed", "queue b state=Open"),
    ("more capability", SetQueueAmount("a", "capability", "cpu", 7500), "capability=cpu:6,", "capability=cpu:7500m,"),
    (
        "more capability of the queue above",
        SetQueueAmount("top", "capability", "cpu", 21000),
        "capability=cpu:20",
        "capability=cpu:21",
    ),
    ("more deserved", SetQueueAmount("a", "deserved", "cpu", 5000), "deserved=cpu:4", "deserved=cpu:5"),
    (
        "deserved of another resource",
        SetQueueAmount("a", "deserved", "example.com/gpu", 1000),
        "deserved=cpu:4",
        "deserved=cpu:4,gpu:1",
    ),
    ("more guaranteed", SetQueueAmount("a", "guarantee", "cpu", 2000), "guarantee=cpu:1", "guarantee=cpu:2"),
    ("less guaranteed", LowerGuarantee("a", "cpu", 500), "guarantee=cpu:1", "guarantee=cpu:500m"),
    ("more weight", SetQueueWeight("a", 5), "weight=2", "weight=5"),
    ("more running jobs", SetJobLimit("a", 5), "running-jobs=2", "running-jobs=5"),
    ("more of each user", SetJobLimit("a", 5, per_user=True), "per-user=3", "per-user=5"),
    ("a longer wall time", SetWallTime("a", 5400.0), "max-wall-time=1h", "max-wall-time=1h30m"),
    ("lending", SetReclaimable("b"), "reclaimable=false", "reclaimable=true"),
    ("a group of nodes", AddNodeGroup("a", "g1"), "guarantee=cpu:1", "guarantee=cpu:1 required=g1"),
    (
        "a higher limit on a group",
        SetGroupLimit("a", "g1", "cpu", 3000),
        "guarantee=cpu:1",
        'guarantee=cpu:1 volcano.sh/nodegroup-resource-limits={"g1":{"cpu":"3"}}',
    ),
    ("a larger quota", SetQuota("x", "small", "requests.cpu", 9000), "requests.cpu=8", "requests.cpu=9"),
    ("a budget that allows more", AllowDisruptions("x", "guard", 2), "allowed=0", "allowed=2"),
    ("no cordon", Uncordon(("n2",)), " cordoned", ""),
    ("no taint", RemoveTaint(("n3",), "gpu", "yes"), " taint=gpu:yes", ""),
    ("a label", LabelNodes(("n3",), {"zone": "z"}), "zone=c", "zone=z"),
    ("a larger node", SetNodeAmount("n1", "cpu", 9000), "n1 cpu=8", "n1 cpu=9"),
    ("a resource a node did not have", SetNodeAmount("n2", "example.com/gpu", 1000), "n2 cpu=4", "n2 cpu=4 gpu=1"),
    (
        "more nodes",
        AddNodes("n1", 2),
        "class high 9",
        "class high 9\nnode n1-new-1 cpu=8 memory=32Gi gpu=4 zone=a\nnode n1-new-2 cpu=8 memory=32Gi gpu=4 zone=a",
    ),
    (
        "a node like one that is cordoned is open",
        AddNodes("n2", 1),
        "class high 9",
        "class high 9\nnode n2-new-1 cpu=4 zone=b",
    ),
]


def charged(text: str) -> Snapshot:
    """The cluster, whose quota counts all pods of its namespace."""
    pods = [task for job in snapshot_of(text.replace("USED", "0")).jobs.values() for task in job.tasks.values()]
    used = sum(dict(task.shape.request)[CPU] for task in pods if task.namespace == "x" and not task.finished)
    return snapshot_of(text.replace("USED", f"{used}m"))


@pytest.mark.parametrize(("edit", "before", "after"), [pytest.param(*row[1:], id=row[0]) for row in SAME])
def test_an_edit_is_what_the_mirror_would_see(edit: Edit, before: str, after: str) -> None:
    assert WORLD.count(before) == 1, before
    edited, expected = (
        apply(Situation(charged(WORLD), POLICY), edit).snapshot,
        charged(WORLD.replace(before, after)),
    )
    assert seen(edited) == seen(expected)
    assert decided(edited) == decided(expected)


@pytest.mark.parametrize("edit", [pytest.param(row[1], id=row[0]) for row in SAME])
def test_what_is_edited_stays_as_it_is(edit: Edit) -> None:
    snapshot = charged(WORLD)
    before = seen(freeze(snapshot))
    apply(Situation(snapshot, POLICY), edit)
    assert seen(snapshot) == before


def test_a_cluster_with_more_nodes_is_divided_anew() -> None:
    """What a namespace may hold is not said to need a limit of its Consumer, where nothing but room is missing."""

    def divided(cpus: int) -> Snapshot:
        made = world(f"cpu={cpus}", [party("a", held="cpu=3", waiting="cpu=4"), party("b", held="cpu=1")])
        return replace(made, ceilings=ceilings_of(divide(made), made.axis))

    few, many = divided(4), divided(8)
    assert few.ceilings != many.ceilings
    edited = apply(Situation(few, DEFAULT_POLICY), SetNodeAmount("n1", "cpu", 8000)).snapshot
    assert edited.ceilings == many.ceilings
    nobody = replace(few, arbitration=None)
    assert apply(Situation(nobody, DEFAULT_POLICY), SetNodeAmount("n1", "cpu", 8000)).snapshot.ceilings == few.ceilings


def test_pods_that_are_made_are_like_one_there_is() -> None:
    snapshot = snapshot_of("node n1\njob x/few min=3 pods=1 cpu=2")
    job = apply(Situation(snapshot, POLICY), AddPods("x/few", "few.0", 2)).snapshot.jobs["x/few"]
    assert len(job.pending) == 3
    assert len({task.shape for task in job.pending.values()}) == 1
    assert dict(job.pending_request)[0] == 6000


def test_usage_of_nodes_follows_their_rows() -> None:
    snapshot = snapshot_of("node n1\nnode n3\nusage n1 cpu=10 memory=20\nusage n3 cpu=30 memory=40")
    usage = apply(Situation(snapshot, POLICY), AddNodes("n1", 1)).snapshot.nodes.usage
    assert usage is not None
    measured = dict(zip(("n1", "n1-new-1", "n3"), usage.cpu["5m"].average.tolist(), strict=True))
    assert (measured["n1"], measured["n3"]) == (10.0, 30.0)
    assert measured["n1-new-1"] != measured["n1-new-1"], "nothing is known of a new node"


def test_the_policy_is_edited_as_its_file_would_be() -> None:
    policy = apply_all(
        Situation(snapshot_of("node n1"), DEFAULT_POLICY), [UseAction("reclaim"), SetOvercommit(2.0)]
    ).policy
    assert policy.actions == ("enqueue", "allocate", "reclaim", "backfill")
    overcommit = policy.plugin("overcommit")
    assert overcommit is not None
    assert overcommit.args == OvercommitArgs(2.0)


def test_an_argument_of_any_plugin_can_be_set_by_its_key() -> None:
    policy = apply(Situation(snapshot_of("node n1"), DEFAULT_POLICY), SetArgument("overcommit", "overcommit-factor", 3))
    overcommit = policy.policy.plugin("overcommit")
    assert overcommit is not None
    assert overcommit.args == OvercommitArgs(3.0)


def test_an_action_that_runs_already_runs_once() -> None:
    situation = Situation(snapshot_of("node n1"), POLICY)
    assert apply(situation, UseAction("reclaim")).policy == situation.policy


def test_one_threshold_is_raised_and_others_stay() -> None:
    policy = apply(Situation(snapshot_of("node n1"), _with_usage()), SetThreshold("cpu", 90.0)).policy
    usage = policy.plugin("usage")
    assert usage is not None
    assert isinstance(usage.args, UsageArgs)
    assert usage.args.thresholds == {"cpu": 90.0, "mem": 70.0}


def _with_usage() -> Any:
    situation = Situation(snapshot_of("node n1"), POLICY)
    return apply_all(situation, [SetThreshold("cpu", 80.0), SetThreshold("mem", 70.0)]).policy


@pytest.mark.parametrize(
    ("edit", "names"),
    [
        pytest.param(SetMinMember("x/none", 1), "job x/none", id="no such job"),
        pytest.param(
            SetMinSubGroups("x/new", 0, 1, 1), "job x/new: its spec has no subGroupPolicy.0.", id="no such policy"
        ),
        pytest.param(OpenQueue("none"), "queue none", id="no such queue"),
        pytest.param(Uncordon(("none",)), "node none", id="no such node"),
        pytest.param(AddPods("x/new", "none", 1), "pod x/none", id="no such pod"),
        pytest.param(SetThreshold("cpu", 1.0), "plugin usage", id="no such plugin"),
        pytest.param(SetArgument("gang", "size", 1.0), words.no_argument("gang", "size"), id="no such argument"),
    ],
)
def test_what_does_not_exist_is_named(edit: Edit, names: str) -> None:
    with pytest.raises(BadInput, match=f"^{names}(: |$)"):
        apply(Situation(charged(WORLD), DEFAULT_POLICY), edit)


@settings(max_examples=examples(15), deadline=None)
@given(clusters(), st.integers(1, 4), seeded)
def test_nodes_added_to_any_cluster_are_nodes_there_were(text: str, count: int, random: Any) -> None:
    names = [line.split()[1] for line in text.splitlines() if line.startswith("node ")]
    like = random.choice(names)
    line = next(line for line in text.splitlines() if line.startswith(f"node {like} "))
    fresh = [line.replace(like, f"{like}-new-{number}", 1).replace(" cordoned", "") for number in range(1, count + 1)]
    edited = apply(Situation(snapshot_of(text), POLICY), AddNodes(like, count)).snapshot
    expected = snapshot_of("\n".join([text, *fresh]))
    assert seen(edited) == seen(expected)
    assert decided(edited) == decided(expected)
