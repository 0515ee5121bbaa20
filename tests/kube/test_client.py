"""The client: what it sends, what it makes of answers, when it tries again."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from tests.kube.stub_server import Reply, StubServer, body, hang_up, page, pod, refusal, silence, stream
from vsched.errors import Unavailable
from vsched.kube.auth.connection import Connection
from vsched.kube.auth.credentials import FixedHeaders, Headers, basic, bearer
from vsched.kube.backoff import BackOffSettings
from vsched.kube.client import STRATEGIC_PATCH, ApiClient, ClientSettings
from vsched.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    UnexpectedAnswer,
)
from vsched.kube.words import answers as words

QUICK = ClientSettings(
    timeout_seconds=2.0,
    connect_seconds=1.0,
    attempts=3,
    back_off=BackOffSettings(first_seconds=0.001, ceiling_seconds=0.01, asked_ceiling_seconds=0.2),
)
POD = "/api/v1/namespaces/ns/pods/p"
OK = body({"kind": "Pod", "metadata": {"name": "p"}})
LOGIN = b"<!DOCTYPE html><html><head><title>Sign\n in</title></head></html>"


@pytest.fixture
async def client(server: StubServer) -> AsyncIterator[ApiClient]:
    async with ApiClient(Connection(server.url, credentials=FixedHeaders([bearer("secret")])), QUICK) as made:
        yield made


async def test_a_request_carries_who_asks_and_wants_no_compression(server: StubServer, client: ApiClient) -> None:
    server.script("call", OK)
    assert (await client.get(POD))["kind"] == "Pod"
    [seen] = server.seen
    assert seen.headers["Authorization"] == "Bearer secret"
    assert seen.headers["Accept"] == "application/json"
    assert seen.headers["Accept-Encoding"] == "identity"
    assert seen.headers["User-Agent"].startswith("vsched/")


async def test_each_verb_sends_its_method_body_and_content_type(server: StubServer, client: ApiClient) -> None:
    server.script("call", OK)
    await client.create("/c", {"a": 1}, {"dryRun": "All"})
    await client.replace("/r", {"a": 2})
    await client.patch("/p", {"a": 3})
    await client.patch("/s", [{"op": "remove"}], content_type=STRATEGIC_PATCH)
    await client.delete("/d", {"gracePeriodSeconds": 0})
    await client.delete("/e")
    written = await client.write("POST", "/w", b'{"a":4}')
    assert (written.code, orjson.loads(written.body)) == (200, {"kind": "Pod", "metadata": {"name": "p"}})
    sent = [(seen.method, seen.path, seen.headers.get("Content-Type"), seen.body) for seen in server.seen]
    assert sent == [
        ("POST", "/c", "application/json", b'{"a":1}'),
        ("PUT", "/r", "application/json", b'{"a":2}'),
        ("PATCH", "/p", "application/merge-patch+json", b'{"a":3}'),
        ("PATCH", "/s", "application/strategic-merge-patch+json", b'[{"op":"remove"}]'),
        ("DELETE", "/d", "application/json", b'{"gracePeriodSeconds":0}'),
        ("DELETE", "/e", None, b""),
        ("POST", "/w", "application/json", b'{"a":4}'),
    ]
    assert server.seen[0].query == {"dryRun": "All"}


async def test_selectors_arrive_as_they_were_given(server: StubServer, client: ApiClient) -> None:
    server.script("list", page())
    selector = "a in (b,c),d!=e,x.y/z=%41 +&"
    await client.list("/api/v1/pods", {"labelSelector": selector})
    assert server.seen[0].query["labelSelector"] == selector


async def test_a_list_is_put_together_from_its_pages(server: StubServer, client: ApiClient) -> None:
    server.script("list", page(pod("a", 1), token="t1"), page(pod("b", 2), token="t2"), page(pod("c", 3)))
    whole = await client.list("/api/v1/pods")
    assert [item["metadata"]["name"] for item in whole["items"]] == ["a", "b", "c"]
    assert "continue" not in whole["metadata"]
    assert [seen.query.get("continue") for seen in server.seen] == [None, "t1", "t2"]


REFUSALS: dict[str, tuple[int, str, type[ApiError]]] = {
    "an object that is not there": (404, "NotFound", NotFound),
    "a name that is taken": (409, "AlreadyExists", AlreadyExists),
    "a version that has passed": (409, "Conflict", Conflict),
    "a version that is forgotten": (410, "Expired", Gone),
    "an object that is not valid": (422, "Invalid", Invalid),
    "a right that is missing": (403, "Forbidden", Forbidden),
}


@pytest.mark.parametrize(("code", "reason", "kind"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_is_one_error_and_not_repeated(
    server: StubServer, client: ApiClient, code: int, reason: str, kind: type[ApiError]
) -> None:
    details = {"name": "p", "causes": [{"reason": "FieldValueInvalid", "message": "no", "field": "spec"}]}
    server.script("call", refusal(code, reason, "it is\nso", details=details))
    with pytest.raises(ApiError) as caught:
        await client.get(POD)
    error = caught.value
    assert type(error) is kind
    assert (error.code, error.reason, error.message) == (code, reason, "it is so")
    assert error.causes[0].field == "spec"
    assert str(error) == f"{server.url}: GET {POD}: {code} {reason}: it is so"
    assert len(server.seen) == 1


ODD_ANSWERS: dict[str, tuple[Reply, type[ApiError], str]] = {
    "a login page instead of an object": (
        body(LOGIN, content_type="text/html"),
        UnexpectedAnswer,
        "200: " + words.web_page(" titled 'Sign in'"),
    ),
    "a page for what is not found": (
        body(LOGIN, 404, "text/html"),
        UnexpectedAnswer,
        "404: " + words.web_page(" titled 'Sign in'"),
    ),
    "a redirect to a login": (
        body(b"", 302, "text/plain", Location="https://sso.example/"),
        UnexpectedAnswer,
        "302: " + words.redirects("https://sso.example/"),
    ),
    "the text of an unknown group": (
        body(b"404 page not found\n", 404, "text/plain"),
        NotFound,
        "404: 404 page not found",
    ),
    "half a JSON object": (
        body(b'{"kind":'),
        UnexpectedAnswer,
        "the answer starts with '{\"kind\":'",
    ),
    "a JSON list": (
        body([1]),
        UnexpectedAnswer,
        "200: " + words.starts_with(words.not_an_object("list"), "[1]"),
    ),
    "an empty refusal": (body(b"", 403, "text/plain"), Forbidden, "403: Forbidden"),
}


@pytest.mark.parametrize(("reply", "kind", "text"), ODD_ANSWERS.values(), ids=ODD_ANSWERS)
async def test_what_is_no_proper_answer_gives_one_clear_line(
    server: StubServer, client: ApiClient, reply: Reply, kind: type[ApiError], text: str
) -> None:
    server.script("call", reply)
    with pytest.raises(ApiError) as caught:
        await client.get(POD)
    assert type(caught.value) is kind
    assert str(caught.value).startswith(f"{server.url}: GET {POD}: ")
    assert str(caught.value).endswith(text)
    assert "\n" not in str(caught.value)


BUSY = refusal(429, "TooManyRequests", "later", headers={"Retry_After": "0"})
BUDGET = refusal(429, "TooManyRequests", "the budget does not allow it")
FAILED = refusal(500, "InternalError", "etcd")
GATEWAY = body(b"<html><title>502</title></html>", 502, "text/html")

REPEATS: dict[str, tuple[str, list[Reply], int | type[Exception], int]] = {
    "a GET is repeated after 500": ("GET", [FAILED, OK], 200, 2),
    "a GET is repeated after a gateway's page": ("GET", [GATEWAY, GATEWAY, OK], 200, 3),
    "a GET is repeated after a lost connection": ("GET", [hang_up, OK], 200, 2),
    "a GET is repeated when asked to come later": ("GET", [BUSY, OK], 200, 2),
    "a PATCH is repeated after 500": ("PATCH", [FAILED, OK], 200, 2),
    "a GET is given up after all attempts": ("GET", [FAILED], ServerError, 3),
    "a POST is not repeated after 500": ("POST", [FAILED, OK], ServerError, 1),
    "a POST is not repeated after a lost connection": ("POST", [hang_up, OK], Unavailable, 1),
    "a POST is repeated when it was put off": ("POST", [BUSY, OK], 200, 2),
    "a POST a budget refuses is not repeated": ("POST", [BUDGET, OK], TooManyRequests, 1),
}


@pytest.mark.parametrize(("method", "replies", "outcome", "requests"), REPEATS.values(), ids=REPEATS)
async def test_requests_are_repeated_where_it_is_harmless(
    server: StubServer,
    client: ApiClient,
    method: str,
    replies: list[Reply],
    outcome: int | type[Exception],
    requests: int,
) -> None:
    server.script("call", *replies)
    if isinstance(outcome, int):
        assert (await client.request(method, POD, body=b"{}")).code == outcome
    else:
        with pytest.raises(outcome):
            await client.request(method, POD, body=b"{}")
    assert len(server.seen) == requests


async def test_a_write_is_sent_once_whatever_happens(server: StubServer, client: ApiClient) -> None:
    server.script("call", BUSY, OK)
    with pytest.raises(TooManyRequests) as caught:
        await client.write("PATCH", POD, b"{}", "application/json")
    assert caught.value.retry_after_seconds == 0.0
    assert len(server.seen) == 1


async def test_the_wait_a_server_asks_for_is_kept_within_bounds(server: StubServer, client: ApiClient) -> None:
    server.script("call", refusal(429, "TooManyRequests", "later", headers={"Retry_After": "3600"}), OK)
    began = time.monotonic()
    await client.get(POD)
    assert 0.19 <= time.monotonic() - began < 30.0


async def test_a_server_that_says_nothing_is_unavailable_in_one_line(server: StubServer, client: ApiClient) -> None:
    server.script("call", silence)
    with pytest.raises(Unavailable) as caught:
        await client.request("GET", POD, timeout_seconds=0.05, attempts=1)
    assert str(caught.value).startswith(f"{server.url}: GET {POD}: no answer within 0.")


async def test_a_server_that_is_not_there_is_unavailable_even_for_a_repeatable_post() -> None:
    async with StubServer() as gone:
        url = gone.url
    async with ApiClient(Connection(url), QUICK) as client:
        with pytest.raises(Unavailable, match="Cannot connect to host"):
            await client.create(POD, {})


async def test_a_closed_client_says_so(server: StubServer) -> None:
    client = ApiClient(Connection(server.url), QUICK)
    await client.close()
    with pytest.raises(Unavailable, match=re.escape(words.CLIENT_IS_CLOSED)):
        await client.get(POD)


async def test_an_answer_beyond_the_bound_is_refused(server: StubServer) -> None:
    server.script("call", body({"a": "x" * 1000}))
    async with ApiClient(Connection(server.url), ClientSettings(answer_bytes=100)) as client:
        with pytest.raises(UnexpectedAnswer, match="longer than 100 bytes"):
            await client.get(POD)


async def test_streams_do_not_take_connections_from_requests(server: StubServer) -> None:
    server.script("watch", stream(b"{}\n", hold=True))
    server.script("call", OK)
    async with (
        ApiClient(Connection(server.url), ClientSettings(connections=1, timeout_seconds=2.0)) as client,
        client.stream("/w", {"watch": "1"}, silence_seconds=5) as first,
        client.stream("/w", {"watch": "1"}, silence_seconds=5) as second,
    ):
        assert await anext(first) == await anext(second) == b"{}\n"
        assert await client.get(POD)


async def test_the_watch_of_a_kind_goes_on_the_connection_of_its_list(server: StubServer) -> None:
    came_from: list[object] = []

    async def answer(request: Any) -> Any:
        came_from.append(request.transport.get_extra_info("peername"))
        return await OK(request)

    server.script("call", answer)
    server.script("watch", answer)
    async with ApiClient(Connection(server.url), QUICK) as client:
        await client.get(POD)
        async with client.stream("/w", {"watch": "1"}, silence_seconds=5) as chunks:
            assert [chunk async for chunk in chunks]
    assert came_from[0] == came_from[1]


async def test_more_requests_than_may_be_under_way_wait_no_longer_than_for_an_answer(server: StubServer) -> None:
    begun = asyncio.Event()

    async def hold(request: Any) -> Any:
        begun.set()
        return await silence(request)

    server.script("call", hold)
    async with ApiClient(Connection(server.url), ClientSettings(connections=1)) as client:
        first = asyncio.create_task(client.get(POD))
        await begun.wait()
        with pytest.raises(Unavailable, match="no answer within"):
            await client.request("GET", POD, timeout_seconds=0.05, attempts=1)
        assert len(server.seen) == 1
        first.cancel()
        server.script("call", OK)
        assert await client.get(POD)


class Rotating:
    """Credentials that have a new token after each refusal, up to the last one."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)
        self.refreshed = 0

    async def headers(self) -> Headers:
        return (bearer(self.tokens[0]),)

    async def refresh(self, refused: Headers) -> bool:
        self.refreshed += 1
        if len(self.tokens) > 1:
            self.tokens.pop(0)
            return True
        return False


