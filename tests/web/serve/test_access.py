"""Who may look: tokens of a file, client certificates, and what is said to the others."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest
import uvloop
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from tests.support.answering import CERTIFICATES
from tests.support.asking import PEOPLE, Lines, ask, hello, trusting
from vsched.clock import FakeClock, SystemClock
from vsched.errors import BadInput
from vsched.web.serve.access import Access, AllowList, Person, is_from_here, person_of
from vsched.web.serve.renewal import Renewal
from vsched.web.serve.routing import Route
from vsched.web.serve.server import serving
from vsched.web.serve.tls import Callers, ReloadingContext
from vsched.web.serve.tokens import TokenTable
from vsched.web.words import access as words

ALICE, BOB, NOBODY = "alice-0123456789abcdef", "bob-0123456789abcdef", "nobody-0123456789abcdef"
TOKENS = f'{ALICE},alice,1,"team-a,viewers"\n\n{BOB},bob,2\n'


def table(folder: Path, text: str = TOKENS) -> TokenTable:
    file = folder / "tokens.csv"
    file.write_text(text)
    return TokenTable(file)


def access(
    folder: Path, *, users: tuple[str, ...] = (), groups: tuple[str, ...] = (), lines: Lines | None = None
) -> Access:
    """Those of the token file, as far as they are named."""
    told = lines or Lines()
    return Access(table(folder), AllowList(users, groups), SystemClock(), told, certificates=False)


async def test_whose_a_token_is(tmp_path: Path) -> None:
    tokens = table(tmp_path)
    assert await tokens.owner(ALICE) == Person("alice", ("team-a", "viewers"), "1")
    assert await tokens.owner(BOB) == Person("bob", (), "2")
    for wrong in (NOBODY, ALICE[:-1], f"{ALICE}0", ALICE.upper(), "alice", ""):
        assert await tokens.owner(wrong) is None


@pytest.mark.parametrize(
    ("headers", "says"),
    [
        pytest.param({}, "expected " + words.BEARER_TOKEN, id="nobody says who they are"),
        pytest.param({"Authorization": f"Bearer {NOBODY}"}, words.TOKEN_NOT_KNOWN, id="an unknown token"),
        pytest.param({"Authorization": "Bearer "}, "expected " + words.BEARER_TOKEN, id="an empty token"),
        pytest.param({"Authorization": ALICE}, "expected " + words.BEARER_TOKEN, id="a token without its scheme"),
        pytest.param({"Authorization": f"Basic {ALICE}"}, "expected " + words.BEARER_TOKEN, id="a name and a password"),
        pytest.param({"Authorization": "Bearer schlüssel"}, words.TOKEN_NOT_KNOWN, id="not ASCII"),
        pytest.param({"Cookie": f"token={ALICE}"}, "expected " + words.BEARER_TOKEN, id="a token in the wrong place"),
    ],
)
async def test_who_is_not_known_is_told_what_is_expected(tmp_path: Path, headers: dict[str, str], says: str) -> None:
    async with hello(access(tmp_path)) as url:
        for path in ("/", "/metrics", "/no/such/page"):
            answer = await ask(url + path, **headers)
            assert (answer.status, answer.body) == (401, {"error": says})
            assert answer.headers["WWW-Authenticate"] == 'Bearer realm="vsched"'


@pytest.mark.parametrize(
    ("users", "groups", "alice", "bob"),
    [
        pytest.param((), (), 200, 200, id="nobody is named, so everybody who is known may"),
        pytest.param(("bob",), (), 403, 200, id="one user"),
        pytest.param((), ("viewers",), 200, 403, id="a group"),
        pytest.param(("bob",), ("team-a", "team-b"), 200, 200, id="a user and groups"),
        pytest.param(("viewers",), ("bob",), 403, 403, id="names of groups are no users, nor the other way round"),
    ],
)
async def test_who_may(tmp_path: Path, users: tuple[str, ...], groups: tuple[str, ...], alice: int, bob: int) -> None:
    guard = access(tmp_path, users=users, groups=groups)
    async with hello(guard) as url:
        answers = [await ask(f"{url}/pages", token) for token in (ALICE, BOB)]
    assert [answer.status for answer in answers] == [alice, bob]
    for answer, name in zip(answers, ("alice", "bob"), strict=True):
        if answer.status == 403:
            assert answer.body == {"error": f"{name} may not get /pages"}
        else:
            assert answer.headers["Cache-Control"] == "no-store"
    assert guard.refused == ({"403": [alice, bob].count(403)} if 403 in (alice, bob) else {})


async def test_lines_about_those_turned_away_are_few_and_hold_no_token(tmp_path: Path) -> None:
    lines = Lines()
    guard = access(tmp_path, users=("bob",), lines=lines)
    async with hello(guard) as url:
        for _ in range(20):
            await ask(f"{url}/x{'y' * 500}%0Aevent", NOBODY)
            await ask(f"{url}/pages?access_token={ALICE}", ALICE)
    assert guard.refused == {"401": 20, "403": 20}
    assert 10 <= len(lines.told) <= 13
    assert ALICE not in str(lines.told)
    assert NOBODY not in str(lines.told)
    assert max(len(str(fields["path"])) for _, fields in lines.told) <= 121
    assert "\n" not in str(lines.told)


BAD_TABLES = {
    "an empty file": ("\n\n", ": is empty"),
    "a name and a token": (f"alice,{ALICE}\n", ":1: " + words.TOKENS_EXPECTED),
    "columns the wrong way round": (f"alice,{ALICE},1\n", words.token_unusable(":1", 16)),
    "a token with a space in it": (f"\n{ALICE[:12]} {ALICE[:5]},alice,1\n", words.token_unusable(":2", 16)),
    "no user": (f"{ALICE},,1\n", ":1: " + words.TOKENS_EXPECTED),
    "groups without quotes": (f"{ALICE},alice,1,team-a,viewers\n", ":1: " + words.TOKENS_EXPECTED),
    "a token twice": (f"{ALICE},alice,1\n{ALICE},bob,2\n", words.token_twice(":2")),
    "a line that is no CSV": (f'{ALICE},"{"x" * 200_000}",1\n', ":1: " + words.TOKENS_EXPECTED),
    "too many": (
        "".join(f"{number:016},u,1\n" for number in range(1001)),
        words.too_many_tokens("", 1001, 1000),
    ),
}


@pytest.mark.parametrize(("text", "says"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_bad_list_of_tokens_is_refused_in_one_line_without_a_word_of_it(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        table(tmp_path, text)
    assert f"--token-file: {tmp_path}/tokens.csv{says}" in str(refused.value)
    assert ALICE[:12] not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_list_of_tokens_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"--token-file: .*gone\.csv: cannot be read: No such file or directory"):
        TokenTable(tmp_path / "gone.csv")


async def test_a_new_list_of_tokens_is_taken_into_use_and_a_bad_one_is_not(tmp_path: Path) -> None:
    tokens = table(tmp_path)
    file = tmp_path / "tokens.csv"
    guard = Access(tokens, AllowList(), SystemClock(), Lines(), certificates=False)
    async with hello(guard) as url:
        assert (await ask(url, ALICE)).status == 200
        file.write_text(f"{ALICE}\n")
        refused = tokens.renewed.look()
        assert refused is not None
        assert not refused.ok
        assert refused.text.endswith("; the previous list of tokens stays in use")
        assert ALICE not in refused.text
        assert (await ask(url, ALICE)).status == 200
        file.write_text(f"{NOBODY},alice,1\n")
        assert tokens.renewed.look() == Renewal(True, words.new_in_use(words.LIST_OF_TOKENS, file))
        assert [(await ask(url, token)).status for token in (ALICE, NOBODY)] == [401, 200]


# -- client certificates


def context(*, demanded: bool = False, authority: Path = PEOPLE / "authority.pem") -> ReloadingContext:
    """The server's, which asks for certificates of people."""
    callers = Callers(authority, "--client-ca-file", demanded)
    return ReloadingContext(CERTIFICATES / "server.pem", CERTIFICATES / "server.key", callers=callers)


