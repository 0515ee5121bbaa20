"""One HTTP service: how it is trusted, who we are to it, and what is said of answers that are none."""

from __future__ import annotations

import asyncio
import base64
import gzip
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.collectors.asking import problem
from tests.support.answering import CERTIFICATES, Reply, answering, content, endless, hang_up, server_context, silence
from vsched.collectors import words
from vsched.collectors.endpoint import Endpoint
from vsched.collectors.source import SourceError
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.words import answers as answers_words
from vsched.settings.metrics import ElasticsearchSettings, KubernetesSecret, MetricsSource, Tls

AUTHORITY = str(CERTIFICATES / "authority.pem")
CLIENT = {"cert_file": str(CERTIFICATES / "client.pem"), "key_file": str(CERTIFICATES / "client.key")}
PAGE = b"<!DOCTYPE html><html><title>Sign in</title></html>"


@asynccontextmanager
async def reaching(settings: MetricsSource, cluster: str = "http://127.0.0.1:1") -> AsyncIterator[Endpoint]:
    async with ApiClient(Connection(cluster)) as client:
        endpoint = Endpoint(settings, client)
        yield endpoint
        await endpoint.close()


async def post(endpoint: Endpoint) -> bytes:
    return await endpoint.post("/q", b"x", "text/plain", 5.0)


async def posted(settings: MetricsSource) -> bytes:
    async with reaching(settings) as endpoint:
        try:
            return await post(endpoint)
        finally:
            await endpoint.close()


def basic(login: str) -> str:
    return f"Basic {base64.b64encode(login.encode()).decode()}"


LOGINS: Mapping[str, tuple[dict[str, Any], str | None]] = {
    "nobody": ({}, None),
    "a name that is not to be used": ({"username": "me", "password": "p"}, None),
    "a name and a password": ({"basicauth": True, "username": "me", "password": "pä:s"}, basic("me:pä:s")),
    "a password of the environment": (
        {"basicauth": True, "username": "me", "password_env": "PROMETHEUS_PASSWORD"},
        basic("me:from-environment"),
    ),
    "a token": ({"token": "t0ken"}, "Bearer t0ken"),
    "a token of the environment": ({"token_env": "PROMETHEUS_PASSWORD"}, "Bearer from-environment"),
    "Elasticsearch's own name": (
        {"type": "elasticsearch", "elasticsearch": ElasticsearchSettings(username="es", password="p")},
        basic("es:p"),
    ),
    "the common name for Elasticsearch": (
        {"type": "elasticsearch", "basicauth": True, "username": "me", "password": "p"},
        basic("me:p"),
    ),
}


