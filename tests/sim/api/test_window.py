"""The window of the past is one for all kinds: what is older is refused, however little happened to the kind itself."""

from __future__ import annotations

import pytest

from tests.sim.api_client import CRDS, PODS, SCHEDULING, Api, queue
from vsched.sim.store.store import Store

_WINDOW = 40
_EVENTS = "/api/v1/namespaces/default/events"
_WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
_QUIET = {
    "events": _EVENTS,
    "events of the newer API": "/apis/events.k8s.io/v1/events",
    "custom resources": f"{SCHEDULING}/queues",
    "a kind nothing ever happened to": "/api/v1/secrets",
    "the kind all of it happened to": "/api/v1/configmaps",
}


@pytest.fixture
def store() -> Store:
    return Store(history_revisions=_WINDOW)


async def _much_happens(api: Api) -> None:
    for number in range(2 * _WINDOW):
        await api.made("/api/v1/namespaces/default/configmaps", {"metadata": {"name": f"c{number}"}})


async def _of_each(api: Api) -> None:
    for name in "ab":
        await api.made(_EVENTS, {"metadata": {"name": name}, "involvedObject": {"namespace": "default"}})
        await api.made(f"{SCHEDULING}/queues", queue(name))
        await api.made("/api/v1/namespaces/default/secrets", {"metadata": {"name": name}})
        await api.made("/api/v1/namespaces/default/configmaps", {"metadata": {"name": name}})


@pytest.mark.parametrize("path", _QUIET.values(), ids=_QUIET)
async def test_a_watch_from_before_the_window(api: Api, path: str) -> None:
    await _of_each(api)
    seen = (await api.get(path)).version
    await _much_happens(api)
    async with api.watch(f"{path}?watch=1&resourceVersion={seen}") as watch:
        error = await watch.next()
        assert await watch.ended()
    assert (error["type"], error["object"]["code"], error["object"]["reason"]) == ("ERROR", 410, "Expired")


@pytest.mark.parametrize("path", _QUIET.values(), ids=_QUIET)
async def test_the_rest_of_a_list_from_before_the_window(api: Api, path: str) -> None:
    await _of_each(api)
    page = await api.get(f"{path}?limit=1")
    await _much_happens(api)
    rest = await api.get(f"{path}?limit=1&continue={page.body['metadata']['continue']}")
    assert (rest.code, rest.reason) == (410, "Expired")
    exact = await api.get(f"{path}?resourceVersion={page.version}&resourceVersionMatch=Exact")
    assert (exact.code, exact.reason) == (410, "Expired")


@pytest.mark.parametrize("path", _QUIET.values(), ids=_QUIET)
async def test_what_is_within_the_window_is_told(api: Api, store: Store, path: str) -> None:
    await _much_happens(api)
    seen = store.revision
    await _of_each(api)
    for number in range(_WINDOW // 4):
        await api.made("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": f"s{number}"}})
    async with api.watch(f"{path}?watch=1&resourceVersion={seen}") as watch:
        assert await watch.take(2) == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_watch_that_is_open_lives_on_past_the_window(api: Api) -> None:
    async with api.watch(f"{PODS}?watch=1") as watch:
        await _much_happens(api)
        await api.pod("a")
        assert await watch.take(1) == [("ADDED", "a")]


async def test_a_kind_that_comes_later_has_no_older_past(api: Api) -> None:
    await _much_happens(api)
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    await api.made(CRDS, {"metadata": {"name": "widgets.example.com"}, "spec": spec})
    assert (await api.get(_WIDGETS)).code == 429
    async with api.watch(f"{_WIDGETS}?watch=1&resourceVersion=1") as watch:
        assert (await watch.next())["object"]["code"] == 410
