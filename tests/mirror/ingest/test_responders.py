"""Evictions: what the responders of a pod say, and what becomes of the pod's request."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.mirror.watch import Watch
from tests.support import builders as make
from vsched import api
from vsched.mirror.ingest.evictions import IMPERATIVE, answer_of
from vsched.mirror.state.responders import ResponderStore
from vsched.model.pods.cooperation import ASKED, NO_ANSWER, EvictionRequest, ResponderAnswer

AT = 1_800_000_000.0
SOON = "2027-01-15T08:05:00Z"
SAVER = "example.com/saver"


def eviction(*states: str, name: str = "e", failed: bool = False, uid: str = "u", **report: str) -> dict[str, Any]:
    """An Eviction whose responders have these states; the report is that of the first one."""
    names = [*(f"{SAVER}-{number}" for number in range(len(states) - 1)), IMPERATIVE] if states else []
    targets = [{"name": one, "state": state} for one, state in zip(names, states, strict=True)]
    return {
        "apiVersion": "lifecycle.k8s.io/v1alpha1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"target": {"pod": {"name": "p", "uid": uid}}},
        "status": {
            "conditions": [{"type": "Failed", "status": "True"}] if failed else [],
            "targetResponders": targets,
            "responders": [{"name": one, **(report if one == names[0] else {})} for one in names],
        },
    }


def decoded(found: dict[str, Any]) -> api.Eviction:
    return msgspec.convert(found, api.Eviction, strict=False)


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        pytest.param(eviction(), NO_ANSWER, id="nobody was asked yet"),
        pytest.param(eviction("Inactive", "Inactive"), NO_ANSWER, id="nobody has its turn yet"),
        pytest.param(eviction("Active", "Inactive"), NO_ANSWER, id="asked, no report yet"),
        pytest.param(
            eviction("Active", "Inactive", expectedCompletionTime=SOON, message="saving\n 40 %"),
            ResponderAnswer(AT + 300, message="saving 40 %"),
            id="a time and a message, in one line",
        ),
        pytest.param(
            eviction("Active", "Inactive", expectedCompletionTime=SOON, completionTime=SOON),
            NO_ANSWER,
            id="done, and the next one has not got its turn yet",
        ),
        pytest.param(eviction("Completed", "Active"), ResponderAnswer(done=True), id="all are done but the last one"),
        pytest.param(
            eviction("Interrupted", "Active"), ResponderAnswer(done=True), id="one that was silent is not waited for"
        ),
        pytest.param(eviction("Completed", "Active", "Inactive"), NO_ANSWER, id="the second one has its turn"),
        pytest.param(eviction("Active"), NO_ANSWER, id="only the last one, which saves nothing"),
        pytest.param(eviction("Canceled", "Inactive", failed=True), NO_ANSWER, id="canceled"),
    ],
)
def test_answers(found: dict[str, Any], answer: ResponderAnswer) -> None:
    assert answer_of(decoded(found)) == answer


def test_what_responders_say_counts_before_annotations_of_the_pod() -> None:
    request = EvictionRequest(AT, AT + 600, expected=AT + 100)
    answered = msgspec.structs.replace(request, answer=ResponderAnswer(AT + 300))
    assert (request.expects, request.end, request.may_go) == (AT + 100, AT + 100, False)
    assert (answered.expects, answered.end, answered.may_go) == (AT + 300, AT + 300, False)
    assert msgspec.structs.replace(request, answer=ResponderAnswer(done=True)).may_go


def test_an_eviction_is_told_once_and_forgotten_with_its_object() -> None:
    store, says = ResponderStore(), decoded(eviction("Completed", "Active"))
    assert store.put("default/e", says) == "u"
    assert not store.put("default/e", says)
    assert store.put("default/e", decoded(eviction("Canceled", "Inactive", failed=True))) == "u"
    assert store.put("default/e", says) == "u"
    assert store.put("default/e", decoded(eviction("Completed", "Active", uid="another"))) == "another"
    assert store.drop("default/e") == "another"
    assert not store.drop("default/e")


ASKED_TO_END = {
    "type": ASKED,
    "status": "True",
    "message": "reclaim for ml/train, until 2027-01-15T08:10:00Z",
    "lastTransitionTime": "2027-01-15T08:00:00Z",
}


@pytest.mark.parametrize("first", ["pod", "eviction"])
def test_an_answer_and_its_pod_come_in_any_order(first: str) -> None:
    watch = Watch()
    pod = make.pod("p", node="n1", metadata={"uid": "u"}, status={"conditions": [ASKED_TO_END]})
    said = eviction("Active", "Inactive", expectedCompletionTime=SOON, message="saving")
    told = [watch.tell(found) for found in ((pod, said) if first == "pod" else (said, pod))]
    assert told == [first == "pod", True], "an answer alone matters to nobody"
    task = watch.cache.task("u")
    assert task is not None
    assert task.asked is not None
    assert task.asked.answer == ResponderAnswer(AT + 300, message="saving")
    assert not watch.tell(said), "nothing new"
    assert watch.tell(said, "DELETED")
    task = watch.cache.task("u")
    assert task is not None
    assert task.asked is not None
    assert task.asked.answer == NO_ANSWER


@pytest.mark.parametrize(
    ("spec", "responds"),
    [
        pytest.param({}, False, id="no responders"),
        pytest.param({"evictionResponders": [{"name": SAVER}]}, True, id="a responder"),
        pytest.param({"evictionResponders": []}, False, id="an empty list"),
        pytest.param(
            {"evictionResponders": [{"name": SAVER}], "schedulingGroup": {"podGroupName": "g"}},
            False,
            id="EvictionRequests do not reach pods of Kubernetes' own PodGroups",
        ),
    ],
)
def test_who_can_be_asked_by_an_eviction_request(spec: dict[str, Any], *, responds: bool) -> None:
    watch = Watch()
    watch.tell(make.pod("p", node="n1", metadata={"uid": "u"}, spec=spec))
    task = watch.cache.task("u")
    assert task is not None
    assert task.responds is responds
