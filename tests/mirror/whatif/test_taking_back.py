"""A mirror that has tried other changes shows what one shows that was made for these alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import NOW, manifests, mirror, reading
from tests.support.seen import placed
from tests.support.views import view
from vsched.errors import BadInput
from vsched.explain.edits.jobs import SetJobQueue, SetMinMember, SetPriority, SetVictimMinimum
from vsched.explain.edits.namespaces import AllowDisruptions, SetQuota
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
from vsched.explain.edits.pods import AddPods, LetIn, RemoveGates, SetRequest
from vsched.explain.edits.queues import AddNodeGroup, CreateQueue, OpenQueue, SetQueueAmount
from vsched.explain.edits.rules import DropRule, Tolerate
from vsched.mirror.whatif.editor import ClusterChange, ClusterEditor
from vsched.model.frozen import freeze
from vsched.model.snapshot import Snapshot

WORLD = """
class high 9
node n1 cpu=8 memory=32Gi gpu=4 zone=a
node n2 cpu=4 cordoned zone=b
node n3 cpu=4 taint=gpu:yes zone=c
usage n1 cpu=70 memory=20
queue top capability=cpu:20
queue a parent=top weight=2 capability=cpu:6,gpu:2 deserved=cpu:4 guarantee=cpu:1
queue b state=Closed reclaimable=false
quota x/small requests.cpu=8 used=requests.cpu:3
pdb x/guard selector=job:old allowed=0
job x/old min=2 pods=4 cpu=1 on=n1 queue=b phase=Running
job x/new min=3 pods=3 cpu=2 memory=2Gi queue=a minResources=cpu:6,memory:6Gi
job x/far min=1 pods=1 cpu=1 queue=a selector=zone:z port=80 apart=old phase=Inqueue
job y/lost min=2 pods=2 cpu=1 queue=nowhere
job y/shut min=1 pods=1 cpu=1 gated
job y/named min=1 pods=1 cpu=1 class=soon
pods y/stray 2 cpu=1
"""
EDITS: list[ClusterChange] = [
    SetMinMember("x/new", 2, {"cpu": 4000}),
    SetVictimMinimum("x/old", 1),
    EndJobs(("x/old", "x/far")),
    SetRequest("x/new", "cpu", 1000),
    SetJobQueue("y/lost", "a"),
    SetPriority("x/far", 9, "high"),
    SetPriority("x/new", 7),
    CreatePriorityClass("soon", 3),
    CreatePodGroup("y/stray", "a", 2),
    Tolerate("x/far", "gpu", "yes"),
    DropRule("x/far", "nodeSelector"),
    RemoveGates("y/shut"),
    LetIn("x/new"),
    AddPods("x/new", "new.0", 2),
    CreateQueue("nowhere"),
    OpenQueue("b"),
    SetQueueAmount("a", "capability", "cpu", 9000),
    AddNodeGroup("a", "g1"),
    SetQuota("x", "small", "requests.cpu", 9000),
    AllowDisruptions("x", "guard", 2),
    Uncordon(("n2",)),
    RemoveTaint(("n3",), "gpu", "yes"),
    LabelNodes(("n1", "n3"), {"zone": "z"}),
    SetNodeAmount("n1", "cpu", 9000),
    AddNodes("n1", 2),
    AddPoolNodes("p", (PoolNode({"zone": "z"}, (), {"cpu": 8000, "memory": 1 << 30, "pods": 10}),), 2),
]


def origin() -> Snapshot:
    cache = mirror(manifests(WORLD))
    cache.inputs.use(reading(WORLD))
    return freeze(cache.snapshot(NOW))


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.lists(st.sampled_from(range(len(EDITS))), max_size=4, unique=True), min_size=1, max_size=5))
def test_what_was_tried_before_leaves_nothing_behind(tries: list[list[int]]) -> None:
    snapshot, cluster = origin(), ClusterEditor(origin())
    for chosen in tries:
        edits = [EDITS[number] for number in chosen]
        shown, alone = cluster.edited(edits), ClusterEditor(snapshot).edited(edits)
        assert view(shown) == view(alone)
        assert placed(shown) == placed(alone)
    assert view(cluster.edited(())) == view(snapshot)


@pytest.mark.parametrize(
    "edit", [pytest.param(edit, id=f"{number} {type(edit).__name__}") for number, edit in enumerate(EDITS)]
)
def test_pods_keep_their_order_in_their_job(edit: ClusterChange) -> None:
    snapshot = origin()
    cluster = ClusterEditor(snapshot)
    cluster.edited([edit])
    again = cluster.edited(())
    assert {key: list(job.pending) for key, job in again.jobs.items()} == {
        key: list(job.pending) for key, job in snapshot.jobs.items()
    }


def test_nodes_that_are_as_they_were_are_known_as_before() -> None:
    snapshot = origin()
    cluster = ClusterEditor(snapshot)
    assert cluster.edited([AddNodes("n1", 1), Uncordon(("n2",))]).nodes.statics is not snapshot.nodes.statics
    assert cluster.edited(()).nodes.statics is snapshot.nodes.statics


def test_a_class_that_was_there_before_stays() -> None:
    cluster = ClusterEditor(origin())
    assert cluster.edited([CreatePriorityClass("high", 3)]).priority_classes["high"].value == 9
    assert cluster.edited(()).priority_classes["high"].value == 9


def test_an_edit_that_cannot_be_made_changes_nothing() -> None:
    cluster = ClusterEditor(origin())
    before = view(cluster.edited([SetMinMember("x/new", 1)]))
    with pytest.raises(BadInput, match="node none: "):
        cluster.edit(LabelNodes(("n1", "none"), {"zone": "z"}))
    assert view(cluster.edited([SetMinMember("x/new", 1)])) == before
