"""The route tables: every path of a running daemon, as data, and the few lines between a request and its view."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from vsched.web import allocations, health, views
from vsched.web.findings import Findings

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Route(NamedTuple):
    """One path: who answers, and a sentence about it for the index."""

    path: str
    answer: Handler
    says: str
    method: str = "GET"
    """A star for any."""


class Sources(NamedTuple):
    """Where the answers come from."""

    findings: Findings
    registry: CollectorRegistry
    configuration: Callable[[], dict[str, Any]]
    """The policy in force and the last reload."""
    health: health.Health


def as_json(data: object, status: int = 200) -> web.Response:
    """An answer in JSON, for machines and readable for people."""
    option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    return web.Response(
        body=orjson.dumps(data, default=str, option=option), content_type="application/json", status=status
    )


def public_routes(sources: Sources, more: Sequence[Route] = ()) -> list[Route]:
    """What ``--listen-address`` serves, and more that is served there and stands in the same list."""
    findings = sources.findings
    routes = [
        Route("/metrics", _metrics(sources.registry), "metrics in Prometheus' text format"),
        Route("/configz", _page(sources.configuration), "the policy in force and the last reload"),
        Route("/queues", _page(lambda: views.queues(findings)), "queues: shares and amounts"),
        Route("/jobs", _page(lambda: views.jobs(findings)), "PodGroups: phase, counts, why they wait"),
        Route("/nodes", _page(lambda: views.nodes(findings)), "nodes: amounts"),
        Route("/allocations", _page(lambda: allocations.allocations(findings)), "namespaces: deserved and held"),
        Route("/explain/{namespace}/{name}", _explain(findings), "why a pod or a PodGroup waits"),
        *more,
    ]
    return [Route("/", _page(lambda: {route.path: route.says for route in routes}), "this list"), *routes]


def health_routes(sources: Sources) -> list[Route]:
    """What ``--healthz-address`` serves."""
    checks = sources.health
    return [
        Route("/livez", _check(checks.live), "whether the loop turns"),
        Route("/readyz", _check(checks.ready), "whether the mirror is complete"),
        Route("/healthz", _check(checks.live), "the same as /livez"),
    ]


def _page(view: Callable[[], object]) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        # A page about ten thousand nodes takes a while, which the event loop does not have.
        return await asyncio.to_thread(lambda: as_json(view()))

    return answer


def _check(check: Callable[[], health.Check]) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        found = check()
        return as_json({"ok": found.ok, **found.details}, status=200 if found.ok else 503)

    return answer


def _metrics(registry: CollectorRegistry) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        text = await asyncio.to_thread(generate_latest, registry)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    return answer


def _explain(findings: Findings) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        namespace, name = request.match_info["namespace"], request.match_info["name"]
        found = await asyncio.to_thread(views.explain, findings, namespace, name)
        if found is None:
            return as_json({"error": f"no pod or PodGroup {namespace}/{name} is known here"}, status=404)
        return as_json(found)

    return answer


def application(routes: Sequence[Route]) -> web.Application:
    """An aiohttp application that serves a route table."""
    app = web.Application()
    for route in routes:
        # Answers to GET are answers to HEAD as well.
        add = app.router.add_get if route.method == "GET" else partial(app.router.add_route, route.method)
        add(route.path, route.answer)
    return app
