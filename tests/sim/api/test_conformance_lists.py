"""What lists say: their metadata, their pages, and every way they refuse."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.sim.api_client import PODS, SCHEDULING, Api, Reply, queue
from vsched.sim.api.server import ServerSettings
from vsched.sim.store.store import Store

Obj = dict[str, Any]


def encoded(version: Any = 1, start: Any = "/a", v: str = "meta.k8s.io/v1") -> str:
    body = json.dumps({"v": v, "rv": version, "start": start}).encode()
    return base64.urlsafe_b64encode(body).decode().rstrip("=")


def decoded(page: Reply) -> Obj:
    text = page.body["metadata"]["continue"]
    found: Obj = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return found


FORBIDDEN = "resourceVersionMatch: Forbidden: resourceVersionMatch "
NOT_A_NUMBER = 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'
TOKEN = "invalid continue token: continue key is not valid"
BAD_REQUESTS = {
    "resourceVersion=x": f"invalid resource version: {NOT_A_NUMBER}",
    "resourceVersion=x&limit=1": f"invalid resource version: {NOT_A_NUMBER}",
    "limit=x": 'strconv.ParseInt: parsing "x": invalid syntax',
    "timeoutSeconds=x": 'strconv.ParseInt: parsing "x": invalid syntax',
    f"continue={encoded(0)}": f"{TOKEN}: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
    f"continue={encoded(start='')}": f"{TOKEN}: encoded start key empty (version meta.k8s.io/v1)",
    f"continue={encoded(v='v9')}": f"{TOKEN}: server does not recognize this encoded version v9",
    f"continue={encoded(start='/../a')}": f"{TOKEN}: /../a",
    f"continue={encoded()}&resourceVersion=5": "specifying resource version is not allowed when using continue",
    f"continue={encoded(0)}&resourceVersion=5": f"{TOKEN}: incorrect encoded start resourceVersion (version"
    " meta.k8s.io/v1)",
}


@pytest.mark.parametrize(("query", "why"), BAD_REQUESTS.items(), ids=range(len(BAD_REQUESTS)))
async def test_a_list_is_a_bad_request(api: Api, query: str, why: str) -> None:
    reply = await api.get(f"{PODS}?{query}")
    assert (reply.code, reply.reason, reply.message) == (400, "BadRequest", why)


@pytest.mark.parametrize("token", ["eHg", "!!", "e"], ids=["no JSON", "no base64", "half a character"])
async def test_a_token_of_somebody_else(api: Api, token: str) -> None:
    reply = await api.get(f"{PODS}?continue={token}")
    assert (reply.code, reply.message.startswith(TOKEN)) == (400, True)


INVALID = {
    "resourceVersionMatch=Exact": [f"{FORBIDDEN}is forbidden unless resourceVersion is provided"],
    "resourceVersion=0&resourceVersionMatch=Exact": [f'{FORBIDDEN}"exact" is forbidden for resourceVersion "0"'],
    "resourceVersion=1&resourceVersionMatch=Exact&continue=x": [f"{FORBIDDEN}is forbidden when continue is provided"],
    "resourceVersionMatch=Some": [
        f"{FORBIDDEN}is forbidden unless resourceVersion is provided",
        'resourceVersionMatch: Unsupported value: "Some": supported values: "Exact", "NotOlderThan", ""',
    ],
    "sendInitialEvents=true": ["sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"],
    "sendInitialEvents=false": ["sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"],
}


@pytest.mark.parametrize(("query", "causes"), INVALID.items(), ids=INVALID)
async def test_options_of_a_list_that_do_not_go_together(api: Api, query: str, causes: list[str]) -> None:
    reply = await api.get(f"{PODS}?{query}")
    shown = causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]"
    assert (reply.code, reply.message) == (422, f'ListOptions.meta.k8s.io "" is invalid: {shown}')
    assert reply.body["details"] == {
        "group": "meta.k8s.io",
        "kind": "ListOptions",
        "causes": [
            {"reason": _reason(cause), "message": cause.partition(": ")[2], "field": cause.partition(":")[0]}
            for cause in causes
        ],
    }


def _reason(cause: str) -> str:
    return "FieldValueForbidden" if ": Forbidden" in cause else "FieldValueNotSupported"


@pytest.mark.parametrize("settings", [ServerSettings(future_seconds=0.05)], ids=["impatient"])
@pytest.mark.parametrize("path", [PODS, f"{PODS}/a"], ids=["a list", "an object"])
async def test_a_version_of_the_future(api: Api, path: str, store: Store) -> None:
    reply = await api.get(f"{path}?resourceVersion=99999")
    assert (reply.code, reply.reason, reply.headers["Retry-After"]) == (504, "Timeout", "1")
    assert reply.message == f"Timeout: Too large resource version: 99999, current: {store.revision}"
    assert reply.body["details"] == {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }


async def test_a_version_that_is_no_number_breaks_a_get(api: Api) -> None:
    await api.pod("a")
    reply = await api.get(f"{PODS}/a?resourceVersion=x")
    assert (reply.code, reply.reason, reply.message) == (500, None, NOT_A_NUMBER)


@pytest.mark.parametrize(
    ("path", "start"),
    [(PODS, "/a\0"), ("/api/v1/pods", "/default/a\0"), (f"{SCHEDULING}/queues", "/q1\0")],
    ids=["of a namespace", "of all namespaces", "of a cluster"],
)
async def test_a_token_names_the_next_key(api: Api, path: str, start: str, store: Store) -> None:
    for name in "ab":
        await api.pod(name)
    for name in ("q1", "q2"):
        await api.made(f"{SCHEDULING}/queues", queue(name))
    page = await api.get(f"{path}?limit=1")
    assert decoded(page) == {"v": "meta.k8s.io/v1", "rv": store.revision, "start": start}
    assert page.body["metadata"]["remainingItemCount"] == 1
    last = await api.get(f"{path}?limit=1&continue={page.body['metadata']['continue']}&resourceVersion=0")
    assert last.body["metadata"] == {"resourceVersion": str(store.revision)}
    assert len(last.names()) == 1


@pytest.mark.parametrize(
    ("query", "count"),
    [("limit=-1", 3), ("limit=0", 3), ("limit=1&resourceVersion=0", 3), ("limit=1", 1), ("limit=3", 3)],
)
async def test_how_many_items_come(api: Api, query: str, count: int) -> None:
    for name in "abc":
        await api.pod(name)
    page = await api.get(f"{PODS}?{query}")
    assert (len(page.names()), "continue" in page.body["metadata"]) == (count, count < 3)


async def test_a_list_of_one_name_is_not_paged(api: Api) -> None:
    for name in "ab":
        await api.pod(name)
    page = await api.get(f"{PODS}?limit=1&fieldSelector=metadata.name%3Da")
    assert (page.names(), "continue" in page.body["metadata"]) == (["a"], False)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("resourceVersionMatch=Exact", ["a"]),
        ("limit=5", ["a"]),
        ("resourceVersionMatch=NotOlderThan", ["b"]),
        ("resourceVersionMatch=NotOlderThan&limit=5", ["b"]),
        ("", ["b"]),
    ],
    ids=["exactly", "paged", "not older", "not older and paged", "without a match"],
)
async def test_an_old_version(api: Api, query: str, names: list[str]) -> None:
    version = (await api.pod("a"))["metadata"]["resourceVersion"]
    await api.pod("b")
    await api.delete(f"{PODS}/a")
    assert (await api.get(f"{PODS}?resourceVersion={version}&{query}")).names() == names


async def test_forgotten_versions(api: Api, store: Store) -> None:
    for name in "ab":
        await api.pod(name)
    first = await api.get(f"{PODS}?limit=1")
    await api.pod("c")
    store.compact(store.revision)
    exact = await api.get(f"{PODS}?resourceVersion={first.version}&resourceVersionMatch=Exact")
    too_old = "The resourceVersion for the provided list is too old."
    assert (exact.code, exact.reason, exact.message) == (410, "Expired", too_old)
    expired = await api.get(f"{PODS}?limit=1&continue={first.body['metadata']['continue']}")
    assert (expired.code, expired.reason) == (410, "Expired")
    assert expired.message.startswith("The provided continue parameter is too old to display a consistent list result.")
    assert decoded(expired) == {"v": "meta.k8s.io/v1", "rv": -1, "start": "/a\0"}
    assert (await api.get(f"{PODS}?continue={expired.body['metadata']['continue']}")).names() == ["b", "c"]
