"""Faults on a seed: what a file may say, which request is hit, and what a client sees of each kind."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.api_client import PODS, Api, pod
from tests.support.examples import examples
from vsched.errors import BadInput
from vsched.sim.api.fault_plan import VERBS, Fault, FaultInjector, FaultKind, plan_of, read_faults
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.requests.request import ApiRequest

SAMPLE = Path(__file__).parents[3] / "config" / "faults.yaml"
NODES, BINDING = "/api/v1/nodes", f"{PODS}/p/binding"
BROKEN = (aiohttp.ClientError, ConnectionError)


def faults(*rules: dict[str, Any], **more: Any) -> FaultInjector:
    return FaultInjector(plan_of({"rules": list(rules), **more}, "faults.yaml"))


def always(kind: str, **more: Any) -> FaultInjector:
    return faults({"fault": kind, "percent": 100, **more})


def call(method: str = "GET", path: str = NODES, agent: str = "", **query: str) -> ApiRequest:
    return ApiRequest(method, path, query, "", "", agent)


@asynccontextmanager
async def failing(given_faults: FaultInjector) -> AsyncIterator[tuple[Cluster, Api]]:
    cluster = Cluster(settings=ClusterSettings(None), faults=given_faults)
    async with cluster, aiohttp.ClientSession(cluster.url) as session:
        yield cluster, Api(session)


# -- the file

BAD = [
    pytest.param("[]", "{}: must be an object, is a list", id="no mapping"),
    pytest.param("", "{}: 0 documents: expected one, with seed and rules", id="empty"),
    pytest.param("a: 1\n---\nb: 1", "{}: 2 documents: expected one, with seed and rules", id="two documents"),
    pytest.param("rules: ]", "{}: document 1, line 1: did not find expected node content", id="no YAML"),
    pytest.param("sed: 1", "{}: Object contains unknown field `sed`", id="an unknown key"),
    pytest.param("rules: [{fault: error}]", "{}: rules[0]: Object missing required field `percent`", id="no percent"),
    pytest.param("rules: [{fault: eror, percent: 5}]", "{}: rules[0].fault: Invalid enum value 'eror'", id="a typo"),
    pytest.param("rules: [{fault: slow, percent: 101}]", "{}: rules[0].percent: must be a number <= 100.0", id="101 %"),
    pytest.param("rules: [{fault: error, percent: 5, verbs: [read]}]",
                 "{}: rules[0].verbs[0]: Invalid enum value 'read'", id="an unknown verb"),
    pytest.param("rules: [{fault: error, percent: 5}, {fault: conflict, percent: 5, verbs: [create, get]}]",
                 "{}: rules[1].verbs: conflict cannot happen to 'get': expected create, update, patch, delete,"
                 " deletecollection", id="a verb that it cannot happen to"),
    pytest.param("rules: [{fault: error, percent: 5, delay_ms: 5}]",
                 "{}: rules[0].delay_ms: error has no delay: expected it with slow, timeout, watch-cut, watch-expired,"
                 " watch-silent, watch-skips, watch-late, webhook-timeout only", id="a delay of what is not late"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "faults.yaml"
    path.write_text(text)
    with pytest.raises(BadInput) as refused:
        read_faults(path)
    assert str(refused.value) == message.format(path)


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(BadInput, match=r"^/nowhere\.yaml: cannot be read: No such file or directory$"):
        read_faults(Path("/nowhere.yaml"))


def test_the_sample_has_every_kind_at_five_percent_and_hits_the_daemon_only() -> None:
    plan = read_faults(SAMPLE).plan
    assert [rule.fault for rule in plan.rules] == list(FaultKind)
    assert {rule.percent for rule in plan.rules} == {5.0}
    drawn = read_faults(SAMPLE)
    assert not any(drawn.draw(call(agent="kubectl/v1.32")) for _ in range(200))
    assert any(drawn.draw(call(agent="vsched/1")) for _ in range(200))


# -- what is drawn

REQUESTS = (("GET", NODES), ("GET", f"{PODS}/p"), ("POST", PODS), ("PATCH", f"{PODS}/p/status"), ("POST", BINDING))
MIXED = tuple({"fault": kind.value, "percent": 10} for kind in FaultKind)


@given(st.lists(st.sampled_from(REQUESTS), max_size=40), st.integers(0, 3))
@settings(max_examples=examples(25), deadline=None)
def test_the_nth_request_of_a_kind_has_the_same_fate_whatever_comes_between(
    requests: list[tuple[str, str]], seed: int
) -> None:
    mixed, sorted_ = faults(*MIXED, seed=seed), faults(*MIXED, seed=seed)
    drawn = [(request, mixed.draw(call(*request))) for request in requests]
    for kind in REQUESTS:
        apart = [sorted_.draw(call(*kind)) for request in requests if request == kind]
        assert [fault for request, fault in drawn if request == kind] == apart
    assert mixed.tallies() == sorted_.tallies()


def test_another_seed_is_another_fate() -> None:
    one, other = (faults(*MIXED, seed=seed) for seed in (1, 2))
    assert [one.draw(call()) for _ in range(100)] != [other.draw(call()) for _ in range(100)]


def test_it_hits_about_as_often_as_it_says_and_counts() -> None:
    drawn = faults({"fault": "error", "percent": 5}, {"fault": "slow", "percent": 20, "verbs": ["list"]})
    hits = Counter(fault.kind for _ in range(4000) if (fault := drawn.draw(call())) is not None)
    assert 140 < hits[FaultKind.ERROR] < 270
    assert 600 < hits[FaultKind.SLOW] < 920
    first, second = drawn.tallies()
    assert (first.requests, first.hits, second.hits) == (4000, hits[FaultKind.ERROR], hits[FaultKind.SLOW])
    assert second.requests == 4000 - first.hits, "what has failed already is not drawn for again"
    assert len(list(drawn.lines())) == 3


CONCERNS = [
    pytest.param({"resources": ["pods"]}, call("POST", PODS), True, id="a resource"),
    pytest.param({"resources": ["pods"]}, call("POST", BINDING), False, id="not its subresources"),
    pytest.param({"resources": ["pods/binding"]}, call("POST", BINDING), True, id="a subresource"),
    pytest.param({"resources": ["*/binding"]}, call("POST", BINDING), True, id="a subresource of anything"),
    pytest.param({"resources": ["*"]}, call("POST", BINDING), True, id="anything"),
    pytest.param({"verbs": ["watch"]}, call(path=NODES, watch="1"), True, id="a watch"),
    pytest.param({"verbs": ["list"]}, call(path=NODES, watch="1"), False, id="which is no list"),
    pytest.param({}, call(path="/version"), False, id="never what is not about a resource"),
    pytest.param({}, call(path="/apis/apps/v1"), False, id="nor discovery"),
]


@pytest.mark.parametrize(("rule", "request_", "hit"), CONCERNS)
def test_what_a_rule_is_about(rule: dict[str, Any], request_: ApiRequest, hit: bool) -> None:
    assert (always("error", **rule).draw(request_) is not None) is hit


@pytest.mark.parametrize("kind", list(FaultKind))
def test_a_fault_happens_only_to_what_it_can_happen_to(kind: FaultKind) -> None:
    samples = {"list": call(resourceVersion="0"), "create": call("POST", PODS), "watch": call(path=NODES, watch="1")}
    hit = {verb for verb, request in samples.items() if always(kind.value).draw(request) is not None}
    assert hit == set(VERBS.get(kind, samples)) & set(samples)


def test_a_limit_is_kept_and_faults_can_be_turned_off() -> None:
    drawn = always("error", limit=2)
    assert [drawn.draw(call()) is not None for _ in range(4)] == [True, True, False, False]
    other = always("error")
    other.enabled = False
    assert other.draw(call()) is None
    other.enabled = True
    assert other.draw(call()) == Fault(FaultKind.ERROR)


def test_kinds_of_requests_that_nobody_serves_cannot_fill_the_memory() -> None:
    drawn = always("error")
    for number in range(1200):
        assert drawn.draw(call(path=f"/api/v1/things{number}")) is not None
    assert len(drawn._seen) <= 1001


# -- what a client sees


@pytest.mark.parametrize(
    ("kind", "code", "reason", "header"),
    [
        pytest.param("error", 500, "InternalError", None, id="500"),
        pytest.param("unavailable", 503, "ServiceUnavailable", None, id="503"),
        pytest.param("throttled", 429, "TooManyRequests", "7", id="429, with a time to come back"),
        pytest.param("conflict", 409, "Conflict", None, id="409"),
        pytest.param("denied", 403, "Forbidden", None, id="403, by a webhook"),
        pytest.param("webhook-timeout", 500, "InternalError", None, id="500, for a webhook that does not answer"),
    ],
)
async def test_refusals_leave_nothing_behind(kind: str, code: int, reason: str, header: str | None) -> None:
    more = {"throttled": {"retry_after_seconds": 7}, "webhook-timeout": {"delay_ms": 10}}.get(kind, {})
    async with failing(always(kind, **more)) as (cluster, api):
        reply = await api.post(PODS, pod("p"))
        assert (reply.code, reply.reason, reply.headers.get("Retry-After")) == (code, reason, header)
        assert cluster.client.get("pods", "default", "p") is None


async def test_a_conflict_of_a_binding_is_about_the_binding() -> None:
    async with failing(faults({"fault": "conflict", "percent": 100, "resources": ["pods/binding"]})) as (_, api):
        await api.pod("p")
        reply = await api.bind("p")
        assert reply.message.startswith('Operation cannot be fulfilled on pods/binding "p": ')
        assert reply.body["details"] == {"name": "p", "kind": "pods/binding"}


@pytest.mark.parametrize(
    ("kind", "done"),
    [
        pytest.param("drop-before", False, id="before anything is done"),
        pytest.param("drop-after", True, id="when all is done"),
        pytest.param("truncated", True, id="in the middle of the answer"),
    ],
)
async def test_connections_that_break(kind: str, done: bool) -> None:
    async with failing(always(kind, verbs=["create"])) as (cluster, api):
        with pytest.raises(BROKEN):
            await api.post(PODS, pod("p"))
        assert (cluster.client.get("pods", "default", "p") is not None) is done
        assert (await api.get(PODS)).code == 200, "the next one is a new connection"


async def test_half_of_a_long_list() -> None:
    async with failing(always("truncated", limit=1)) as (cluster, api):
        for number in range(600):
            cluster.client.create("configmaps", {"metadata": {"name": f"c{number}", "namespace": "default"}})
        async with api.session.get("/api/v1/configmaps") as response:
            assert response.status == 200
            with pytest.raises(BROKEN):
                await response.read()
        assert len((await api.get("/api/v1/configmaps")).names()) == 600


@pytest.mark.real_time
async def test_late_answers() -> None:
    slow = {"fault": "slow", "percent": 100, "delay_ms": 60, "verbs": ["list"]}
    late = {"fault": "timeout", "percent": 100, "delay_ms": 60, "verbs": ["create"]}
    async with failing(faults(slow, late)) as (cluster, api):
        began = monotonic()
        assert (await api.get(NODES)).code == 200
        reply = await api.post(PODS, pod("p"))
        assert monotonic() - began >= 0.12
        assert (reply.code, reply.reason) == (504, "Timeout")
        assert cluster.client.get("pods", "default", "p") is not None


async def test_a_watch_that_is_cut_ends_in_the_middle_of_an_event() -> None:
    async with failing(always("watch-cut", delay_ms=50)) as (_, api):
        await api.pod("p")
        async with api.session.get("/api/v1/pods?watch=1") as response:
            first = await response.content.readline()
            assert first.endswith(b"\n")
            with pytest.raises(BROKEN):
                await asyncio.wait_for(response.content.read(), 60.0)


async def test_a_watch_that_expires_says_so_and_ends() -> None:
    async with failing(always("watch-expired", delay_ms=50)) as (_, api), api.watch("/api/v1/pods?watch=1") as watch:
        event = await watch.next()
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert await watch.ended()


async def test_a_watch_that_falls_silent_stays_open() -> None:
    async with failing(always("watch-silent", delay_ms=0)) as (_, api):
        await api.pod("p")
        async with api.session.get("/api/v1/pods?watch=1") as response:
            await api.pod("q")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(response.content.read(1), 0.2)
            assert not response.content.at_eof()


async def test_a_watch_that_ends_before_its_fault_ends_as_it_should() -> None:
    path = "/api/v1/pods?watch=1&timeoutSeconds=1"
    async with failing(always("watch-cut", delay_ms=3_600_000)) as (_, api), api.watch(path) as watch:
        assert await watch.ended()


async def test_what_a_watch_sends_comes_twice() -> None:
    async with failing(always("watch-repeats")) as (_, api), api.watch("/api/v1/pods?watch=1") as watch:
        await api.pod("p")
        seen = [await watch.next() for _ in range(2)]
        assert seen[0] == seen[1]
        assert seen[0]["object"]["metadata"]["name"] == "p"


async def test_a_watch_leaves_states_out_and_never_the_last_one() -> None:
    path = "/api/v1/configmaps?watch=1&resourceVersion=1"
    async with failing(always("watch-skips", delay_ms=300)) as (cluster, api), api.watch(path) as watch:
        for name in ("kept", "gone"):
            cluster.client.create("configmaps", {"metadata": {"name": name, "namespace": "default"}})
        for text in ("a", "b"):
            cluster.client.patch(
                "configmaps", "default", "kept", lambda found, text=text: {**found, "data": {"x": text}}
            )
        cluster.client.delete("configmaps", "default", "gone")
        event = await watch.next()
        while event["object"]["metadata"]["name"] != "kept":
            event = await watch.next()
        assert (event["type"], event["object"]["data"]) == ("ADDED", {"x": "b"})
        cluster.client.delete("configmaps", "default", "kept")
        cluster.client.create("configmaps", {"metadata": {"name": "kept", "namespace": "default"}})
        events = [await watch.next() for _ in range(2)]
        assert [(each["type"], each["object"].get("data")) for each in events] == [
            ("DELETED", {"x": "b"}),
            ("ADDED", None),
        ]


@pytest.mark.real_time
async def test_a_watch_is_late_and_a_list_is_not() -> None:
    faults_ = faults({"fault": "watch-late", "percent": 100, "delay_ms": 3000}, seed=1)
    async with failing(faults_) as (_, api), api.watch("/api/v1/pods?watch=1") as watch:
        began = monotonic()
        await api.pod("p")
        assert (await api.get(PODS)).names() == ["p"]
        assert monotonic() - began < 0.1
        assert (await watch.next())["object"]["metadata"]["name"] == "p"
        assert monotonic() - began > 0.1


async def test_only_a_list_that_may_be_out_of_date_is() -> None:
    async with failing(always("list-stale", versions=1, limit=40)) as (_, api):
        await api.pod("p")
        assert (await api.get(PODS)).names() == ["p"]
        stale = [(await api.get(f"{PODS}?resourceVersion=0")).names() for _ in range(40)]
        assert {tuple(names) for names in stale} == {(), ("p",)}
        assert (await api.get(f"{PODS}?resourceVersion=0")).names() == ["p"]


async def test_what_a_webhook_adds_is_stored() -> None:
    async with failing(always("mutated")) as (cluster, api):
        await api.pod("p")
        found = cluster.client.get("pods", "default", "p")
        assert found is not None
        assert found["metadata"]["labels"]["fault.vsched.io"] == "changed"
        assert (await api.post(PODS, {"metadata": {"labels": 5}})).code in (400, 422)
