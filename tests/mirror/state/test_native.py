"""Kubernetes' own PodGroups in the mirror: what they say, which queue they are in, and what speaks against them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import builders as make
from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY, NOW
from tests.support.views import view
from vsched import api
from vsched.errors import BadObject
from vsched.framework.cycle import run_cycle
from vsched.mirror.ingest.native import native_record_of
from vsched.mirror.ingest.words import fields as fields_words
from vsched.mirror.ingest.words import groups as groups_words
from vsched.mirror.mirror import Mirror
from vsched.mirror.state import words as state_words
from vsched.mirror.state.native.subgroups import sub_groups_of
from vsched.mirror.stores import MirrorSettings
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.model.dump.cycle import Recording, decode, encode
from vsched.model.frozen import freeze
from vsched.model.jobs.native import (
    API_GROUP,
    ChildGroup,
    NativeGroup,
    NativeName,
    keys_named,
    native_key,
    native_name,
    title_of,
)
from vsched.model.jobs.spec import Condition, JobSpec
from vsched.model.snapshot import Snapshot
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy
from vsched.settings.built_in import REGISTRY

Fields = dict[str, Any]
QUEUE, LABEL = "scheduling.volcano.sh/queue-name", "kueue.x-k8s.io/queue-name"
KEY, ROOT = native_key("ns", "g"), native_key("ns", "root", composite=True)
GANG, BASIC = {"gang": {"minCount": 3}}, {"basic": {}}
NEWER, OLDER = f"{API_GROUP}/v1beta1", f"{API_GROUP}/v1alpha2"


def named(names: str) -> Fields:
    """Metadata that names a queue: ``annotation=a``, ``label=b``, both or neither."""
    words = dict(word.split("=") for word in names.split())
    found: Fields = {}
    if "annotation" in words:
        found["annotations"] = {QUEUE: words["annotation"]}
    if "label" in words:
        found["labels"] = {LABEL: words["label"]}
    return found


def group(name: str = "g", version: str = NEWER, metadata: Fields | None = None, **spec: Any) -> Fields:
    fields = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "generation": 4, **(metadata or {})}
    asked = {"schedulingPolicy": GANG, **spec}
    return {"apiVersion": version, "kind": "PodGroup", "metadata": fields, "spec": asked}


def tree(name: str = "root", minimum: int = 2, **spec: Any) -> Fields:
    found = group(name, **{"schedulingPolicy": {"gang": {"minGroupCount": minimum}}, **spec})
    return {**found, "kind": "CompositePodGroup"}


def pod(name: str = "p", of: str = "g", metadata: Fields | None = None, **spec: Any) -> Fields:
    return make.pod(name, metadata=metadata or {}, spec={"schedulingGroup": {"podGroupName": of}, **spec})


def tell(cache: Mirror, fields: Fields, type: str = "ADDED") -> None:
    kind = api.kind_of(fields.get("apiVersion", ""), fields["kind"])
    cache.intake.apply(kind, type, api.read(kind, msgspec.json.encode(fields)))


def mirror(*objects: Fields) -> Mirror:
    cache = Mirror(MirrorSettings(frozenset({"volcano"})))
    for fields in objects:
        tell(cache, fields)
    return cache


def spec_of(cache: Mirror, key: str = KEY) -> JobSpec:
    return cache.snapshot(0.0).jobs[key].spec


def record(fields: Fields) -> Any:
    kind = api.kind_of(fields["apiVersion"], fields["kind"])
    found = api.decode(kind, msgspec.json.encode(fields))
    assert isinstance(found, api.NativePodGroup | api.CompositePodGroup)
    return native_record_of(found, [])


# -- what a group says -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "gang", "minimum", "whole"),
    [
        pytest.param(group(), True, 3, False, id="a gang has its minCount"),
        pytest.param(group(schedulingPolicy=BASIC), False, 1, False, id="basic has no minimum: a pod alone may start"),
        pytest.param(tree(minimum=5), True, 5, False, id="a tree has its minGroupCount"),
        pytest.param(group(disruptionMode={"all": {}}), True, 3, True, id="all: the pods leave together"),
        pytest.param(group(disruptionMode={"single": {}}), True, 3, False, id="single: they leave one by one"),
        pytest.param(group(version=OLDER, disruptionMode="PodGroup"), True, 3, True, id="PodGroup is all in v1alpha2"),
        pytest.param(group(version=OLDER, disruptionMode="Pod"), True, 3, False, id="Pod is single in v1alpha2"),
        pytest.param(group(disruptionMode=None), True, 3, False, id="without a mode they leave one by one"),
    ],
)
def test_both_shapes_of_the_api_are_one_record(fields: Fields, gang: bool, minimum: int, whole: bool) -> None:
    native = record(fields).native
    assert (native.gang, native.minimum, native.whole) == (gang, minimum, whole)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        pytest.param(
            group(schedulingPolicy={}), groups_words.basic_or_gang("spec.schedulingPolicy", "neither"), id="no policy"
        ),
        pytest.param(
            group(schedulingPolicy={**GANG, **BASIC}),
            groups_words.basic_or_gang("spec.schedulingPolicy", "both"),
            id="two policies",
        ),
        pytest.param(
            group(schedulingPolicy={"gang": {}}),
            groups_words.zero_of_gang("spec.schedulingPolicy", "minCount"),
            id="a gang of nobody",
        ),
        pytest.param(
            group(disruptionMode={"some": {}}),
            fields_words.unknown_word("spec.disruptionMode", "some", "Pod or PodGroup or single or all"),
            id="an unknown disruption mode",
        ),
        pytest.param(
            group(schedulingConstraints={"topology": [{"key": "a"}, {"key": "b"}]}),
            groups_words.not_one_topology_key(2),
            id="two topology keys",
        ),
        pytest.param(
            group(preemptionPolicy="Sometimes"),
            fields_words.unknown_word("spec.preemptionPolicy", "Sometimes", "PreemptLowerPriority or Never"),
            id="an unknown preemption policy",
        ),
    ],
)
def test_a_group_that_cannot_be_used_is_named_with_the_field(fields: Fields, complaint: str) -> None:
    with pytest.raises(BadObject) as error:
        record(fields)
    assert str(error.value) == f"PodGroup.scheduling.k8s.io ns/g: {complaint}"


@pytest.mark.parametrize(
    ("status", "started", "conditions"),
    [
        pytest.param("True", True, (Condition("Scheduled", "True", "R", "m"),), id="scheduled once"),
        pytest.param("False", False, (Condition("Unschedulable", "True", "R", "m"),), id="not yet"),
    ],
)
@pytest.mark.parametrize("kind", ["PodGroupScheduled", "PodGroupInitiallyScheduled"])
def test_the_condition_of_either_version_is_read(
    kind: str, status: str, started: bool, conditions: tuple[Condition, ...]
) -> None:
    said = {"conditions": [{"type": kind, "status": status, "reason": "R", "message": "m"}]}
    found = record(group() | {"status": said})
    assert (found.native.started, found.spec.conditions) == (started, conditions)


def test_a_topology_key_is_hard_and_a_group_is_admitted_from_the_start() -> None:
    spec = record(group(schedulingConstraints={"topology": [{"key": "zone"}]})).spec
    assert (spec.topology, spec.phase) == (NetworkTopology(hard=True, key="zone"), "Inqueue")


# -- keys --------------------------------------------------------------------------------------------------------------


def test_keys_do_not_collide_with_those_of_volcano_and_say_what_they_are() -> None:
    assert (KEY, ROOT) == ("ns/g:scheduling.k8s.io", "ns/root:composite.scheduling.k8s.io")
    assert native_name(KEY) == NativeName("ns", "g", composite=False)
    assert native_name(ROOT) == NativeName("ns", "root", composite=True)
    assert native_name("ns/g") is None
    assert keys_named("ns/g") == ("ns/g", KEY, native_key("ns", "g", composite=True))
    assert [title_of(key) for key in ("ns/g", KEY, ROOT)] == [
        "PodGroup ns/g",
        "PodGroup.scheduling.k8s.io ns/g",
        "CompositePodGroup ns/root",
    ]


def test_a_group_of_volcano_with_the_same_name_is_another_job() -> None:
    cache = mirror(make.pod_group("g"), make.pod("v", group="g"), group(), pod())
    jobs = cache.snapshot(0.0).jobs
    assert {key: [task.name for task in job.tasks.values()] for key, job in jobs.items()} == {
        "ns/g": ["v"],
        KEY: ["p"],
    }


def test_the_scheduling_group_goes_before_the_annotation() -> None:
    fields = make.merged(pod(), make.pod("p", group="other"))
    assert list(mirror(group(), fields).snapshot(0.0).jobs) == [KEY]


# -- queues ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of_group", "of_workload", "of_owner", "of_pod", "of_namespace", "queue"),
    [
        pytest.param("annotation=g label=x", "annotation=w", "annotation=o", "annotation=p", "n", "g", id="the group"),
        pytest.param("label=x", "annotation=w", "annotation=o", "annotation=p", "n", "w", id="its Workload"),
        pytest.param("label=x", "label=x", "annotation=o", "annotation=p", "n", "o", id="its owner"),
        pytest.param("label=x", "label=x", "label=x", "annotation=p", "n", "p", id="number of its pods"),
        pytest.param("label=g", "label=w", "label=o", "label=p", "n", "g", id="the label of the group"),
        pytest.param("", "label=w", "label=o", "label=p", "n", "w", id="the label of the Workload"),
        pytest.param("", "", "label=o", "label=p", "n", "o", id="the label of the owner"),
        pytest.param("", "", "", "label=p", "n", "p", id="the label of its pods"),
        pytest.param("", "", "", "", "n", "n", id="the annotation of the namespace"),
        pytest.param("", "", "", "", "", "default", id="nobody names one"),
    ],
)
@pytest.mark.parametrize("backwards", [False, True], ids=["in this order", "in the other order"])
def test_the_queue_is_of_the_first_that_names_one(
    of_group: str, of_workload: str, of_owner: str, of_pod: str, of_namespace: str, queue: str, backwards: bool
) -> None:
    owner = {"ownerReferences": [{"uid": "job", "controller": True}]}
    objects = [
        group(metadata={**owner, **named(of_group)}, workloadRef={"workloadName": "w", "templateName": "t"}),
        {
            "apiVersion": NEWER,
            "kind": "Workload",
            "metadata": {"name": "w", "namespace": "ns", **named(of_workload)},
        },
        {"kind": "Job", "metadata": {"name": "j", "namespace": "ns", "uid": "job", **named(of_owner)}},
        pod(metadata=named(of_pod)),
        make.namespace("ns", metadata={"annotations": {QUEUE: of_namespace} if of_namespace else {}}),
    ]
    cache = mirror(*(reversed(objects) if backwards else objects))
    assert spec_of(cache).queue == queue


def test_a_queue_that_is_no_longer_named_is_left() -> None:
    cache = mirror(group(metadata=named("annotation=a")), pod())
    tell(cache, group(), "MODIFIED")
    assert spec_of(cache).queue == "default"


# -- what speaks against a group ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objects", "objection"),
    [
        pytest.param([group(), pod()], "", id="nothing"),
        pytest.param(
            [group(), pod(), pod("q", schedulerName="default-scheduler")],
            f"{state_words.SAME_SCHEDULER} (1 have default-scheduler, 1 have volcano)",
            id="two schedulers: the words of kube-scheduler",
        ),
        pytest.param(
            [group(), pod(), make.merged(pod("q", schedulerName="other"), {"status": {"phase": "Succeeded"}})],
            "",
            id="pods that have ended do not count",
        ),
        pytest.param(
            [group(priority=7), pod(priority=7), pod("q", priority=5)],
            state_words.priority_of_pods_differs(7, "1 have 5"),
            id="another priority than the group's",
        ),
        pytest.param([group(version=OLDER, priority=7), pod(priority=5)], "", id="in v1alpha2 priorities may differ"),
        pytest.param([group(), pod(priority=5)], "", id="a group without a priority takes any"),
        pytest.param(
            [group(metadata={"deletionTimestamp": "2026-08-01T10:00:00Z"}), pod()],
            state_words.TAKES_NO_NEW_PODS,
            id="a group that is being deleted",
        ),
        pytest.param(
            [group(parentCompositePodGroupName="root"), pod()],
            state_words.no_parent_group("root"),
            id="a parent that is not there",
        ),
    ],
)
def test_what_speaks_against_a_group_keeps_all_of_it_waiting(objects: list[Fields], objection: str) -> None:
    cache = mirror(*objects)
    job = cache.snapshot(0.0).jobs[KEY]
    assert (job.unsupported, job.kept_out) == (objection, bool(objection))


def test_a_group_is_no_job_before_a_pod_of_ours_and_after_the_last() -> None:
    cache = mirror(group(), pod(schedulerName="default-scheduler"))
    assert not cache.snapshot(0.0).jobs
    tell(cache, pod("q"))
    assert list(cache.snapshot(0.0).jobs) == [KEY]
    tell(cache, pod("q"), "DELETED")
    assert not cache.snapshot(0.0).jobs


def test_a_group_that_never_preempts_passes_that_on_to_its_pods() -> None:
    cache = mirror(pod(), pod("free", of="other"), group(preemptionPolicy="Never"), group("other"))
    jobs = cache.snapshot(0.0).jobs.values()
    assert {task.name: task.preempts for job in jobs for task in job.tasks.values()} == {"p": False, "free": True}


def test_the_priority_is_that_of_the_object() -> None:
    assert mirror(group(priority=7), pod(priority=7)).snapshot(0.0).jobs[KEY].priority == 7


# -- trees -------------------------------------------------------------------------------------------------------------


def below(name: str, parent: str = "root", **spec: Any) -> Fields:
    return group(name, parentCompositePodGroupName=parent, **spec)


def test_the_root_of_a_tree_is_the_job_of_all_its_pods_and_of_none_when_it_goes() -> None:
    cache = mirror(pod("a-0", of="a"), below("a"), pod("b-0", of="b"), below("b"))
    assert set(cache.snapshot(0.0).jobs) == {native_key("ns", "a"), native_key("ns", "b")}

    tell(cache, tree())
    job = cache.snapshot(0.0).jobs[ROOT]
    assert sorted(task.name for task in job.tasks.values()) == ["a-0", "b-0"]
    assert (job.spec.min_member, [names_of(policy) for policy in job.spec.sub_groups]) == (6, ["a3 b3"])

    tell(cache, tree(), "DELETED")
    assert set(cache.snapshot(0.0).jobs) == {native_key("ns", "a"), native_key("ns", "b")}


def test_a_tree_has_a_child_without_pod_groups_from_its_coming_to_its_going() -> None:
    cache = mirror(below("a"), pod("a-0", of="a"), tree())
    empty = tree("t", 1, parentCompositePodGroupName="root")

    def children() -> list[str]:
        native = spec_of(cache, ROOT).native
        assert native is not None
        return sorted(each.name for each in native.children)

    tell(cache, empty)
    assert children() == ["a", "t"]
    tell(cache, tree("t", 1, parentCompositePodGroupName="elsewhere"), "MODIFIED")
    assert children() == ["a"]
    tell(cache, empty, "MODIFIED")
    assert children() == ["a", "t"]
    tell(cache, empty, "DELETED")
    assert children() == ["a"]


def test_what_leaves_together_in_a_tree_is_all_of_it() -> None:
    cache = mirror(tree(), below("a"), pod("a-0", of="a"), below("b"), pod("b-0", of="b"))
    assert not spec_of(cache, ROOT).leaves_whole

    tell(cache, below("b", disruptionMode={"all": {}}))
    assert spec_of(cache, ROOT).leaves_whole


def deep(levels: int) -> list[Fields]:
    """A tree of so many levels, with one group in each."""
    names = ["root", *(f"t{number}" for number in range(1, levels - 1))]
    inner = [tree(name, 1, parentCompositePodGroupName=above) for above, name in pairwise(names)]
    return [tree(minimum=1), *inner, below("a", names[-1]), pod("a-0", of="a")]


@pytest.mark.parametrize(
    ("objects", "invalid"),
    [
        pytest.param(deep(4), "", id="four levels"),
        pytest.param(deep(5), state_words.too_many_levels(4), id="five levels"),
        pytest.param(
            [tree(parentCompositePodGroupName="root"), below("a"), pod("a-0", of="a")],
            state_words.group_in_a_cycle("root"),
            id="a tree below itself",
        ),
        pytest.param(
            [
                tree(workloadRef={"workloadName": "v", "templateName": "t"}),
                below("a", workloadRef={"workloadName": "w", "templateName": "t"}),
                pod("a-0", of="a"),
            ],
            state_words.groups_of_several_workloads("v, w"),
            id="groups of several Workloads",
        ),
    ],
)
def test_a_tree_that_is_none_is_invalid(objects: list[Fields], invalid: str) -> None:
    spec = spec_of(mirror(*objects), ROOT)
    assert spec.native is not None
    assert spec.native.invalid == invalid


def child(name: str, minimum: int = 2, topology: str = "", parent: str = "root", **fields: Any) -> ChildGroup:
    return ChildGroup(name, minimum=minimum, topology=topology, parent=parent, gang=True, **fields)


def names_of(policy: SubGroupPolicy) -> str:
    """The groups of a policy, each with its minimum and its label."""
    groups = policy.groups or ()
    return " ".join(f"{one.name}{one.size}{one.topology.key if one.topology is not None else ''}" for one in groups)


@pytest.mark.parametrize(
    ("needed", "children", "policies", "pods"),
    [
        pytest.param(2, [child("a"), child("b")], [("podGroups", -1, 2, "a2 b2", "")], 4, id="all of its groups"),
        pytest.param(1, [child("a", 5), child("b")], [("podGroups", -1, 1, "a5 b2", "")], 2, id="the smallest counts"),
        pytest.param(
            2,
            [child("a"), child("b", topology="zone")],
            [("podGroups", -1, 2, "a2 b2zone", "")],
            4,
            id="each has its own topology",
        ),
        pytest.param(3, [child("a"), child("b")], [("podGroups", -1, 3, "a2 b2", "")], 5, id="more than there are"),
        pytest.param(
            2,
            [child("t", 1, "zone", composite=True), child("a", 3), child("b", parent="t"), child("c", 4, parent="t")],
            [("podGroups", -1, 2, "a3", ""), ("t", 0, 1, "b2 c4", "zone")],
            5,
            id="a tree below a tree, with a topology of its own",
        ),
        pytest.param(
            1,
            [
                child("t", 2, composite=True),
                child("u", 1, composite=True, parent="t"),
                child("a", parent="t"),
                child("b", 3, parent="u"),
                child("c", 6),
            ],
            [("podGroups", -1, 1, "c6", ""), ("t", 0, 2, "a2", ""), ("u", 1, 1, "b3", "")],
            5,
            id="trees below trees",
        ),
        pytest.param(
            1,
            [child("t", 2, composite=True)],
            [("podGroups", -1, 1, "", ""), ("t", 0, 2, "", "")],
            2,
            id="a tree without groups yet",
        ),
    ],
)
def test_groups_of_a_tree_are_sub_groups(
    needed: int, children: list[ChildGroup], policies: list[tuple[str, int, int, str, str]], pods: int
) -> None:
    found = sub_groups_of(NativeGroup(gang=True, composite=True, minimum=needed, children=tuple(children)), "root")
    shown = [
        (one.name, one.above, one.minimum, names_of(one), "" if one.together is None else one.together.key)
        for one in found.sub_groups
    ]
    assert (shown, found.minimum) == (policies, pods)


def test_a_basic_tree_starts_with_any_of_its_groups() -> None:
    cache = mirror(tree(schedulingPolicy=BASIC), below("a"), below("b"), pod("a-0", of="a"))
    spec = spec_of(cache, ROOT)
    assert ([policy.minimum for policy in spec.sub_groups], spec.min_member) == ([1], 3)


WORLD = [
    group(workloadRef={"workloadName": "w", "templateName": "t"}),
    below("a", workloadRef={"workloadName": "w", "templateName": "a"}),
    below("b", "t1"),
    tree(),
    tree("t1", 1, parentCompositePodGroupName="root"),
    tree("t2", 1, parentCompositePodGroupName="t1", disruptionMode={"all": {}}),
    tree("t3", 1, parentCompositePodGroupName="t4", preemptionPolicy="Never"),
    tree("t4", 1, parentCompositePodGroupName="t3"),
    below("c", "t3", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "t"}]),
    pod("c-0", of="c", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "t"}]),
    {"apiVersion": NEWER, "kind": "Workload", "metadata": {"name": "w", "namespace": "ns", **named("annotation=q")}},
    pod(),
    pod("a-0", of="a", metadata=named("label=l")),
    pod("a-1", of="a", schedulerName="other"),
    pod("b-0", of="b", priority=3),
]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(range(len(WORLD))), st.booleans()), max_size=40), st.permutations(WORLD))
def test_whatever_came_before_the_mirror_is_as_from_a_fresh_list(
    events: list[tuple[int, bool]], order: list[Fields]
) -> None:
    cache = mirror()
    there: dict[int, Fields] = {}
    for position, gone in events:
        tell(cache, WORLD[position], "DELETED" if gone else "MODIFIED")
        there.pop(position, None)
        if not gone:
            there[position] = WORLD[position]
    fresh = mirror(*(fields for fields in order if any(fields is each for each in there.values())))
    assert view(cache.snapshot(0.0)) == view(fresh.snapshot(0.0))


# -- recordings and paper ----------------------------------------------------------------------------------------------


def recorded() -> Snapshot:
    """A tree that fits, and a gang that does not."""
    node = make.node("n1", status={"allocatable": {"cpu": "4", "memory": "1Gi", "pods": "9"}})
    asks = {"containers": [make.container("1")]}
    trees = [tree(minimum=1), *(below(name, schedulingPolicy={"gang": {"minCount": 2}}) for name in "ab")]
    pods = [pod(f"{name}-{number}", of=name, **asks) for name in "ab" for number in range(2)]
    late = {"creationTimestamp": "2026-08-01T10:00:00Z"}
    gang = [group(metadata=late), *(pod(f"g-{number}", **asks) for number in range(3))]
    return freeze(mirror(make.queue("default"), node, *trees, *pods, *gang).snapshot(NOW))


def test_a_recording_decides_the_same_again() -> None:
    snapshot = recorded()
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    read = decode(encode(Recording(snapshot, "", None))).snapshot

    assert {bind.name[0] for bind in report.binds} == {"a", "b"}
    assert read.jobs[ROOT].spec == snapshot.jobs[ROOT].spec
    assert read.jobs[KEY].spec == snapshot.jobs[KEY].spec
    assert run_cycle(read, DEFAULT_POLICY, REGISTRY) == report


def test_a_mirror_on_paper_goes_on_from_there() -> None:
    snapshot = recorded()
    paper = ClusterEditor(snapshot, ("volcano",))
    assert paper.group(KEY) is None, "no object of Volcano stands for it"
    found = paper.snapshot(NOW)
    assert run_cycle(found, DEFAULT_POLICY, REGISTRY) == run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)


# -- claims that pods share --------------------------------------------------------------------------------------------


def claiming(*entries: Fields) -> Fields:
    return pod(resourceClaims=list(entries))


TEMPLATE, NAMED = {"name": "gpu", "resourceClaimTemplateName": "t"}, {"name": "gpu", "resourceClaimName": "c"}
MADE = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "made"}]}


def shared_with(cache: Mirror) -> list[str]:
    """The group of each claim of the pod."""
    (task,) = cache.snapshot(0.0).jobs[KEY].tasks.values()
    assert task.claims is not None
    return [one.group for one in task.claims.devices]


@pytest.mark.parametrize(
    ("of_group", "of_pod", "groups"),
    [
        pytest.param([TEMPLATE], TEMPLATE, ["uid-g"], id="an equal entry with a template is that of the group"),
        pytest.param([NAMED], NAMED, ["uid-g"], id="an equal entry with a claim is that of the group"),
        pytest.param([TEMPLATE], {**TEMPLATE, "name": "other"}, [""], id="another name is the pod's own"),
        pytest.param([TEMPLATE], NAMED, [""], id="a claim in place of a template is the pod's own"),
        pytest.param([], TEMPLATE, [""], id="a group without claims shares none"),
    ],
)
def test_a_pod_shares_the_claims_that_its_group_names_alike(
    of_group: list[Fields], of_pod: Fields, groups: list[str]
) -> None:
    objects = group(resourceClaims=of_group), {**claiming(of_pod), "status": MADE}
    for told in (objects, objects[::-1]):
        assert shared_with(mirror(*told)) == groups


def test_a_group_that_is_made_again_shares_its_claims_under_its_new_uid() -> None:
    cache = mirror(group(resourceClaims=[TEMPLATE]), {**claiming(TEMPLATE), "status": MADE})
    tell(cache, group(metadata={"uid": "new"}, resourceClaims=[TEMPLATE]), "MODIFIED")
    assert shared_with(cache) == ["new"]
