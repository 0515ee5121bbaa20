"""Carrying out evictions, over HTTP. That the cluster ends up right is tested end to end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import msgspec
import pytest

from tests.support.recording_server import RecordingServer, Reply, Sent, recording, writer_to
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.model.plan import WALL_TIME, AskAgain, Evict, Withdraw
from vsched.model.pods.cooperation import REQUEST_ANNOTATIONS
from vsched.writes import words
from vsched.writes.evictions import EvictionOutcome, EvictionSettings, EvictionVerdict, Evictor
from vsched.writes.limits import Attempts
from vsched.writes.writer import Writer

QUICK = EvictionSettings(
    max_in_flight=4,
    attempts=Attempts(3, first_seconds=0.005, ceiling_seconds=0.02),
    condition_attempts=Attempts(2, first_seconds=0.005, ceiling_seconds=0.02),
)
DELETING = EvictionSettings(delete=True, max_in_flight=4, attempts=QUICK.attempts)
PATH = "/api/v1/namespaces/ns/pods/pod-7"
CONDITION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "reclaim for ns/other",
    "lastTransitionTime": "1970-01-01T00:16:40Z",
}
TOLD = Sent("PATCH", PATH + "/status", {"metadata": {"uid": "uid-7"}, "status": {"conditions": [CONDITION]}})
BUDGET = Reply(429, "Cannot evict pod as it would violate the pod's disruption budget.", cause="DisruptionBudget")
UNSEEN_BUDGET = BUDGET._replace(retry_after="10")
TWO_BUDGETS = Reply(500, f"This pod has {words.MORE_THAN_ONE_BUDGET}, which the eviction subresource ...")
ANOTHER_POD = 'Operation cannot be fulfilled on Pod "pod-7": the UID in the precondition (a) does not match ...'
STORED_ANOTHER = "StorageError: invalid object, Code: 4, Precondition failed: UID in precondition: a, UID in object ..."


def evict(number: int = 7) -> Evict:
    return Evict(f"uid-{number}", "ns", f"pod-{number}", "n1", "ns/job", "reclaim", "ns/other")


@asynccontextmanager
async def evicting(
    settings: EvictionSettings = QUICK, gone: Collection[str] = ()
) -> AsyncIterator[tuple[RecordingServer, Evictor, list[EvictionOutcome], Writer]]:
    outcomes: list[EvictionOutcome] = []
    async with recording() as (server, client):
        writer = writer_to(client)
        clock, is_there = FakeClock(now=1000.0), lambda uid: uid not in gone
        evictor = Evictor(writer, outcomes.append, settings, clock, is_there=is_there)
        task = asyncio.create_task(evictor.run())
        try:
            yield server, evictor, outcomes, writer
        finally:
            task.cancel()
            await asyncio.wait((task,))


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        pytest.param(
            QUICK,
            Sent(
                "POST",
                PATH + "/eviction",
                {
                    "apiVersion": "policy/v1",
                    "kind": "Eviction",
                    "metadata": {"name": "pod-7", "namespace": "ns"},
                    "deleteOptions": {"preconditions": {"uid": "uid-7"}},
                },
            ),
            id="asked for",
        ),
        pytest.param(
            DELETING,
            Sent(
                "DELETE",
                PATH,
                {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "uid-7"}},
            ),
            id="done by deletion",
        ),
    ],
)
async def test_an_eviction_is_for_one_uid_and_the_pod_is_told_why_afterwards(
    settings: EvictionSettings, asked: Sent
) -> None:
    async with evicting(settings) as (server, evictor, outcomes, _):
        evictor.submit([evict()])
        await until(lambda: not evictor.busy)
        assert server.sent == [asked, TOLD]
        assert [outcome.verdict for outcome in outcomes] == [EvictionVerdict.EVICTED]
        assert outcomes[0].eviction == evict()


@pytest.mark.parametrize("settings", [QUICK, DELETING], ids=["asked for", "done by deletion"])
async def test_a_pod_that_is_gone_is_not_told_why(settings: EvictionSettings) -> None:
    async with evicting(settings, gone={"uid-7"}) as (server, evictor, outcomes, _):
        evictor.submit([evict(), evict(8)])
        await until(lambda: not evictor.busy)
        assert [one.path for one in server.sent if one.method == "PATCH"] == ["/api/v1/namespaces/ns/pods/pod-8/status"]
        assert [outcome.verdict for outcome in outcomes] == [EvictionVerdict.EVICTED] * 2


async def test_pods_are_told_why_once_no_eviction_waits() -> None:
    async with evicting(msgspec.structs.replace(QUICK, max_in_flight=1)) as (server, evictor, _, _):
        evictor.submit([evict(1), evict(2)])
        await until(lambda: not evictor.busy)
        asked = [(one.method, one.path.removeprefix("/api/v1/namespaces/ns/pods/")) for one in server.sent]
        assert asked == [
            ("POST", "pod-1/eviction"),
            ("POST", "pod-2/eviction"),
            ("PATCH", "pod-1/status"),
            ("PATCH", "pod-2/status"),
        ]


async def test_pods_of_a_job_whose_wall_time_is_over_are_deleted_whatever_budgets_say() -> None:
    async with evicting(QUICK) as (server, evictor, outcomes, _):
        evictor.submit([msgspec.structs.replace(evict(), action=WALL_TIME, beneficiary="")])
        await until(lambda: not evictor.busy)
        assert [(one.method, one.path) for one in server.sent] == [("DELETE", PATH), ("PATCH", PATH + "/status")]
        assert server.sent[1].body["status"]["conditions"][0]["message"] == words.WALL_TIME_IS_OVER
        assert [outcome.verdict for outcome in outcomes] == [EvictionVerdict.EVICTED]


@pytest.mark.parametrize(
    ("replies", "verdict", "requests"),
    [
        pytest.param([Reply(201)], "evicted", 1, id="done at once"),
        pytest.param([Reply(500), Reply(201)], "evicted", 2, id="an internal error is tried again"),
        pytest.param([Reply(0), Reply(201)], "evicted", 2, id="a lost answer is tried again"),
        pytest.param([Reply(429), Reply(201)], "evicted", 2, id="an overloaded server is tried again"),
        pytest.param([Reply(503)] * 5, "gave-up", 3, id="attempts are bounded"),
        pytest.param([Reply(404, "not found")], "gone", 1, id="the pod is gone"),
        pytest.param([Reply(0), Reply(404)], "gone", 2, id="gone, perhaps by our first attempt"),
        pytest.param([Reply(409, ANOTHER_POD)], "gone", 1, id="another pod of the same name"),
        pytest.param([Reply(409, STORED_ANOTHER)], "gone", 1, id="another pod of the same name, found by the store"),
        pytest.param([Reply(409, "conflict")], "refused", 1, id="another conflict"),
        pytest.param([BUDGET], "refused-now", 1, id="a budget forbids it, which is not asked twice"),
        pytest.param([UNSEEN_BUDGET], "refused-now", 1, id="a budget that is not worked out yet"),
        pytest.param([Reply(429), BUDGET], "refused-now", 2, id="first overloaded, then a budget"),
        pytest.param([TWO_BUDGETS], "refused", 1, id="two budgets, which is not asked twice either"),
        pytest.param([Reply(403, "no")], "refused", 1, id="not allowed"),
    ],
)
async def test_what_an_answer_means(replies: list[Reply], verdict: str, requests: int) -> None:
    async with evicting() as (server, evictor, outcomes, _):
        script = iter(replies)
        server.reply = lambda sent: next(script) if sent.method == "POST" else Reply()
        evictor.submit([evict()])
        await until(lambda: not evictor.busy)
        assert [outcome.verdict for outcome in outcomes] == [verdict]
        assert len(server.of("/eviction")) == requests
        assert len(server.of("/status")) == (verdict == "evicted"), "only a pod that goes is told that it goes"


async def test_how_long_the_server_asks_to_wait_is_passed_on() -> None:
    async with evicting() as (server, evictor, outcomes, _):
        server.reply = lambda sent: UNSEEN_BUDGET
        evictor.submit([evict()])
        await until(lambda: outcomes)
        assert (outcomes[0].asked_seconds, outcomes[0].message) == (10.0, BUDGET.message)


@pytest.mark.parametrize("code", [404, 422, 503], ids=["gone by then", "another pod by then", "no answer"])
async def test_a_pod_that_cannot_be_told_why_is_evicted_all_the_same(code: int) -> None:
    async with evicting() as (server, evictor, outcomes, _):
        server.reply = lambda sent: Reply(code if sent.method == "PATCH" else 201)
        evictor.submit([evict()])
        await until(lambda: not evictor.busy)
        assert [outcome.verdict for outcome in outcomes] == [EvictionVerdict.EVICTED]


async def test_no_more_are_in_flight_than_allowed_and_order_is_kept() -> None:
    async with evicting() as (server, evictor, outcomes, _):
        server.open.clear()
        evictor.submit(evict(number) for number in range(20))
        await until(lambda: server.in_flight == 4)
        assert (evictor.in_flight, evictor.depth) == (4, 16)
        assert {sent.path.split("/")[-2] for sent in server.sent} == {f"pod-{number}" for number in range(4)}
        server.open.set()
        await until(lambda: not evictor.busy)
        assert (server.most_in_flight, len(outcomes)) == (4, 20)


async def test_what_is_decided_twice_is_sent_once() -> None:
    async with evicting() as (server, evictor, outcomes, _):
        server.open.clear()
        evictor.submit(evict(number) for number in range(8))
        await until(lambda: evictor.in_flight == 4)
        evictor.submit(evict(number) for number in range(4, 8))
        server.open.set()
        await until(lambda: not evictor.busy)
        assert len(outcomes) == len(server.of("/eviction")) == 8


async def test_what_finds_no_room_in_the_queue_is_dropped_with_an_outcome() -> None:
    async with evicting(EvictionSettings(max_in_flight=1, queue_limit=2)) as (server, evictor, outcomes, _):
        evictor.submit(evict(number) for number in range(5))
        assert [outcome.eviction.name for outcome in outcomes] == ["pod-2", "pod-3", "pod-4"]
        assert {outcome.verdict for outcome in outcomes} == {EvictionVerdict.DROPPED}
        await until(lambda: not evictor.busy)
        assert len(server.of("/eviction")) == 2


async def test_draining_waits_for_what_is_under_way() -> None:
    async with evicting() as (server, evictor, outcomes, _):
        evictor.submit(evict(number) for number in range(50))
        assert await evictor.drain(5.0) == 0
        assert len(outcomes) == 50
        assert len(server.of("/status")) == 50


async def test_draining_ends_at_the_deadline_and_counts_what_is_left() -> None:
    async with evicting() as (server, evictor, _, _):
        server.open.clear()
        evictor.submit(evict(number) for number in range(10))
        await until(lambda: server.in_flight == 4)
        assert await evictor.drain(0.05) == 10
        server.open.set()


def condition(status: str, reason: str, message: str, since: str) -> Sent:
    said = {"status": status, "reason": reason, "message": message, "lastTransitionTime": since}
    conditions = [{"type": "vsched.io/EvictionRequested", **said}]
    return Sent("PATCH", PATH + "/status", {"metadata": {"uid": "uid-7"}, "status": {"conditions": conditions}})


ASKING = condition(
    "True", "AskedToEnd", "reclaim for ns/other, until 1970-01-01T00:21:40Z", since="1970-01-01T00:16:40Z"
)
TELLING = Sent(
    "PATCH",
    PATH,
    {
        "metadata": {
            "uid": "uid-7",
            "annotations": {
                "vsched.io/eviction-requested": "1970-01-01T00:16:40Z",
                "vsched.io/eviction-deadline": "1970-01-01T00:21:40Z",
                "vsched.io/eviction-reason": "reclaim for ns/other",
                "vsched.io/eviction-expected": None,
                "vsched.io/eviction-ready": None,
            },
        }
    },
)
UNASKING = Sent("PATCH", PATH, {"metadata": {"uid": "uid-7", "annotations": dict.fromkeys(REQUEST_ANNOTATIONS)}})
NOT_ASKING = condition("False", "Withdrawn", "no need", since="1970-01-01T00:16:40Z")
OTHER_POD = 'Pod "pod-7" is invalid: metadata.uid: Invalid value: "uid-7": field is immutable'


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        pytest.param(Reply(200), "requested", id="asked"),
        pytest.param(Reply(404), "gone", id="the pod is gone"),
        pytest.param(Reply(422, OTHER_POD), "gone", id="another pod of the same name"),
        pytest.param(Reply(422, "metadata.annotations: Too long"), "refused", id="there is no place for more"),
        pytest.param(Reply(403, "no"), "refused", id="not allowed"),
    ],
)
async def test_a_pod_that_opts_in_is_asked_for_as_long_as_both_it_and_the_settings_say(
    reply: Reply, verdict: str
) -> None:
    async with evicting(msgspec.structs.replace(QUICK, asks_seconds=300.0)) as (server, evictor, outcomes, _):
        server.reply = lambda sent: reply
        evictor.submit([msgspec.structs.replace(evict(), wait=600.0)])
        await until(lambda: not evictor.busy)
        assert server.sent == [ASKING, TELLING][: 2 if verdict == "requested" else 1]
        assert [outcome.verdict.value for outcome in outcomes] == [verdict]


RESPONDERS = Sent(
    "PATCH",
    "/apis/lifecycle.k8s.io/v1alpha1/namespaces/ns/evictionrequests/vsched-uid-7",
    {
        "apiVersion": "lifecycle.k8s.io/v1alpha1",
        "kind": "EvictionRequest",
        "metadata": {
            "name": "vsched-uid-7",
            "namespace": "ns",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "pod-7", "uid": "uid-7"}],
        },
        "spec": {
            "target": {"pod": {"name": "pod-7", "uid": "uid-7"}},
            "requester": "vsched.io/scheduler",
            "intent": "Eviction",
        },
    },
)
RELEASING = Sent(
    "PATCH",
    "/apis/lifecycle.k8s.io/v1alpha1/namespaces/ns/evictionrequests/vsched-uid-7",
    {"spec": {"intent": "Withdrawn"}},
)


@pytest.mark.parametrize(
    ("code", "wait", "verdict", "again"),
    [
        pytest.param(200, 0.0, "requested", 0, id="asked, once"),
        pytest.param(404, 600.0, "requested", 0, id="the kind is not served: the pod itself is asked"),
        pytest.param(404, 0.0, "evicted", 0, id="the kind is not served, and the pod does not opt in"),
        pytest.param(403, 0.0, "evicted", 0, id="not allowed"),
        pytest.param(503, 0.0, "requested", 3, id="no answer: it is tried again when reminded"),
    ],
)
async def test_responders_are_asked_after_their_pod(code: int, wait: float, verdict: str, again: int) -> None:
    async with evicting(msgspec.structs.replace(QUICK, asks_seconds=300.0)) as (server, evictor, outcomes, _):
        server.reply = lambda sent: Reply(code) if "lifecycle" in sent.path else Reply()
        evictor.submit([msgspec.structs.replace(evict(), wait=wait, responds=True)])
        await until(lambda: not evictor.busy)
        assert [outcome.verdict.value for outcome in outcomes] == [verdict]
        asked = [sent for sent in server.sent if "lifecycle" in sent.path]
        assert server.sent[:2] == [ASKING, TELLING]
        assert set(map(str, asked)) == {str(RESPONDERS)}
        evictor.submit([msgspec.structs.replace(REMINDER, responds=True)])
        await until(lambda: not evictor.busy)
        assert len([sent for sent in server.sent if "lifecycle" in sent.path]) == len(asked) + again


REMINDER = AskAgain("uid-7", "ns", "pod-7", 1000.0, 1300.0, "reclaim", "ns/other", responds=False, told=False)


async def test_what_an_owner_takes_off_a_pod_is_not_written_again() -> None:
    async with evicting(msgspec.structs.replace(QUICK, asks_seconds=300.0)) as (server, evictor, _, _):
        evictor.submit([msgspec.structs.replace(evict(), wait=600.0)])
        await until(lambda: not evictor.busy)
        evictor.submit([REMINDER])
        await until(lambda: not evictor.busy)
        assert server.sent == [ASKING, TELLING]


async def test_what_an_earlier_process_did_not_get_to_tell_is_told_once() -> None:
    async with evicting(msgspec.structs.replace(QUICK, asks_seconds=300.0)) as (server, evictor, _, _):
        for reminder in (msgspec.structs.replace(REMINDER, told=True), REMINDER, REMINDER):
            evictor.submit([reminder])
            await until(lambda: not evictor.busy)
        assert server.sent == [TELLING]


@pytest.mark.parametrize("code", [200, 404])
async def test_responders_are_released_before_their_pod(code: int) -> None:
    verdicts: list[str] = []
    async with recording() as (server, client):
        server.reply = lambda sent: Reply(code) if "lifecycle" in sent.path else Reply()
        evictor = Evictor(
            writer_to(client),
            _unexpected,
            QUICK,
            FakeClock(now=1000.0),
            lambda _, verdict, __: verdicts.append(verdict.value),
        )
        task = asyncio.create_task(evictor.run())
        evictor.submit([Withdraw("uid-7", "ns", "pod-7", "n1", "ns/job", "reclaim", "ns/other", "no need", True)])
        await until(lambda: bool(verdicts))
        assert verdicts == ["withdrawn"]
        assert server.sent == [RELEASING, UNASKING, NOT_ASKING]
        task.cancel()
        await asyncio.wait((task,))


async def test_where_nobody_is_asked_a_pod_that_opts_in_is_evicted_at_once() -> None:
    async with evicting(msgspec.structs.replace(QUICK, asks_seconds=0.0)) as (_, evictor, outcomes, _):
        evictor.submit([msgspec.structs.replace(evict(), wait=600.0)])
        await until(lambda: not evictor.busy)
        assert [outcome.verdict.value for outcome in outcomes] == ["evicted"]


async def test_a_withdrawal_that_fails_is_sent_again_until_it_is_done() -> None:
    settings = msgspec.structs.replace(QUICK, repeat_seconds=0.01)
    verdicts: list[str] = []
    async with recording() as (server, client):
        script = iter([Reply(503)] * 3)
        server.reply = lambda sent: next(script, Reply())
        evictor = Evictor(
            writer_to(client),
            _unexpected,
            settings,
            FakeClock(now=1000.0),
            lambda _, verdict, __: verdicts.append(verdict.value),
        )
        task = asyncio.create_task(evictor.run())
        about = evict()
        evictor.submit([Withdraw(about.uid, "ns", about.name, "n1", "ns/job", "reclaim", "ns/other", "no need")])
        await until(lambda: "withdrawn" in verdicts)
        assert verdicts == ["gave-up", "withdrawn"]
        assert server.sent == [*[UNASKING] * 4, NOT_ASKING]
        task.cancel()
        await asyncio.wait((task,))


async def test_the_latest_decision_about_a_pod_is_the_one_that_holds() -> None:
    async with recording() as (server, client):
        evictor = Evictor(writer_to(client), lambda outcome: None, QUICK, FakeClock(now=1000.0))
        about = evict()
        evictor.submit([Withdraw(about.uid, "ns", about.name, "n1", "ns/job", "reclaim", "ns/other", "no need")])
        evictor.submit([msgspec.structs.replace(about, wait=300.0)])
        task = asyncio.create_task(evictor.run())
        assert await evictor.drain(5.0) == 0
        assert server.sent == [ASKING, TELLING]
        task.cancel()
        await asyncio.wait((task,))


def _unexpected(outcome: EvictionOutcome) -> None:
    raise AssertionError(outcome)
