"""Writes of the client, which go out over connections of their own: what they carry, and what is made of answers."""

from __future__ import annotations

import asyncio
import re
import ssl

import orjson
import pytest
import trustme

from tests.support.raw_server import Asked, RawServer, ok, tls_of
from vsched.errors import BadInput, Unavailable
from vsched.kube.auth.connection import Connection
from vsched.kube.auth.credentials import FixedHeaders, Headers, bearer
from vsched.kube.client import MERGE_PATCH, ApiClient, ClientSettings
from vsched.kube.errors import Conflict, ServerError, TooManyRequests, Unauthorized, UnexpectedAnswer
from vsched.kube.words import answers as words
from vsched.kube.words import auth as auth_words

POD = "/api/v1/namespaces/ns/pods/p"
QUICK = ClientSettings(timeout_seconds=5.0, connect_seconds=5.0, answer_bytes=300)


def refused(code: int, reason: str, *more: str) -> bytes:
    body = orjson.dumps({"kind": "Status", "message": "no", "reason": reason, "code": code})
    return ok(body, *more).replace(b"201 Created", f"{code} No".encode())


async def test_a_write_carries_what_every_request_does() -> None:
    async with RawServer() as server, ApiClient(Connection(server.url), QUICK) as client:
        server.answer = lambda asked: ok(asked.body)
        written = await client.write("PATCH", f"{POD}?fieldManager=m", b"{}", MERGE_PATCH)
        assert (written.code, written.body) == (201, b"{}")
        [asked] = server.asked
        assert (asked.method, asked.path, asked.body) == ("PATCH", f"{POD}?fieldManager=m", b"{}")
        assert asked.headers["Content-Type"] == MERGE_PATCH
        assert asked.headers["Accept"] == "application/json"
        assert asked.headers["User-Agent"].startswith("vsched/")


@pytest.mark.parametrize(
    ("answer", "error", "wait"),
    [
        pytest.param(refused(409, "Conflict"), Conflict, None, id="a conflict"),
        pytest.param(refused(429, "TooManyRequests", "retry-after: 7"), TooManyRequests, 7.0, id="later"),
        pytest.param(refused(503, "x", "Retry-After: 1"), ServerError, 1.0, id="a server that is not well"),
        pytest.param(ok(b"<html>").replace(b"201", b"302"), UnexpectedAnswer, None, id="a web page"),
        pytest.param(ok(b"x" * 301), UnexpectedAnswer, None, id="too much"),
    ],
)
async def test_refusals_are_the_errors_of_other_requests(answer: bytes, error: type[Exception], wait: object) -> None:
    told: list[tuple[str, int]] = []
    async with RawServer() as server, ApiClient(Connection(server.url), QUICK) as client:
        client.on_answer.add(lambda verb, code: told.append((verb, code)))
        server.answer = lambda asked: answer
        with pytest.raises(error) as caught:
            await client.write("POST", POD, b"{}")
        assert str(caught.value).startswith(f"{server.url}: POST {POD}: ")
        assert getattr(caught.value, "retry_after_seconds", None) == wait
        assert len(server.asked) == 1
    assert told == [("POST", int(answer.split()[1]))]


async def test_no_answer_is_unavailable_with_its_cause() -> None:
    told: list[tuple[str, int]] = []
    settings = ClientSettings(timeout_seconds=0.05)
    async with RawServer() as server, ApiClient(Connection(server.url), settings) as client:
        client.on_answer.add(lambda verb, code: told.append((verb, code)))
        for path, problem in (
            ("/late/x", "no answer within 0."),
            ("/cut/x", "Server disconnected|reset by peer"),
            ("/garbage/x", "what came is no HTTP"),
        ):
            with pytest.raises(Unavailable, match=problem):
                await client.write("POST", path, b"{}")
        assert told == [("POST", 0)] * 3
        with pytest.raises(BadInput, match=re.escape(auth_words.LETTERS_NOT_IN_URL)):
            await client.write("POST", "/a b", b"{}")
    with pytest.raises(Unavailable, match=re.escape(words.CLIENT_IS_CLOSED)):
        await client.write("POST", POD, b"{}")
    async with ApiClient(Connection(server.url), QUICK) as client:
        with pytest.raises(Unavailable, match=r"Cannot connect to host 127\.0\.0\.1"):
            await client.write("POST", POD, b"{}")


async def test_writes_go_through_a_proxy_where_there_is_one() -> None:
    async with RawServer() as proxy:
        connection = Connection("http://kubernetes.test", proxy=proxy.url)
        async with ApiClient(connection, QUICK) as client:
            proxy.answer = lambda asked: ok(b"{}")
            assert (await client.write("POST", POD, b"{}")).code == 201
        assert [asked.path for asked in proxy.asked] == [f"http://kubernetes.test{POD}"]


async def test_a_server_that_is_not_trusted_is_said_to_be_so() -> None:
    serving, _ = tls_of(trustme.CA())
    _, asking = tls_of(trustme.CA())
    async with RawServer(serving) as server, ApiClient(Connection(server.url, asking), QUICK) as client:
        with pytest.raises(Unavailable, match=r"the TLS handshake failed: .*check certificate-authority"):
            await client.write("POST", POD, b"{}")


class Renewing(FixedHeaders):
    """Credentials whose renewal puts another client certificate into the TLS context, as plugins do."""

    def __init__(self, context: ssl.SSLContext, renewed: trustme.LeafCert, token: str) -> None:
        super().__init__([bearer(token)])
        self._context, self._renewed = context, renewed
        self.renewals = 0

    async def refresh(self, refused: Headers) -> bool:
        self.renewals += 1
        self._renewed.configure_cert(self._context)
        return True


async def test_a_renewed_certificate_is_shown_on_new_connections() -> None:
    authority = trustme.CA()
    serving, asking = tls_of(authority, asks=True)
    authority.issue_cert("old.test", common_name="old").configure_cert(asking)
    source = Renewing(asking, authority.issue_cert("new.test", common_name="new"), "t")
    good = {"old", "new"}

    def answer(asked: Asked) -> bytes:
        return ok(asked.body) if asked.certificate in good else refused(401, "Unauthorized")

    async with RawServer(serving) as server:
        server.answer = answer
        async with ApiClient(Connection(server.url, asking, credentials=source), QUICK) as client:
            await asyncio.gather(*(client.write("POST", POD, b"%d" % number) for number in range(5)))
            good.remove("old")
            assert (await client.write("POST", POD, b"again")).body == b"again"
            assert [asked.certificate for asked in server.asked] == ["old"] * 6 + ["new"]
            await client.write("POST", POD, b"still")
            assert source.renewals == 1
            good.clear()
            with pytest.raises(Unauthorized):
                await client.write("POST", POD, b"never")
            assert source.renewals == 2