def by_certificate(tokens: TokenTable | None = None, groups: tuple[str, ...] = ()) -> Access:
    return Access(tokens, AllowList((), groups), SystemClock(), Lines(), certificates=True)


async def _seen(tls: ssl.SSLContext) -> tuple[int, ...]:
    """What a client gets that asks twice, over connections of their own."""
    async with hello(by_certificate(groups=("viewers",)), context().context) as url:
        return tuple([(await ask(url, tls=tls)).status for _ in range(2)])


LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["TLS 1.2", "TLS 1.3"])
def test_a_certificate_says_who_a_client_is(
    loop: Callable[[], asyncio.AbstractEventLoop], version: ssl.TLSVersion
) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(_seen(trusting("alice", version))) == (200, 200)
        assert runner.run(_seen(trusting(latest=version))) == (401, 401)


@pytest.mark.parametrize("person", ["expired", "a stranger"])
async def test_certificates_that_are_not_good_end_in_the_handshake(person: str) -> None:
    tls = trusting("" if person == "a stranger" else person)
    if person == "a stranger":
        tls.load_cert_chain(CERTIFICATES / "client.pem", CERTIFICATES / "client.key")
    async with hello(by_certificate(), context().context) as url:
        with pytest.raises(aiohttp.ClientError):
            await ask(url, tls=tls)
        assert (await ask(url, tls=trusting("alice"))).status == 200


