"""The route tables: every path of a running daemon, as data, and the few lines between a request and its view."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

import orjson
from aiohttp import web
from msgspec import to_builtins
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from vsched.version import build
from vsched.web.findings import Findings
from vsched.web.pages import allocations, health, views

T = TypeVar("T")

PAGES = ThreadPoolExecutor(2, "page")
"""Pages are made here, two at a time: whoever asks for many must not take the threads that sessions need, nor all of
the interpreter's time."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Route(NamedTuple):
    """One path: who answers, and a sentence about it for the index."""

    path: str
    answer: Handler
    says: str
    method: str = "GET"
    """A star for any."""
    public: Callable[[web.BaseRequest], bool] = lambda request: False
    """Whether everybody may have the answer, whoever is let in otherwise."""
    private: bool = False
    """Whether it is only for this machine while nobody is asked who they are."""


async def nowhere() -> Mapping[str, int]:
    """No positions are known."""
    return {}


class Sources(NamedTuple):
    """Where the answers come from."""

    findings: Findings
    registry: CollectorRegistry
    configuration: Callable[[], dict[str, Any]]
    """The policy in force and the last reload."""
    health: health.Health
    front: Callable[[Route], Route] = lambda index: index
    """What stands at ``/`` in place of the list of paths, or before it."""
    positions: Callable[[], Awaitable[Mapping[str, int]]] = nowhere
    """The place of each waiting job in the order of its queue, as far as that is known."""


def as_json(data: object, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """An answer in JSON, for machines and readable for people."""
    option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    body = orjson.dumps(data, default=str, option=option)
    return web.Response(body=body, content_type="application/json", status=status, headers=headers)


def public_routes(sources: Sources, more: Sequence[Route] = ()) -> list[Route]:
    """What ``--listen-address`` serves, and more that is served there and stands in the same list."""
    findings = sources.findings
    routes = [
        Route("/metrics", _metrics(sources.registry), "metrics in Prometheus' text format"),
        Route(
            "/configz",
            _page(lambda: {"build": to_builtins(build()), **sources.configuration()}),
            "the policy in force, the last reload, and what exactly runs",
        ),
        Route("/queues", _page(lambda: views.queues(findings)), "queues: shares and amounts"),
        Route("/jobs", _jobs(findings, sources.positions), "PodGroups: phase, counts, why they wait"),
        Route("/nodes", _page(lambda: views.nodes(findings)), "nodes: amounts"),
        Route("/allocations", _page(lambda: allocations.allocations(findings)), "namespaces: deserved and held"),
        *more,
    ]
    index = Route("/", _page(lambda: {route.path: route.says for route in routes}), "this list")
    return [sources.front(index), *routes]


def health_routes(sources: Sources) -> list[Route]:
    """What ``--healthz-address`` serves."""
    checks = sources.health
    return [
        Route("/livez", _check(checks.live), "whether the loop turns"),
        Route("/readyz", _check(checks.ready), "whether the mirror is complete"),
        Route("/healthz", _check(checks.live), "the same as /livez"),
    ]


async def aside(make: Callable[[], T]) -> T:
    """What takes a while, as a page about ten thousand nodes does, which the event loop does not have."""
    return await asyncio.get_running_loop().run_in_executor(PAGES, make)


def _page(view: Callable[[], object]) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return await aside(lambda: as_json(view()))

    return answer


def _jobs(findings: Findings, positions: Callable[[], Awaitable[Mapping[str, int]]]) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        places = await positions()
        return await aside(lambda: as_json(views.jobs(findings, places)))

    return answer


def _check(check: Callable[[], health.Check]) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        found = check()
        return as_json({"ok": found.ok, **found.details}, status=200 if found.ok else 503)

    return answer


def _metrics(registry: CollectorRegistry) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        text = await aside(lambda: generate_latest(registry))
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    return answer


def application(routes: Sequence[Route], guards: Sequence[Any] = ()) -> web.Application:
    """An aiohttp application that serves a route table behind middlewares, the outermost first."""
    app = web.Application(middlewares=guards)
    for route in routes:
        # Answers to GET are answers to HEAD as well.
        add = app.router.add_get if route.method == "GET" else partial(app.router.add_route, route.method)
        add(route.path, route.answer)
    return app
