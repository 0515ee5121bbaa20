"""Annotations about evictions: what they come to, and what is remarked where they make no sense."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.mirror.watch import Watch
from tests.support import builders as make
from tests.support.plans import DEFAULT_POLICY, manifests, mirror
from vsched import api
from vsched.framework.cycle import run_cycle
from vsched.mirror.ingest.evictions import (
    checkpoint_of,
    deletion_cost_of,
    eviction_terms_of,
    eviction_terms_of_queue,
    preemptibility_of,
    request_of,
)
from vsched.mirror.ingest.words import fields as words
from vsched.mirror.ingest.words import groups as groups_words
from vsched.model.pods.cooperation import ASKED, EvictionRequest
from vsched.model.pods.status import Status
from vsched.model.queues.evictions import EvictionTerms, Preemptibility
from vsched.settings.built_in import REGISTRY

PREEMPT, RECLAIM = "vsched.io/preempt-min-runtime", "vsched.io/reclaim-min-runtime"
COST, SAVED = "controller.kubernetes.io/pod-deletion-cost", "vsched.io/last-checkpoint"
EXPECTED = f"{groups_words.LENGTH_OF_TIME} 30s or 1h30m"


@pytest.mark.parametrize(
    ("annotations", "terms", "remarks"),
    [
        pytest.param({}, EvictionTerms(), [], id="nothing said"),
        pytest.param({PREEMPT: "1h30m", RECLAIM: "10s"}, EvictionTerms(5400.0, 10.0), [], id="lengths of time"),
        pytest.param({PREEMPT: "0s"}, EvictionTerms(0.0), [], id="zero is said, too"),
        pytest.param({"vsched.io/preemption-delay": "2m"}, EvictionTerms(None, None, 120.0), [], id="a delay"),
        pytest.param(
            {PREEMPT: "soon", RECLAIM: "10s"},
            EvictionTerms(None, 10.0),
            [f"metadata.annotations[{PREEMPT}]: 'soon' (expected {EXPECTED}): ignored"],
            id="what cannot be read is passed over, and the rest counts",
        ),
        pytest.param(
            {RECLAIM: "-1s"},
            EvictionTerms(),
            [f"metadata.annotations[{RECLAIM}]: '-1s' (expected {EXPECTED}): ignored"],
            id="less than zero",
        ),
    ],
)
def test_terms(annotations: dict[str, str], terms: EvictionTerms, remarks: list[str]) -> None:
    told: list[str] = []

    assert eviction_terms_of(annotations, told) == terms
    assert told == remarks


def test_terms_are_completed_by_others() -> None:
    assert EvictionTerms(1.0).or_else(EvictionTerms(2.0, 0.0)) == EvictionTerms(1.0, 0.0)
    assert EvictionTerms(0.0).or_else(EvictionTerms(2.0)) == EvictionTerms(0.0)


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        pytest.param("PodGroup", make.pod_group("pg", metadata={"annotations": {PREEMPT: "soon"}}), id="a PodGroup"),
        pytest.param("Queue", make.queue("q", metadata={"annotations": {PREEMPT: "soon"}}), id="a queue"),
        pytest.param("Pod", make.pod("p", metadata={"annotations": {PREEMPT: "soon"}}), id="a pod that stands for one"),
    ],
)
def test_an_object_with_a_bad_annotation_stays_in_and_is_told(kind: str, made: dict[str, Any]) -> None:
    watch = Watch()
    watch.tell(made)

    (found,) = watch.cache.blemished.values()
    assert found.kind == kind
    assert f"metadata.annotations[{PREEMPT}]: 'soon' (expected {EXPECTED}): ignored" in found.message
    assert not found.left_out


def test_the_annotations_of_a_pod_without_a_podgroup_are_those_of_its_job() -> None:
    text = f"node n1\njob ns/a\npods ns/a 1 on=n1 {PREEMPT}=5m"
    pods = [one for one in manifests(text) if one["kind"] != "PodGroup"]
    for one in pods:
        one["metadata"].get("annotations", {}).pop("scheduling.k8s.io/group-name", None)
    (job,) = mirror(pods).snapshot(0.0).jobs.values()

    assert job.spec.terms == EvictionTerms(300.0)


@pytest.mark.parametrize(
    ("text", "moment", "remarked"),
    [
        pytest.param(None, 0.0, False, id="nothing said"),
        pytest.param("2027-01-15T08:00:00Z", 1_800_000_000.0, False, id="a time in UTC"),
        pytest.param("2027-01-15T09:00:00.5+01:00", 1_800_000_000.5, False, id="a time elsewhere"),
        pytest.param("2027-01-15 08:00", 0.0, True, id="a time without a zone"),
        pytest.param("1800000000", 0.0, True, id="a number"),
        pytest.param("1969-12-31T00:00:00Z", 0.0, True, id="a time before the epoch"),
        pytest.param("", 0.0, True, id="nothing in it"),
    ],
)
def test_when_work_was_saved(text: str | None, moment: float, remarked: bool) -> None:
    told: list[str] = []
    expected = f"metadata.annotations[{SAVED}]: {text!r} (expected {words.TIME}): ignored"

    assert checkpoint_of({} if text is None else {SAVED: text}, told) == moment
    assert told == [expected] * remarked


@pytest.mark.parametrize(
    ("text", "cost", "remarked"),
    [
        pytest.param(None, 0, False, id="nothing said"),
        pytest.param("-100", -100, False, id="a number below zero"),
        pytest.param("2147483647", 2147483647, False, id="the largest"),
        pytest.param("2147483648", 0, True, id="too large a number"),
        pytest.param("high", 0, True, id="no number"),
    ],
)
def test_pod_deletion_costs(text: str | None, cost: int, remarked: bool) -> None:
    told: list[str] = []
    expected = f"{words.annotation_not_int32(COST, text)}: ignored"

    assert deletion_cost_of({} if text is None else {COST: text}, told) == cost
    assert told == [expected] * remarked


def test_what_a_pod_and_its_podgroup_say_of_costs_is_kept() -> None:
    saved = "2027-01-15T08:00:00Z"
    text = f"node n1\njob ns/a {SAVED}={saved}\npods ns/a 1 on=n1 {SAVED}={saved} {COST}=7"
    (job,) = mirror(manifests(text)).snapshot(0.0).jobs.values()
    (task,) = job.tasks.values()

    assert job.spec.checkpoint == task.checkpoint == 1_800_000_000.0
    assert task.deletion_cost == 7
    moved = task.moved(task.status, task.node)
    assert (moved.checkpoint, moved.deletion_cost) == (task.checkpoint, 7)


WORDS = "preemptible, semi-preemptible or non-preemptible"


@pytest.mark.parametrize(
    ("text", "meant", "remarked"),
    [
        pytest.param(None, None, False, id="nothing said"),
        pytest.param("semi-preemptible", Preemptibility.SEMI, False, id="a word that is known"),
        pytest.param("Non-preemptible", None, True, id="one that is not"),
    ],
)
def test_preemptibility(text: str | None, meant: Preemptibility | None, remarked: bool) -> None:
    told: list[str] = []

    assert preemptibility_of({} if text is None else {"vsched.io/preemptibility": text}, told) is meant
    assert told == [f"metadata.annotations[vsched.io/preemptibility]: {text!r} (expected {WORDS}): ignored"] * remarked


SAID = "reclaim for ml/train, until 2027-01-15T08:10:00Z"
TOLD = {
    "vsched.io/eviction-requested": "2027-01-15T08:00:00Z",
    "vsched.io/eviction-deadline": "2027-01-15T08:10:00Z",
    "vsched.io/eviction-reason": "reclaim for ml/train",
}
AT = 1_800_000_000.0
REQUEST = EvictionRequest(AT, AT + 600, "reclaim", "ml/train")


def asked_pod(said: str | None, annotations: dict[str, str], status: str = "True") -> api.Pod:
    """A pod on a node with the condition that it was asked (None: without), and with annotations."""
    condition = {"type": ASKED, "status": status, "message": said, "lastTransitionTime": "2027-01-15T08:00:00Z"}
    conditions = [] if said is None else [condition]
    made = make.pod("p", node="n1", metadata={"annotations": annotations}, status={"conditions": conditions})
    found = make.read(made)
    assert isinstance(found, api.Pod)
    return found


@pytest.mark.parametrize(
    ("said", "annotations", "expected", "remarks"),
    [
        pytest.param(None, {}, None, 0, id="a pod that was not asked"),
        pytest.param(SAID, TOLD, REQUEST, 0, id="asked, no answer yet"),
        pytest.param(
            SAID,
            {**TOLD, "vsched.io/eviction-expected": "2027-01-15T08:05:00Z"},
            msgspec.structs.replace(REQUEST, expected=AT + 300),
            0,
            id="an answer with a time",
        ),
        pytest.param(
            SAID, {**TOLD, "vsched.io/eviction-expected": "soon"}, REQUEST, 1, id="an answer that cannot be read"
        ),
        pytest.param(
            SAID,
            {**TOLD, "vsched.io/eviction-ready": "true"},
            msgspec.structs.replace(REQUEST, ready=True),
            0,
            id="the answer that it may go",
        ),
        pytest.param(
            "reclaim for ml/train, until 2027-01-16T08:00:00Z",
            TOLD,
            msgspec.structs.replace(REQUEST, deadline=AT + 3600),
            0,
            id="no deadline is later than this daemon would set",
        ),
        pytest.param("shuffle", TOLD, EvictionRequest(AT, AT + 3600, "shuffle"), 0, id="a deadline that is not read"),
        pytest.param(
            SAID, {}, msgspec.structs.replace(REQUEST, told=False), 0, id="its owner took the annotations off"
        ),
        pytest.param(
            SAID,
            {**TOLD, "vsched.io/eviction-requested": "2027-01-15T09:00:00Z", "vsched.io/eviction-deadline": "never"},
            REQUEST,
            0,
            id="its owner changed them",
        ),
        pytest.param(
            None,
            {"vsched.io/eviction-requested": "2020-01-15T08:00:00Z", "vsched.io/eviction-ready": "true"},
            None,
            0,
            id="its owner made them",
        ),
    ],
)
def test_requests_that_pods_end_by_themselves(
    said: str | None, annotations: dict[str, str], expected: EvictionRequest | None, remarks: int
) -> None:
    told: list[str] = []
    assert request_of(asked_pod(said, annotations), 3600.0, told) == expected
    assert len(told) == remarks


def test_a_request_that_was_withdrawn_is_none() -> None:
    assert request_of(asked_pod(SAID, TOLD, "False"), 3600.0, []) is None


@pytest.mark.parametrize(
    ("pod", "status"),
    [
        pytest.param("on=n1", Status.RELEASING, id="a running pod counts as leaving"),
        pytest.param("on=n1 scheduled=3", Status.RELEASING, id="so does one that has not started"),
        pytest.param("", Status.PENDING, id="a pod without a node is not asked for anything"),
        pytest.param("on=n1 succeeded", Status.SUCCEEDED, id="nor is one that has ended"),
    ],
)
def test_a_pod_that_was_asked(pod: str, status: Status) -> None:
    said = SAID.replace(" ", "~")
    snapshot = mirror(manifests(f"node n1\njob ns/a\npods ns/a 1 {pod} asked={said}")).snapshot(AT)
    (task,) = snapshot.jobs["ns/a"].tasks.values()
    assert task.status is status
    assert (task.asked is not None) is (status is Status.RELEASING)
    assert list(snapshot.asked) == (["ns/a"] if task.asked else [])
    assert task.moved(task.status, task.node).asked is task.asked


def test_pods_that_say_they_were_asked_are_no_room_for_others() -> None:
    """Sixteen pods say that they are leaving, and have been for years: nobody is evicted, and nothing counts on it."""
    said = "vsched.io/eviction-requested=2020-01-01T00:00:00Z"
    text = f"node n1 cpu=16\njob ns/old min=0\npods ns/old 16 cpu=1 on=n1 {said}\njob ns/new min=1 pods=1 cpu=16"
    snapshot = mirror(manifests(text)).snapshot(AT)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    assert (report.evictions, report.binds, list(snapshot.asked)) == ((), (), [])


def test_a_queue_cannot_opt_in_for_pods() -> None:
    told: list[str] = []
    assert eviction_terms_of_queue({"vsched.io/cooperative-eviction": "1m", PREEMPT: "5m"}, told) == EvictionTerms(
        300.0
    )
    assert told == [words.only_these_opt_in("vsched.io/cooperative-eviction")]