async def test_a_certificate_or_a_token_will_do(tmp_path: Path) -> None:
    async with hello(by_certificate(table(tmp_path)), context().context) as url:
        assert (await ask(url, BOB, trusting())).status == 200
        assert (await ask(url, NOBODY, trusting("alice"))).status == 200
        assert (await ask(url, BOB, trusting("nameless"))).status == 200
        answer = await ask(url, tls=trusting("nameless"))
        assert (answer.status, answer.body) == (401, {"error": "expected a client certificate or a bearer token"})


async def test_where_a_certificate_is_demanded_there_is_no_answer_without() -> None:
    async with hello(None, context(demanded=True).context) as url:
        assert (await ask(url, tls=trusting("alice"))).status == 200
        with pytest.raises(aiohttp.ClientError):
            await ask(url, tls=trusting())


async def test_other_authorities_are_trusted_from_then_on(tmp_path: Path) -> None:
    authority = tmp_path / "authority.pem"
    authority.write_bytes((CERTIFICATES / "authority.pem").read_bytes())
    reloading = context(authority=authority)
    async with hello(by_certificate(), reloading.context) as url:
        with pytest.raises(aiohttp.ClientError):
            await ask(url, tls=trusting("alice"))
        authority.write_text("nonsense")
        refused = reloading.look()
        assert refused is not None
        assert f"--client-ca-file: {authority}: cannot be used" in refused.text
        authority.write_bytes((PEOPLE / "authority.pem").read_bytes())
        renewed = reloading.look()
        assert renewed is not None
        assert renewed.ok
        assert (await ask(url, tls=trusting("alice"))).status == 200


def _certificate(**more: str) -> dict[str, object]:
    subject = ((("organizationName", "a"),), (("organizationName", "b"),), (("commonName", "carol"),))
    return {"subject": subject, "notAfter": "Jan  1 00:00:00 2030 GMT", **more}


def test_a_certificate_that_ran_out_on_an_open_connection_is_nobodys() -> None:
    clock = FakeClock(now=ssl.cert_time_to_seconds("Dec 31 23:59:59 2029 GMT"))
    assert person_of(_certificate(), clock.now()) == Person("carol", ("a", "b"))
    clock.advance(1.0)
    assert person_of(_certificate(), clock.now()) is None
    assert person_of(None, clock.now()) is None
    assert person_of({}, clock.now()) is None


@pytest.mark.parametrize(
    ("remote", "host", "from_here"),
    [
        pytest.param("127.0.0.1", "127.0.0.1:8080", True, id="this machine"),
        pytest.param("127.0.0.1", "localhost:8080", True, id="through a forwarded port"),
        pytest.param("::1", "[::1]:8080", True, id="this machine by IPv6"),
        pytest.param("::ffff:127.0.0.1", "localhost", True, id="this machine by a mapped address"),
        pytest.param("10.0.0.7", "10.0.0.1:8080", False, id="another machine"),
        pytest.param("10.0.0.7", "localhost:8080", False, id="another machine that names this one"),
        pytest.param("127.0.0.1", "evil.example:8080", False, id="a page of others whose name leads here"),
        pytest.param("", "localhost", False, id="nobody knows who"),
    ],
)
def test_who_asks_from_this_machine(remote: str, host: str, from_here: bool) -> None:
    request = make_mocked_request("GET", "/dump", headers={"Host": host}).clone(remote=remote)
    assert is_from_here(request) is from_here


async def test_what_is_private_is_for_this_machine_alone_where_nobody_is_asked_who_they_are() -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(text="here")

    routes = [Route("/dump", answer, "private", private=True)]
    async with serving(routes, "127.0.0.1:0", "--listen-address") as port, aiohttp.ClientSession() as session:
        async with session.get(f"http://127.0.0.1:{port}/dump") as found:
            assert (found.status, await found.text()) == (200, "here")
        async with session.get(f"http://127.0.0.1:{port}/dump", headers={"Host": "evil.example"}) as found:
            assert found.status == 403
            assert "to this machine only" in (await found.json())["error"]
