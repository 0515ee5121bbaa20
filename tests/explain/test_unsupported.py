"""What is explained of jobs and pods that ask for what is not supported: the field, and that waiting does not help."""

from __future__ import annotations

import pytest

from tests.support.explained import explained, queue_explained
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from vsched.api import words as wire_words
from vsched.explain.edits.others import CreatePriorityClass
from vsched.explain.explaining import explain
from vsched.explain.records import Explanation, Whereabouts
from vsched.framework.cycle import run_cycle
from vsched.framework.words import jobs as jobs_words
from vsched.framework.words.jobs import no_priority_class
from vsched.mirror.ingest.words import groups as groups_words
from vsched.mirror.state import words as state_words
from vsched.settings.built_in import REGISTRY

VOLUME = "spec.volumes[0].awsElasticBlockStore: not supported yet"
BEYOND = wire_words.too_many_entries("PodGroup ns/a: spec.minTaskMember", 257, 256)


def helped(text: str) -> Explanation:
    """Why the PodGroup ns/a waits, and what would help."""
    snapshot = mirror(manifests(text)).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns", "a", kind="PodGroup")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        pytest.param("job ns/a min=2 pods=2 ebs=c", "ns/a.0", VOLUME, id="a pod"),
        pytest.param(
            "job ns/a min=2 pods=2 ebs=c", "ns/a", jobs_words.some_wait(2, "a.0", VOLUME), id="the gang that needs it"
        ),
        pytest.param("job ns/a roles=beyond pods=1", "ns/a", BEYOND, id="a PodGroup"),
        pytest.param("job ns/a roles=beyond pods=1", "ns/a.0", BEYOND, id="its pod"),
        pytest.param("job ns/a roles=beyond pods=1 gated", "ns/a", BEYOND, id="whatever gates there are"),
        pytest.param("job ns/a roles=beyond pods=1 cpu=99", "ns/a", BEYOND, id="however full the cluster is"),
    ],
)
def test_the_field_is_named_and_waiting_does_not_help(text: str, key: str, message: str) -> None:
    found = explained(f"node n1\n{text}", key)

    assert (found.state, found.message) == (Whereabouts.NEVER, message)
    assert [(one.code, one.lasting) for one in found.constraints] == [("Unsupported", True)]


def test_a_job_that_runs_says_what_its_other_pods_wait_for() -> None:
    text = "node n1\njob ns/a min=1 phase=Running\npods ns/a 1 on=n1\npods ns/a 1 ebs=c"

    assert explained(text).message == jobs_words.some_wait(1, "a.1", VOLUME)
    assert explained(text, "ns/a.1").state is Whereabouts.NEVER
    assert explained(text).counts["gated"] == 0


def test_nothing_is_tried_for_what_nobody_can_turn() -> None:
    assert helped("node n1 cpu=1\njob ns/a min=2 pods=2 cpu=1 ebs=c").changes == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("job ns/a pods=1 cpu=1 class=gone", id="of the job"),
        pytest.param("queue q class=gone\njob ns/a pods=1 cpu=1 queue=q", id="of its queue"),
    ],
)
def test_a_class_that_is_missing_is_to_be_created(text: str) -> None:
    found = helped(f"node n1 cpu=4\n{text}")

    assert [change.edits for change in found.changes] == [(CreatePriorityClass("gone", 0),)]
    assert found.changes[0].command == "kubectl create priorityclass gone --value=0"


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        pytest.param("job ns/a roles=beyond queue=q", [("Unsupported", "ns/a")], id="alone"),
        pytest.param(
            "job ns/a roles=beyond queue=q age=9\njob ns/b pods=1 cpu=99 queue=q",
            [("Resources", "ns/b"), ("Unsupported", "ns/a")],
            id="behind those that are tried",
        ),
    ],
)
def test_a_queue_counts_them_among_those_that_wait(text: str, groups: list[tuple[str, str]]) -> None:
    found = queue_explained(f"node n1\nqueue q\n{text}", "q")

    assert found is not None
    assert [(one.code, one.subject) for one in found.constraints if one.message.startswith("1 job, ")] == groups
    assert found.counts["waiting"] == len(groups)


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        pytest.param("job ns/a pods=1", (), id="nothing"),
        pytest.param(
            "job ns/a pods=1 volcano.sh/forward-cluster=west",
            (f"metadata.annotations[volcano.sh/forward-cluster]: {groups_words.NO_EFFECT}",),
            id="a wish",
        ),
        pytest.param(
            "class ten 10\nqueue q class=ten\njob ns/a pods=1 class=gone queue=q",
            (state_words.priority_of_queue_holds("", no_priority_class("gone")),),
            id="a class that is not there",
        ),
    ],
)
def test_what_is_otherwise_than_its_object_says_is_noted(text: str, notes: tuple[str, ...]) -> None:
    assert explained(f"node n1\n{text}").notes == notes