@pytest.mark.parametrize(("fields", "header"), LOGINS.values(), ids=LOGINS.keys())
async def test_who_we_are(fields: dict[str, Any], header: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMETHEUS_PASSWORD", "from-environment")
    async with answering() as server:
        server.replies["/q"] = content({})
        assert await posted(MetricsSource(address=server.url, **fields)) == b"{}"
        assert server.asked[0].headers.get("Authorization") == header


async def test_a_file_is_read_again_for_every_request(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n", encoding="utf-8")
    async with answering() as server, reaching(MetricsSource(address=server.url, token_file=str(path))) as endpoint:
        server.replies["/q"] = content({})
        await post(endpoint)
        path.write_text("two\n", encoding="utf-8")
        await post(endpoint)
        path.unlink()
        with pytest.raises(SourceError, match="No such file"):
            await post(endpoint)
        assert [one.headers["Authorization"] for one in server.asked] == ["Bearer one", "Bearer two"]


async def test_a_secret_of_the_cluster_is_asked_for_again_when_it_is_refused() -> None:
    place = "/api/v1/namespaces/monitoring/secrets/login"

    def secret(text: str) -> Reply:
        return content({"data": {"token": base64.b64encode(text.encode()).decode()}})

    named = KubernetesSecret("monitoring", "login", "token")
    async with (
        answering() as cluster,
        answering() as server,
        reaching(MetricsSource(address=server.url, token_secret=named), cluster.url) as endpoint,
    ):
        cluster.replies[place] = secret("old")
        server.replies["/q"] = content({})
        for _ in range(2):
            await post(endpoint)
        assert len(cluster.asked) == 1
        server.replies["/q"] = content({"error": "who are you?"}, 401)
        cluster.replies[place] = secret("new")
        with pytest.raises(SourceError, match=r"401: who are you\?$"):
            await post(endpoint)
        server.replies["/q"] = content({})
        await post(endpoint)
        assert server.asked[-1].headers["Authorization"] == "Bearer new"


async def test_secrets_that_are_not_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOWHERE", raising=False)
    wanted = MetricsSource(address="http://127.0.0.1:1", token_secret=KubernetesSecret("a", "b", "c"))
    assert await problem(MetricsSource(address="http://127.0.0.1:1", token_env="NOWHERE")) == (
        f"cpu 5m: {words.no_environment_variable('NOWHERE')}"
    )
    async with answering() as cluster:
        assert "Secret a/b: http://127.0.0.1" in await problem(wanted, cluster=cluster.url)
        cluster.replies["*"] = content({"data": {"other": ""}})
        assert (await problem(wanted, cluster=cluster.url)).endswith(words.no_key("Secret a/b", "c"))
        cluster.replies["*"] = content({"data": {"c": "%%%"}})
        assert (await problem(wanted, cluster=cluster.url)).endswith(words.no_base64("Secret a/b", "c"))


TRUST: Mapping[str, tuple[Tls, str]] = {
    "an authority of one's own": (Tls(ca_file=AUTHORITY), ""),
    "any certificate": (Tls(insecure_skip_verify=True), ""),
    "an authority nobody here knows": (Tls(), "the TLS handshake failed"),
    "a file that is not there": (Tls(ca_file="/nowhere.pem"), "/nowhere.pem: cannot be read"),
}


@pytest.mark.real_time
@pytest.mark.parametrize(("tls", "said"), TRUST.values(), ids=TRUST.keys())
async def test_whom_we_trust(tls: Tls, said: str) -> None:
    async with answering(server_context()) as server:
        server.replies["/q"] = content({})
        settings = MetricsSource(address=server.url, tls=tls)
        if said:
            with pytest.raises(SourceError, match=said):
                await posted(settings)
        else:
            assert await posted(settings) == b"{}"


@pytest.mark.real_time
async def test_authorities_are_read_again_with_new_connections(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    others, ours = (CERTIFICATES / "client.pem").read_bytes(), (CERTIFICATES / "authority.pem").read_bytes()
    path.write_bytes(others)
    async with (
        answering(server_context()) as server,
        reaching(MetricsSource(address=server.url, tls=Tls(ca_file=str(path)))) as endpoint,
    ):
        server.replies["/q"] = content({})
        for _ in range(2):
            with pytest.raises(SourceError, match="the TLS handshake failed"):
                await post(endpoint)
            path.write_bytes(ours)
        await endpoint.close()
        assert await post(endpoint) == b"{}"


@pytest.mark.real_time
async def test_a_client_certificate_is_shown() -> None:
    async with answering(server_context(ask_for_client=True)) as server:
        server.replies["/q"] = content({})
        assert await posted(MetricsSource(address=server.url, tls=Tls(ca_file=AUTHORITY, **CLIENT))) == b"{}"
        with pytest.raises(SourceError):
            await posted(MetricsSource(address=server.url, tls=Tls(ca_file=AUTHORITY)))


async def very_much(request: web.Request, body: bytes) -> web.StreamResponse:
    """A body that unpacks to very much; packed here, as each process that collects tests would pack it otherwise."""
    return await content(gzip.compress(b" " * (33 << 20), 1), Content_Encoding="gzip")(request, body)


ANSWERS: Mapping[str, tuple[Reply, str]] = {
    "an error as Prometheus writes it": (
        content({"status": "error", "errorType": "bad_data", "error": "parse\nerror"}, 400),
        "400: parse error",
    ),
    "an error as Elasticsearch writes it": (
        content({"error": {"type": "x", "reason": "no such index [a]"}, "status": 404}, 404),
        "404: no such index [a]",
    ),
    "an error as an old Elasticsearch writes it": (content({"error": "Missing[a]"}, 404), "404: Missing[a]"),
    "an error as Kubernetes writes it": (content({"kind": "Status", "message": "no"}, 403), "403: no"),
    "an error without words": (content(b"", 502), "502: Bad Gateway"),
    "an error in plain text": (content(b"try\nlater", 503, "text/plain"), "503: try later"),
    "an error of a proxy": (content(PAGE, 503, "text/html"), "503: Service Unavailable"),
    "a web page": (content(PAGE, 200, "text/html"), "answered with a web page, not JSON; is the address right?"),
    "a redirect": (content(b"", 302, Location="/login"), "302: redirects to /login"),
    "a connection that is cut": (hang_up, "Server disconnected"),
    "a body that unpacks to very much": (very_much, "the answer is longer than 32 MiB"),
    "a body that is packed as nobody knows": (
        content(b"x", Content_Encoding="br"),
        answers_words.encoded_otherwise("'br'"),
    ),
    "an error that is packed as nobody knows": (content(b"x", 403, Content_Encoding="br"), "403: Forbidden"),
    "a body that does not end": (endless, "the answer is longer than 32 MiB"),
}


@pytest.mark.real_time
@pytest.mark.parametrize(("reply", "said"), ANSWERS.values(), ids=ANSWERS.keys())
async def test_what_is_said_of_answers_that_are_none(reply: Reply, said: str) -> None:
    async with answering() as server:
        server.replies["/q"] = reply
        with pytest.raises(SourceError) as failed:
            await posted(MetricsSource(address=server.url))
    assert str(failed.value) == f"{server.url}/q: {said}"


async def test_a_service_that_stays_silent() -> None:
    async with answering() as server:
        server.replies["*"] = silence
        async with asyncio.timeout(20.0):
            said = await problem(MetricsSource(address=server.url), seconds=0.1)
    assert said == words.no_answer_within(f"prometheus {server.url}", 0.1)


async def test_a_service_that_asks_to_be_left_alone() -> None:
    async with answering() as server:
        server.replies["/q"] = content({"error": "busy"}, 429, Retry_After="7")
        with pytest.raises(SourceError) as failed:
            await posted(MetricsSource(address=server.url))
    assert failed.value.asked_seconds == 7.0


@pytest.mark.real_time
async def test_nobody_at_the_address() -> None:
    said = await problem(MetricsSource(address="http://me:s3cret@127.0.0.1:1"))
    assert said.startswith("cpu 5m: http://127.0.0.1:1/api/v1/query: Cannot connect")
    assert "s3cret" not in said
