"""Asking a running daemon: its address, who asks, and one clear line for everything that can go wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.support.answering import CERTIFICATES, answering, content
from tests.support.asking import Lines, hello
from vsched.client import words
from vsched.client.daemon import DaemonClient
from vsched.client.errors import Idle, Unknown, explained_error
from vsched.client.target import DEFAULT_DAEMON, DaemonTarget, address_of, api_client, connection_to
from vsched.client.words import PERMITTING, TRUSTING
from vsched.clock import SystemClock
from vsched.errors import BadInput, Unavailable, VschedError
from vsched.kube.words import answers as kube_words
from vsched.web.serve.access import Access, AllowList
from vsched.web.serve.limits import Limits, Port
from vsched.web.serve.routing import Route, as_json
from vsched.web.serve.server import serving
from vsched.web.serve.tls import ReloadingContext
from vsched.web.serve.tokens import TokenTable
from vsched.web.words import answers as web_words

ALICE, BOB = "alice-0123456789abcdef", "bob-0123456789abcdef"
AUTHORITY = CERTIFICATES / "authority.pem"
NOBODY_KNOWN = web_words.nothing_known("pod or PodGroup ns/nobody")


async def _say(request: web.Request) -> web.StreamResponse:
    if request.match_info.get("name") == "nobody":
        return as_json({"error": NOBODY_KNOWN}, 404)
    return as_json({"path": request.path})


ROUTES = (Route("/jobs", _say, "says where"), Route("/explain/{name}", _say, "says where"))


async def ask(target: DaemonTarget, path: str = "/jobs") -> dict[str, Any]:
    async with DaemonClient(target) as daemon:
        return await daemon.get(path)


async def problem(target: DaemonTarget, path: str = "/jobs") -> VschedError:
    """The one line that comes of asking."""
    with pytest.raises(VschedError) as caught:
        await ask(target, path)
    assert "\n" not in str(caught.value)
    return caught.value


def tokens(folder: Path) -> Path:
    file = folder / "tokens.csv"
    file.write_text(f'{ALICE},alice,1,"team-a"\n{BOB},bob,2\n')
    return file


def token_file(folder: Path, token: str) -> Path:
    file = folder / "token"
    file.write_text(f"{token}\n")
    return file


# -- which daemon


@pytest.mark.parametrize(
    ("given", "address"),
    [
        pytest.param("http://10.0.0.1:8080/", "http://10.0.0.1:8080", id="a URL"),
        pytest.param("localhost:8080", "http://localhost:8080", id="host and port"),
        pytest.param(":8080", "http://127.0.0.1:8080", id="a port as vsched run takes it"),
        pytest.param("[::1]:8080", "http://[::1]:8080", id="an IPv6 address"),
        pytest.param("https://vsched.example.com", "https://vsched.example.com", id="the usual port"),
        pytest.param("http://127.0.0.1:8001/a/proxy/", "http://127.0.0.1:8001/a/proxy", id="below a path"),
    ],
)
def test_addresses(given: str, address: str) -> None:
    assert address_of(DaemonTarget(given)) == address


@pytest.mark.parametrize(
    ("target", "says"),
    [
        pytest.param(DaemonTarget("ftp://host"), words.no_url("ftp://host", DEFAULT_DAEMON), id="another protocol"),
        pytest.param(DaemonTarget("http://"), "expected a URL", id="no host"),
        pytest.param(DaemonTarget("http://host:port"), "expected a URL", id="no port"),
        pytest.param(DaemonTarget("some host"), "expected a URL", id="a blank"),
        pytest.param(DaemonTarget("http://host/?a=1"), "expected a URL", id="a query"),
        pytest.param(DaemonTarget("http://u:secret@host"), "a name or a password in it", id="a password"),
        pytest.param(DaemonTarget(ca_file=AUTHORITY), "is reached without TLS", id="an authority for plain http"),
        pytest.param(
            DaemonTarget("https://h", cert_file=AUTHORITY), "needed together", id="a certificate without its key"
        ),
        pytest.param(
            DaemonTarget("https://h", ca_file=Path("/none")), "--daemon-ca-file /none: No such file", id="no file"
        ),
        pytest.param(
            DaemonTarget("https://h", ca_file=CERTIFICATES / "server.key"),
            "expected a PEM file",
            id="a key as authority",
        ),
        pytest.param(
            DaemonTarget("https://h", cert_file=AUTHORITY, key_file=CERTIFICATES / "server.key"),
            "expected a certificate and its key",
            id="a key of another certificate",
        ),
        pytest.param(DaemonTarget(token_file=Path("/none")), "--daemon-token-file: token file /none", id="no token"),
    ],
)
def test_flags_that_cannot_be_used(target: DaemonTarget, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        connection_to(target)
    assert says in str(caught.value)
    assert "secret" not in str(caught.value)


# -- who asks


async def test_those_who_do_not_say_who_they_are_are_told_how_to(tmp_path: Path) -> None:
    access = Access(TokenTable(tokens(tmp_path)), AllowList(("alice",)), SystemClock(), Lines(), certificates=False)
    async with hello(access, routes=ROUTES) as url:
        unknown = await problem(DaemonTarget(url))
        assert str(unknown) == words.unknown_caller(url, "expected a bearer token")
        refused = await problem(DaemonTarget(url, token_file(tmp_path, BOB)))
        assert str(refused) == f"{url}: bob may not get /jobs ({PERMITTING})"
        assert isinstance(refused, BadInput)
        assert await ask(DaemonTarget(url, token_file(tmp_path, ALICE))) == {"path": "/jobs"}


async def test_whom_to_trust_over_tls() -> None:
    context = ReloadingContext(CERTIFICATES / "server.pem", CERTIFICATES / "server.key").context
    async with hello(tls=context, routes=ROUTES) as url:
        assert await ask(DaemonTarget(url, ca_file=AUTHORITY)) == {"path": "/jobs"}
        stranger = await problem(DaemonTarget(url))
        said, _, trusting = words.not_trusted("|").partition("|")
        assert str(stranger).startswith(f"{url}: {said}")
        assert str(stranger).endswith(trusting)
        misnamed = await problem(DaemonTarget(url, ca_file=AUTHORITY, server_name="elsewhere.example.com"))
        assert "elsewhere.example.com" in str(misnamed)
        assert TRUSTING in str(misnamed)
        plain = await problem(DaemonTarget(url.replace("https", "http")))
        assert words.answers_over_tls("").strip() in str(plain)
    async with hello(routes=ROUTES) as url:
        secure = await problem(DaemonTarget(url.replace("http", "https"), ca_file=AUTHORITY))
        assert words.answers_without_tls("").strip() in str(secure)


# -- what can go wrong


async def test_what_a_daemon_does_not_know_is_told_in_its_words() -> None:
    async with hello(routes=ROUTES) as url:
        found = await problem(DaemonTarget(url), "/explain/nobody")
        assert (type(found), str(found)) == (Unknown, NOBODY_KNOWN)
        missing = await problem(DaemonTarget(url), "/overview")
        assert str(missing) == words.serves_no(url, "/overview")
        assert not isinstance(missing, Unknown)


@pytest.mark.parametrize(
    ("reply", "kind", "says"),
    [
        pytest.param(
            content(b"<html><title>Router</title>", kind="text/html"),
            BadInput,
            "answered with a web page titled 'Router', not JSON (is it vsched?)",
            id="a web page",
        ),
        pytest.param(
            content(b"", 302, Location="http://login"),
            BadInput,
            "redirects to http://login (is it vsched?)",
            id="a door",
        ),
        pytest.param(content(["a"]), BadInput, kube_words.not_an_object("list"), id="another JSON"),
        pytest.param(
            content({"error": "no session within 10 s"}, 503), Unavailable, ": no session within 10 s", id="a standby"
        ),
        pytest.param(
            content({"kind": "Status", "reason": "NotFound", "message": "the server could not find it"}, 404),
            BadInput,
            words.serves_no("", "/jobs"),
            id="an API server",
        ),
        pytest.param(
            content(b"404 page not found\n", 404, kind="text/plain"),
            BadInput,
            words.serves_no("", "/jobs"),
            id="a program in Go",
        ),
        pytest.param(content({"error": {"deep": 1}}, 418), BadInput, "418: ", id="an error that is no text"),
    ],
)
async def test_what_is_no_answer_of_a_daemon(reply: Any, kind: type[VschedError], says: str) -> None:
    async with answering() as server:
        server.replies["/jobs"] = reply
        found = await problem(DaemonTarget(server.url))
    assert says in str(found)
    assert isinstance(found, kind)
    assert str(found).startswith(server.url)
    assert len(server.asked) == 1


@pytest.mark.parametrize("question", ["jobs", "queues", "allocations", "recordings"])
async def test_a_daemon_that_decides_nothing_is_no_daemon_with_nothing_to_tell(
    question: str,
) -> None:
    async with answering() as server:
        for path in ("/jobs", "/queues", "/allocations", "/recordings"):
            server.replies[path] = content({})
        server.replies["/overview"] = content({"role": "standby"})
        async with DaemonClient(DaemonTarget(server.url)) as daemon:
            with pytest.raises(Idle, match=f"^{server.url}: this daemon is standby; ask the leader [^;]*names it.$"):
                await getattr(daemon, question)()
            server.replies["/overview"] = content({"error": "forbidden"}, 403)
            assert not await getattr(daemon, question)()


@pytest.mark.parametrize("question", ["jobs", "queues"])
async def test_answers_of_another_version(question: str) -> None:
    async with answering() as server, DaemonClient(DaemonTarget(server.url)) as daemon:
        server.replies[f"/{question}"] = content({"namespaces": "none"})
        with pytest.raises(BadInput, match=f"^{server.url}: its answer cannot be read: must be an object, is a string"):
            await getattr(daemon, question)()


async def test_nobody_listens(unused: str) -> None:
    found = await problem(DaemonTarget(unused))
    assert str(found) == f"{unused}: {words.NOBODY_LISTENS_REACHING}"
    assert isinstance(found, Unavailable)
    async with api_client(DaemonTarget(unused)) as client:
        with pytest.raises(Unavailable) as caught:
            await client.get("/jobs")
    again = explained_error(DaemonTarget(unused), caught.value, known=True)  # it is not the flags that are wrong
    assert str(again) == f"{unused}: nobody listens there"


@pytest.fixture
async def unused() -> str:
    """An address where somebody listened a moment ago."""
    async with hello(routes=ROUTES) as url:
        return url


async def test_a_daemon_behind_a_proxy_with_a_path() -> None:
    routes = [
        Route(f"/api/v1/namespaces/vsched/services/vsched:http/proxy{one.path}", one.answer, "") for one in ROUTES
    ]
    async with serving(routes, "127.0.0.1:0", "--listen-address", None, port=Port(Limits())) as number:
        target = DaemonTarget(f"http://127.0.0.1:{number}/api/v1/namespaces/vsched/services/vsched:http/proxy/")
        assert (await ask(target))["path"].endswith("/proxy/jobs")
        assert isinstance(await problem(target, "/explain/nobody"), Unknown)