async def only_new(request: Any) -> Any:
    reply = OK if request.headers["Authorization"] == "Bearer new" else refusal(401, "Unauthorized", "Unauthorized")
    return await reply(request)


async def test_refused_credentials_are_renewed_once(server: StubServer) -> None:
    server.script("call", only_new)
    async with ApiClient(Connection(server.url, credentials=Rotating("old", "new")), QUICK) as client:
        await client.write("POST", POD, b"{}", "application/json")
        assert [seen.body for seen in server.seen] == [b"{}", b"{}"]
    async with ApiClient(Connection(server.url, credentials=Rotating("old", "older", "new")), QUICK) as client:
        with pytest.raises(ApiError, match="401 Unauthorized"):
            await client.get(POD)
    async with ApiClient(Connection(server.url, credentials=(last := Rotating("old"))), QUICK) as client:
        with pytest.raises(ApiError, match="401 Unauthorized"):
            await client.get(POD)
        assert last.refreshed == 1


async def test_a_name_and_a_password_are_sent_as_basic(server: StubServer) -> None:
    server.script("call", OK)
    async with ApiClient(Connection(server.url, credentials=FixedHeaders([basic("me", "pass")])), QUICK) as client:
        await client.get(POD)
    assert server.seen[0].headers["Authorization"] == "Basic bWU6cGFzcw=="


