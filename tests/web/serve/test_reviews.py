"""Asking the API server who somebody is and what they may: a real one for its answers, a scripted one for how often."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from tests.support.answering import Answering, Reply, answering, content
from tests.support.asking import Lines, ask, hello
from vsched.clock import FakeClock
from vsched.kube.auth.connection import Connection
from vsched.kube.auth.credentials import FixedHeaders, bearer
from vsched.kube.client import ApiClient
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.web.serve.access import Access, AccessRefusal, AllowList, Person
from vsched.web.serve.reviews import AccessReviews, ReviewSettings, TokenReviews
from vsched.web.words import access as words

TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
RIGHTS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
SECRET = "secret-0123456789abcdef"


async def _review(request: web.Request, body: bytes) -> web.StreamResponse:
    """Tokens that begin with good are their owners'; whoever is of the watchers may get the metrics."""
    spec = json.loads(body)["spec"]
    if "token" in spec:
        good = spec["token"].startswith("good")
        user = {"username": spec["token"], "groups": ["watchers"], "uid": "7", "extra": {"k": ["v"]}}
        status: dict[str, Any] = {"authenticated": good, **({"user": user} if good else {})}
    else:
        status = {"allowed": "watchers" in spec["groups"] and spec["nonResourceAttributes"]["path"] == "/metrics"}
    return web.json_response({"status": status}, status=201)


@asynccontextmanager
async def asked(reply: Reply = _review) -> AsyncIterator[tuple[Answering, ApiClient]]:
    async with answering() as server, ApiClient(Connection(server.url)) as client:
        server.replies["*"] = reply
        yield server, client


