"""Jobs that pods stand for: what pods and workloads say of them, and that their PodGroup changes nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import builders as make
from tests.support.examples import examples
from tests.support.mirrors import World
from tests.support.views import books_view, job_view
from vsched.mirror.ingest.words import fields as fields_words
from vsched.model.jobs.spec import JobSpec

Fields = dict[str, Any]
KEY = "ns/podgroup-owner"
NAME = KEY.partition("/")[2]
PREFIX = "scheduling.volcano.sh"
MINIMUM, QUEUE = f"{PREFIX}/group-min-member", f"{PREFIX}/queue-name"
MADE = {"labels": {"app.kubernetes.io/managed-by": "vsched"}}


def owned(name: str = "a", second: int = 0) -> Fields:
    metadata = {
        "creationTimestamp": f"2026-08-01T10:00:0{second}Z",
        "ownerReferences": [{"uid": "owner", "controller": True}],
    }
    return make.pod(name, metadata=metadata)


def notes(**says: str) -> Fields:
    return {"annotations": {f"{PREFIX}/{key.replace('_', '-')}": value for key, value in says.items()}}


def workload(kind: str = "ReplicaSet", uid: str = "owner", **says: str) -> Fields:
    return {"kind": kind, "metadata": {"name": "w", "namespace": "ns", "uid": uid, **notes(**says)}, "spec": {}}


def group(phase: str = "", **spec: Any) -> Fields:
    fields = make.pod_group(NAME, spec=spec, metadata={**MADE, "creationTimestamp": "2026-08-01T10:00:09Z"})
    return fields | {"status": {"phase": phase} if phase else {}}


def spec_of(here: World) -> JobSpec:
    return here.job(KEY).spec


UID = "6dadf8d2-5d4b"


def owner(kind: str = "ReplicaSet", name: str = "web-5d9", **more: Any) -> Fields:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": UID, "controller": True, **more}
    return {"ownerReferences": [reference]}


@pytest.mark.parametrize(
    ("obj", "called"),
    [
        pytest.param(make.pod("p", metadata=owner()), "ReplicaSet ns/web-5d9", id="pods by their controller"),
        pytest.param(make.pod("p"), "Pod ns/p", id="a pod without one by itself"),
        pytest.param(make.pod_group("train"), "ns/train", id="a PodGroup that somebody named by its name"),
        pytest.param(make.pod_group("train", metadata=owner()), "ns/train", id="whoever owns it"),
        pytest.param(
            make.pod_group(f"podgroup-{UID}", metadata=owner()),
            "ReplicaSet ns/web-5d9",
            id="one that Volcano made by its owner",
        ),
        pytest.param(
            make.pod_group(f"podgroup-{UID}-0", metadata=owner("LeaderWorkerSet", "llm")),
            "LeaderWorkerSet ns/llm (group 0)",
            id="one of several of an owner with what tells them apart",
        ),
        pytest.param(
            make.pod_group(f"mpi-{UID}", metadata=owner("Job", "mpi", apiVersion="batch.volcano.sh/v1alpha1")),
            "vcjob ns/mpi",
            id="one of a vcjob by the vcjob",
        ),
        pytest.param(
            make.pod("p", metadata=owner(name="x\n; rm -rf")),
            f"ns/podgroup-{UID}",
            id="a name that no object can have is not repeated",
        ),
    ],
)
def test_a_job_is_called_by_whoever_made_it(obj: Fields, called: str) -> None:
    (job,) = World(obj).snapshot().jobs.values()
    assert job.called == called
    assert World(obj).snapshot().called(job.key) == called


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "ReplicationController", "DaemonSet", "Job"])
def test_a_workload_says_how_its_pods_belong_together(kind: str) -> None:
    here = World(owned(), workload(kind, group_min_member="3", queue_name="team"))
    assert (spec_of(here).min_member, spec_of(here).queue) == (3, "team")
    here.add(workload(kind, group_min_member="2"))
    assert (spec_of(here).min_member, spec_of(here).queue) == (2, "default")
    here.delete(workload(kind))
    assert spec_of(here).min_member == 1


@pytest.mark.parametrize(
    ("pod", "said", "minimum", "queue"),
    [
        pytest.param({MINIMUM: "2"}, {"group_min_member": "3"}, 2, "default", id="the pod's own minimum"),
        pytest.param({QUEUE: "p"}, {"queue_name": "w", "group_min_member": "3"}, 3, "p", id="the pod's own queue"),
        pytest.param({}, {"group_min_member": "none"}, 1, "default", id="a minimum that is no number"),
        pytest.param({}, {"group_min_member": "0"}, 1, "default", id="a minimum of nothing"),
    ],
)
def test_what_pods_say_goes_before_what_their_workload_says(
    pod: dict[str, str], said: dict[str, str], minimum: int, queue: str
) -> None:
    here = World(make.merged(owned(), {"metadata": {"annotations": pod}}), workload(**said))
    assert (spec_of(here).min_member, spec_of(here).queue) == (minimum, queue)


def test_a_workload_says_how_long_its_pods_take() -> None:
    takes = workload("Job")
    takes["metadata"]["annotations"] = {"vsched.io/expected-duration": "90s"}
    here = World(owned(), takes)
    assert spec_of(here).expected == 90.0
    here.delete(takes)
    assert spec_of(here).expected == 0.0


def test_what_is_wrong_with_a_workloads_annotation_is_known() -> None:
    here = World(owned(), workload(group_min_member="x"))
    found = here.cache.implicit_group(KEY)
    assert found is not None
    assert found.remarks == [f"{fields_words.annotation_not_int32(MINIMUM, 'x')}: ignored"]


def test_a_workload_of_the_same_name_that_came_after_another_speaks_for_its_own_pods_only() -> None:
    here = World(owned(), workload(uid="before", group_min_member="5"))
    assert spec_of(here).min_member == 1
    here.add(workload(group_min_member="2"))
    assert spec_of(here).min_member == 2
    here.add(workload(uid="after", group_min_member="7"))
    assert spec_of(here).min_member == 1


def named(pod: Fields) -> Fields:
    """The same pod once it was told the name of its PodGroup."""
    return make.merged(pod, {"metadata": {"annotations": {"scheduling.k8s.io/group-name": NAME}}})


pods = st.lists(
    st.tuples(
        st.integers(0, 3), st.sampled_from([{}, {MINIMUM: "2"}, {QUEUE: "team"}, {"volcano.sh/preemptable": "true"}])
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=examples(40), deadline=None)
@given(pods, st.sampled_from([{}, {"group_min_member": "3"}, {"queue_name": "team"}]), st.data())
def test_nothing_changes_for_pods_when_their_podgroup_appears_and_they_are_told_its_name(
    pods: list[tuple[int, dict[str, str]]], said: dict[str, str], data: st.DataObject
) -> None:
    members = [
        make.merged(owned(f"p{number}", second), {"metadata": {"annotations": says}})
        for number, (second, says) in enumerate(pods)
    ]
    here = World(make.queue("team"), workload(**said), *members)

    def standing() -> Any:
        snapshot = here.snapshot()
        job, books = snapshot.jobs[KEY], {name: books_view(here.cache.axis, of) for name, of in snapshot.books.items()}
        record = {"uid": "", "implicit": True, "made": False, "written_phase": ""}
        spec = msgspec.structs.replace(job.spec, **record)
        return spec, job_view(here.cache.axis, job)[2:], list(snapshot.active), books

    before = standing()
    told = [group(minMember=9, minResources={"cpu": "9"}, queue="elsewhere"), *map(named, members)]
    for fields in data.draw(st.permutations(told)):
        here.add(fields)
        assert standing() == before
    here.add(group("Inqueue"))
    assert standing() == before
    here.delete(group())
    assert standing() == before


def test_a_podgroup_that_was_made_is_admitted_from_the_start_and_that_is_to_be_written() -> None:
    here = World(owned(), group(minResources={"cpu": "1"}))
    spec = spec_of(here)
    assert (spec.phase, spec.written_phase, spec.min_resources, spec.made) == ("Inqueue", "Pending", None, True)
    assert (spec.implicit, spec.uid) == (False, f"uid-{NAME}")
    here.add(group("Pending"))
    assert (spec_of(here).phase, spec_of(here).written_phase) == ("Pending", "")


def test_a_podgroup_that_somebody_else_made_says_what_it_says() -> None:
    other = make.merged(group("Pending", minMember=4, minResources={"cpu": "1"}), {})
    del other["metadata"]["labels"]
    here = World(owned(), other)
    spec = spec_of(here)
    assert (spec.phase, spec.min_member, spec.made) == ("Pending", 4, False)
    assert spec.min_resources is not None


def test_pods_that_name_the_podgroup_of_others_stand_for_nothing() -> None:
    stray = make.pod("stray", group="podgroup-elsewhere")
    here = World(stray)
    assert here.cache.implicit_group("ns/podgroup-elsewhere") is None
    assert "ns/podgroup-elsewhere" not in here.snapshot().jobs