async def test_many_requests_share_the_connections(server: StubServer, client: ApiClient) -> None:
    server.script("call", OK)
    await asyncio.gather(*(client.get(POD) for _ in range(200)))
    assert len(server.seen) == 200


async def test_the_password_of_a_proxy_is_in_no_complaint(server: StubServer) -> None:
    proxy = server.url.replace("://", "://somebody:secret@")
    connection = Connection("https://127.0.0.1:1", tls=ssl.create_default_context(), proxy=proxy)
    async with ApiClient(connection, ClientSettings(attempts=1)) as client:
        with pytest.raises(Unavailable, match="the proxy answered 404") as refused:
            await client.get("/version")
    assert "secret" not in str(refused.value)


async def test_every_request_that_was_sent_is_told_with_its_verb_and_code(
    server: StubServer, client: ApiClient
) -> None:
    told: list[tuple[str, int]] = []
    client.on_answer.add(lambda verb, code: told.append((verb, code)))
    server.script("call", refusal(503, "x", "busy"), OK, refusal(404, "NotFound", "gone"), hang_up)
    await client.get(POD)
    with pytest.raises(NotFound):
        await client.delete(POD)
    with pytest.raises(Unavailable):
        await client.create(POD, {})
    assert told == [("GET", 503), ("GET", 200), ("DELETE", 404), ("POST", 0)]
