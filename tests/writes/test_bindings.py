"""Carrying out placements, over HTTP. That the cluster ends up right is tested end to end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.recording_server import RecordingServer, Reply, Sent, recording, writer_to
from tests.support.waiting import until
from vsched.model.plan import Bind
from vsched.writes.bind_backoff import TRIES_ELSEWHERE, BindBackoff, wait_seconds
from vsched.writes.bindings import BindOutcome, Dispatcher, DispatchSettings, Outcome
from vsched.writes.limits import Attempts
from vsched.writes.precedence import Precedence
from vsched.writes.writer import Permit, Writer

QUICK = DispatchSettings(max_in_flight=4, attempts=Attempts(3, first_seconds=0.005, ceiling_seconds=0.02))


def bind(number: int = 0, node: str = "n1") -> Bind:
    return Bind(f"uid-{number}", "ns", f"pod-{number}", node, "ns/job")


POD_0 = "/api/v1/namespaces/ns/pods/pod-0"


def pod_on(node: str, uid: str = "uid-0") -> dict[str, Any]:
    return {"metadata": {"name": "pod-0", "uid": uid}, "spec": {"nodeName": node} if node else {}}


@asynccontextmanager
async def dispatching(
    settings: DispatchSettings = QUICK, permit: Permit = lambda: True
) -> AsyncIterator[tuple[RecordingServer, Dispatcher, list[Outcome], Writer]]:
    outcomes: list[Outcome] = []
    async with recording() as (server, client):
        writer = writer_to(client, permit=permit)
        dispatcher = Dispatcher(client, writer, outcomes.append, settings)
        server.objects[POD_0] = lambda: pod_on("")
        task = asyncio.create_task(dispatcher.run())
        try:
            yield server, dispatcher, outcomes, writer
        finally:
            task.cancel()
            await asyncio.wait((task,))


async def test_a_binding_carries_annotations_for_the_pod() -> None:
    async with dispatching() as (server, dispatcher, outcomes, _):
        dispatcher.submit([replace(bind(), annotations=(("volcano.sh/topology-decision", "{}"),))])
        await until(lambda: outcomes)
        (sent,) = server.sent
        assert isinstance(sent.body, dict)
        assert sent.body["metadata"]["annotations"] == {"volcano.sh/topology-decision": "{}"}


async def test_a_binding_carries_the_uid_and_the_node() -> None:
    async with dispatching() as (server, dispatcher, outcomes, _):
        dispatcher.submit([bind(7, "n3")])
        await until(lambda: outcomes)
        assert server.sent == [
            Sent(
                "POST",
                "/api/v1/namespaces/ns/pods/pod-7/binding",
                {
                    "apiVersion": "v1",
                    "kind": "Binding",
                    "metadata": {"name": "pod-7", "namespace": "ns", "uid": "uid-7"},
                    "target": {"apiVersion": "v1", "kind": "Node", "name": "n3"},
                },
            )
        ]
        assert outcomes[0].bound
        assert not dispatcher.busy


@pytest.mark.parametrize(
    ("replies", "verdict", "requests"),
    [
        pytest.param([Reply(201)], BindOutcome.BOUND, 1, id="done at once"),
        pytest.param([Reply(500), Reply(201)], BindOutcome.BOUND, 2, id="an internal error is tried again"),
        pytest.param([Reply(0), Reply(201)], BindOutcome.BOUND, 2, id="a lost connection is tried again"),
        pytest.param([Reply(503)] * 5, BindOutcome.GAVE_UP, 3, id="attempts are bounded"),
        pytest.param([Reply(429)] * 5, BindOutcome.GAVE_UP, 3, id="too many requests for too long"),
        pytest.param([Reply(404, "not found")], BindOutcome.GONE, 1, id="the pod is gone"),
        pytest.param([Reply(409, "uid does not match")], BindOutcome.REFUSED, 1, id="another pod of the same name"),
        pytest.param([Reply(422, "invalid")], BindOutcome.REFUSED, 1, id="refused content"),
        pytest.param([Reply(403, "no")], BindOutcome.REFUSED, 1, id="not allowed"),
        pytest.param(
            [Reply(409, 'pod pod-0 is already assigned to node "n1"')], BindOutcome.BOUND, 1, id="already on our node"
        ),
        pytest.param(
            [Reply(409, 'pod pod-0 is already assigned to node "n10"')], BindOutcome.REFUSED, 1, id="already on another"
        ),
        pytest.param(
            [Reply(0), Reply(409, 'pod pod-0 is already assigned to node "n1"')],
            BindOutcome.BOUND,
            2,
            id="our own success, found on the second attempt",
        ),
    ],
)
async def test_what_an_answer_means(replies: list[Reply], verdict: BindOutcome, requests: int) -> None:
    async with dispatching() as (server, dispatcher, outcomes, _):
        script = iter(replies)
        server.reply = lambda sent: next(script)
        dispatcher.submit([bind()])
        await until(lambda: outcomes)
        assert [outcome.verdict for outcome in outcomes] == [verdict]
        assert len(server.sent) == requests


NOBODY_KNOWS = {
    "no answer at all": [Reply(0)] * 3,
    "a conflict after an answer that was lost": [Reply(0), Reply(409, "the object has been modified")],
    "a refusal after an answer that was lost": [Reply(504), Reply(422, "denied by a policy")],
}


@pytest.mark.parametrize("replies", NOBODY_KNOWS.values(), ids=NOBODY_KNOWS.keys())
@pytest.mark.parametrize(
    ("found", "verdict", "elsewhere"),
    [
        pytest.param([pod_on("n1")], BindOutcome.BOUND, "", id="it was bound"),
        pytest.param([pod_on("n2")], BindOutcome.REFUSED, "n2", id="somebody bound it to another node"),
        pytest.param([pod_on("n1", uid="uid-1")], BindOutcome.GONE, "", id="a newer pod of this name"),
        pytest.param([Reply(404, "not found")], BindOutcome.GONE, "", id="it is gone"),
        pytest.param([Reply(500), Reply(0), pod_on("n1")], BindOutcome.BOUND, "", id="the server takes its time"),
    ],
)
async def test_what_nobody_knows_is_read_before_the_place_is_given_away(
    replies: list[Reply], found: list[dict[str, Any] | Reply], verdict: BindOutcome, elsewhere: str
) -> None:
    async with dispatching() as (server, dispatcher, outcomes, _):
        script, shown = iter(replies), iter(found)
        server.reply = lambda sent: next(script)
        server.objects[POD_0] = lambda: next(shown)
        dispatcher.submit([bind()])
        await until(lambda: outcomes)
        assert [(outcome.verdict, outcome.elsewhere) for outcome in outcomes] == [(verdict, elsewhere)]
        assert not list(shown), "all of it was read"


async def test_who_may_not_write_any_more_does_not_look_for_ever() -> None:
    leads = [True]
    async with dispatching(permit=lambda: leads[0]) as (server, dispatcher, outcomes, _):
        server.reply = lambda sent: Reply(503)

        def silent() -> Reply:
            leads[0] = False
            return Reply(503)

        server.objects[POD_0] = silent
        dispatcher.submit([bind()])
        await until(lambda: outcomes)
        assert [outcome.verdict for outcome in outcomes] == [BindOutcome.DROPPED]


@pytest.mark.parametrize(
    ("reply", "by_admission"),
    [
        pytest.param(Reply(422, "denied by a policy"), True, id="a policy that denies it"),
        pytest.param(Reply(403, 'admission webhook "w" denied the request: no'), True, id="a webhook that denies it"),
        pytest.param(
            Reply(403, 'pods "pod-0" is forbidden: User "u" cannot create resource "pods/binding" in API group ""'),
            False,
            id="rights that we lack concern all nodes",
        ),
        pytest.param(Reply(403, "it goes", cause="NamespaceTerminating"), False, id="a namespace that is going"),
        pytest.param(Reply(409, "uid does not match"), False, id="another pod of the same name"),
        pytest.param(Reply(503), False, id="a server that cannot answer"),
    ],
)
async def test_which_refusals_concern_the_node(reply: Reply, by_admission: bool) -> None:
    async with dispatching() as (server, dispatcher, outcomes, _):
        server.reply = lambda sent: reply
        dispatcher.submit([bind()])
        await until(lambda: outcomes)
        assert [outcome.by_admission for outcome in outcomes] == [by_admission]


async def test_a_server_that_asks_for_patience_is_given_it() -> None:
    async with dispatching() as (server, dispatcher, outcomes, _):
        script = iter([Reply(429, retry_after="1"), Reply(201)])
        server.reply = lambda sent: next(script)
        now = asyncio.get_running_loop().time
        began = now()
        dispatcher.submit([bind()])
        await until(lambda: outcomes)
        assert now() - began >= 0.1, "five times the ceiling of the back-off is the most that is given"


async def test_no_more_are_in_flight_than_allowed_and_order_is_kept() -> None:
    async with dispatching() as (server, dispatcher, outcomes, _):
        server.open.clear()
        dispatcher.submit(bind(number) for number in range(20))
        await until(lambda: server.in_flight == 4)
        assert (dispatcher.in_flight, dispatcher.depth) == (4, 16)
        assert {sent.path.split("/")[-2] for sent in server.sent} == {f"pod-{number}" for number in range(4)}
        server.open.set()
        await until(lambda: len(outcomes) == 20)
        assert server.most_in_flight == 4


async def test_a_burst_is_taken_in_steps_and_one_that_comes_to_a_closed_queue_on_the_way_is_dropped() -> None:
    async with dispatching() as (_, dispatcher, outcomes, _):
        steps = dispatcher.submitting(bind(number) for number in range(5))
        for _ in range(3):
            next(steps)
        assert dispatcher.depth == 3
        assert await dispatcher.drain(5.0) == 0
        assert len(list(steps)) == 2
        assert [outcome.bound for outcome in outcomes] == [True] * 3 + [False] * 2


async def test_what_finds_no_room_in_the_queue_is_dropped_with_an_outcome() -> None:
    async with dispatching(DispatchSettings(max_in_flight=1, queue_limit=2)) as (server, dispatcher, outcomes, _):
        server.open.clear()
        dispatcher.submit(bind(number) for number in range(5))
        assert [outcome.bind.name for outcome in outcomes] == ["pod-2", "pod-3", "pod-4"]
        assert {outcome.verdict for outcome in outcomes} == {BindOutcome.DROPPED}
        server.open.set()
        await until(lambda: len(outcomes) == 5)


async def test_draining_waits_for_what_is_under_way() -> None:
    async with dispatching() as (_, dispatcher, outcomes, _):
        dispatcher.submit(bind(number) for number in range(50))
        assert await dispatcher.drain(5.0) == 0
        assert len(outcomes) == 50
        assert all(outcome.bound for outcome in outcomes)
        dispatcher.submit([bind(99)])
        assert outcomes[-1].verdict is BindOutcome.DROPPED


@pytest.mark.parametrize("count", [10, 3_000])
async def test_draining_ends_at_the_deadline_and_drops_and_counts_what_is_left(count: int) -> None:
    async with dispatching() as (server, dispatcher, outcomes, _):
        server.open.clear()
        dispatcher.submit(bind(number) for number in range(count))
        await until(lambda: server.in_flight == 4)
        assert await dispatcher.drain(0.05) == count
        assert [outcome.verdict for outcome in outcomes] == [BindOutcome.DROPPED] * (count - 4)
        assert len({outcome.bind.uid for outcome in outcomes}) == count - 4
        server.open.set()


async def test_a_first_failure_frees_the_pod_at_once_and_later_ones_after_a_wait() -> None:
    freed: list[str] = []
    setbacks = BindBackoff(freed.append)
    setbacks.failed("u")
    assert freed == ["u"]
    setbacks.failed("u")
    assert (freed, len(setbacks.workqueue)) == (["u"], 1)
    setbacks.clear("v")
    setbacks.failed("v")
    assert freed == ["u", "v"]
    task = asyncio.create_task(setbacks.run())
    await until(lambda: freed == ["u", "v", "u"])
    task.cancel()
    await asyncio.wait((task,))


def test_some_other_nodes_are_tried_without_a_wait() -> None:
    freed: list[str] = []
    setbacks = BindBackoff(freed.append)
    for _ in range(TRIES_ELSEWHERE + 1):
        setbacks.failed("u", elsewhere=True)
    assert (len(freed), len(setbacks.workqueue)) == (TRIES_ELSEWHERE, 1)


def test_once_the_server_answers_again_all_are_freed_at_once_and_counted_anew() -> None:
    freed: list[str] = []
    setbacks = BindBackoff(freed.append)
    for uid in ("u", "v") * 3:
        setbacks.failed(uid)
    assert freed == ["u", "v"]
    setbacks.release()
    assert (sorted(freed[2:]), setbacks.workqueue.busy) == (["u", "v"], False)
    setbacks.failed("u")
    assert freed[4:] == ["u"]


@pytest.mark.parametrize(("failures", "seconds"), [(2, 0.25), (3, 0.5), (6, 4.0), (100, 30.0)])
def test_waits_between_failures_of_one_pod_double_up_to_a_ceiling(failures: int, seconds: float) -> None:
    assert wait_seconds(failures) == seconds


async def test_bindings_have_precedence_until_the_last_of_them_is_answered() -> None:
    async with dispatching() as (server, dispatcher, outcomes, _):
        precedence, over = Precedence(2.0), list[int]()
        precedence.wait(lambda: over.append(len(outcomes)))
        dispatcher.goes_before(precedence)
        assert not precedence.taken()
        server.open.clear()
        dispatcher.submit([bind(number) for number in range(10)])
        assert precedence.taken()
        await until(lambda: server.in_flight == 4)
        assert precedence.taken()
        server.open.set()
        await until(lambda: len(outcomes) == 10)
        await until(lambda: over)
        assert over == [10]
        assert not precedence.taken()