async def test_roles_say_who_may_look_at_what() -> None:
    """Everything is real: service accounts, roles, tokens of one audience or another, and the pages behind them."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "prometheus", "namespace": "default"}}
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    group = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": "metrics"}, "rules": rules}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "metrics"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "metrics"},
        "subjects": [{"kind": "ServiceAccount", "name": "prometheus", "namespace": "default"}],
    }
    settings = ClusterSettings(authorization="rbac", controllers=None)
    async with Cluster(manifests=[account, role, binding], settings=settings) as cluster:
        connection = Connection(cluster.url, credentials=FixedHeaders((bearer(cluster.admin_token),)))
        async with ApiClient(connection) as client:

            async def token(**spec: object) -> str:
                path = "/api/v1/namespaces/default/serviceaccounts/prometheus/token"
                request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
                return str((await client.create(path, request))["status"]["token"])

            general, special = await token(), await token(audiences=["vsched"])
            for audiences, good, bad in (((), general, special), (("vsched",), special, general)):
                clock, lines = FakeClock(), Lines()
                tokens = TokenReviews(client, clock, lines, audiences)
                access = Access(tokens, AccessReviews(client, clock, lines), clock, lines, certificates=False)
                async with hello(access) as url:
                    assert (await ask(f"{url}/metrics", good)).status == 200
                    assert (await ask(f"{url}/metrics", good, method="POST")).status == 403
                    denied = await ask(f"{url}/nodes", good)
                    assert denied.status == 403
                    assert denied.body == {"error": "system:serviceaccount:default:prometheus may not get /nodes"}
                    assert (await ask(f"{url}/metrics", bad)).status == 401
                    assert (await ask(f"{url}/metrics", SECRET)).status == 401
                    assert (await ask(f"{url}/metrics")).status == 401
                assert {event for event, _ in lines.told} == {"request refused"}


async def test_answers_hold_for_a_while_and_no_longer() -> None:
    clock = FakeClock()
    async with asked() as (server, client):
        tokens, rights = TokenReviews(client, clock, Lines()), AccessReviews(client, clock, Lines())
        person = Person("good", ("watchers",), "7", (("k", ("v",)),))
        for _ in range(3):
            assert await tokens.owner("good") == person
            assert await tokens.owner("bad") is None
            assert await rights.allows(person, "get", "/metrics")
            assert not await rights.allows(person, "get", "/nodes")
        assert len(server.asked) == 4
        spec = json.loads(server.asked[2].body)["spec"]
        about = {"path": "/metrics", "verb": "get"}
        assert spec == {
            "user": "good",
            "groups": ["watchers"],
            "uid": "7",
            "extra": {"k": ["v"]},
            "nonResourceAttributes": about,
        }
        clock.advance(10.0)  # what was refused may have been granted
        assert await tokens.owner("good") == person
        assert await tokens.owner("bad") is None
        assert len(server.asked) == 5
        clock.advance(50.0)  # what was granted may have been revoked
        server.replies["*"] = content({"status": {}}, 201)
        assert await tokens.owner("good") is None
        assert not await rights.allows(person, "get", "/metrics")
        assert len(server.asked) == 7


async def test_many_who_ask_at_once_are_one_question() -> None:
    async with asked() as (server, client):
        tokens = TokenReviews(client, FakeClock(), Lines())
        owners = await asyncio.gather(*(tokens.owner("good") for _ in range(50)))
        assert {owner.name for owner in owners if owner is not None} == {"good"}
        assert len(server.asked) == 1


async def test_made_up_tokens_cost_the_api_server_little_and_push_nobody_out() -> None:
    clock = FakeClock()
    settings = ReviewSettings(remembered=8, per_second=2.0, at_once=20.0)
    async with asked() as (server, client):
        tokens = TokenReviews(client, clock, Lines(), settings=settings)
        assert await tokens.owner("good") is not None
        for number in range(19):
            assert await tokens.owner(f"bad{number}") is None
        for number in range(50):
            with pytest.raises(AccessRefusal) as refused:
                await tokens.owner(f"worse{number}")
            assert refused.value.status == 429
        assert len(server.asked) == 20
        assert await tokens.owner("good") is not None
        assert len(server.asked) == 20
        clock.advance(1.0)
        assert await tokens.owner("bad-again") is None


async def _quotes(request: web.Request, body: bytes) -> web.StreamResponse:
    message = f"cannot make sense of {body.decode()}"
    return web.json_response({"kind": "Status", "status": "Failure", "message": message, "code": 422}, status=422)


FAULTS: dict[str, tuple[Reply, str]] = {
    "the server quotes the question": (_quotes, words.answered(422)),
    "it may not be asked": (
        content({"kind": "Status", "reason": "Forbidden", "message": "no rights", "code": 403}, 403),
        "403 Forbidden: no rights",
    ),
    "it answers something else": (content({"status": {"authenticated": "perhaps"}}), words.NO_REVIEW),
}


@pytest.mark.parametrize(("reply", "says"), FAULTS.values(), ids=FAULTS)
async def test_while_the_api_server_cannot_be_asked_nobody_is_let_in(reply: Reply, says: str) -> None:
    clock, lines = FakeClock(), Lines()
    async with asked(reply) as (server, client):
        tokens = TokenReviews(client, clock, lines)
        async with hello(Access(tokens, AllowList(), clock, lines, certificates=False)) as url:
            for _ in range(3):
                answer = await ask(url, SECRET)
                assert answer.status == 503
                assert answer.body == {"error": words.cannot_be_reached("TokenReviews")}
                assert answer.headers["Retry-After"] == "1"
            [(_, told)] = [line for line in lines.told if line[0] == words.REVIEW_FAILED]
            assert says in str(told["problem"])
            assert SECRET not in str(lines.told)
            server.replies["*"] = _review
            assert (await ask(url, "good")).status == 200


async def test_an_api_server_that_is_silent_is_not_waited_for() -> None:
    async def silent(request: web.Request, body: bytes) -> web.StreamResponse:
        await asyncio.sleep(30)
        raise AssertionError("nobody waits")

    lines = Lines()
    async with asked(silent) as (_, client):
        tokens = TokenReviews(client, FakeClock(), lines, settings=ReviewSettings(timeout_seconds=0.05))
        with pytest.raises(AccessRefusal, match="cannot be reached"):
            await tokens.owner("good")
    assert lines.told == [(words.REVIEW_FAILED, {"what": "TokenReviews", "problem": words.no_answer_within(0.05)})]
