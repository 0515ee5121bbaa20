"""The route tables: every path of a running daemon and its page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from aiohttp import web
from msgspec import to_builtins
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from vsched.version import Build, build
from vsched.web.findings import Findings
from vsched.web.pages import allocations, health, views
from vsched.web.serve.parts import json_answer
from vsched.web.serve.routing import Contract, Handler, Route, as_json, aside
from vsched.web.words import routes as words


async def nowhere() -> Mapping[str, int]:
    """The default: no positions are known."""
    return {}


class ConfigurationShown(TypedDict):
    """An answer of ``/configz``."""

    build: Build
    source: str
    sha256: str
    generation: int
    warnings: list[str]
    noEffect: list[str]
    policy: dict[str, Any]
    lastReload: dict[str, Any]
    rollout: dict[str, Any]


class Sources(NamedTuple):
    """What the pages are made from."""

    findings: Findings
    registry: CollectorRegistry
    configuration: Callable[[], dict[str, Any]]
    """The policy in force and the last reload."""
    health: health.Health
    front: Callable[[Route], Route] = lambda index: index
    """Wraps the list of paths at ``/``, as to serve the page to browsers."""
    positions: Callable[[], Awaitable[Mapping[str, int]]] = nowhere
    """The position of each waiting job in its queue, as far as it is known."""


def public_routes(sources: Sources, more: Sequence[Route] = ()) -> list[Route]:
    """The routes of ``--listen-address``, with ``more`` in the same list."""
    findings = sources.findings
    routes = [
        metrics_route(sources.registry),
        Route(
            "/configz",
            _page(lambda: {"build": to_builtins(build()), **sources.configuration()}),
            words.CONFIGZ,
            contract=Contract((ConfigurationShown,)),
        ),
        Route(
            "/queues",
            _many(lambda: views.queues(findings)),
            words.QUEUES,
            contract=Contract((dict[str, views.QueueShown],)),
        ),
        Route("/jobs", _jobs(findings, sources.positions), words.JOBS, contract=Contract((dict[str, views.JobShown],))),
        Route(
            "/nodes",
            _many(lambda: views.nodes(findings)),
            words.NODES,
            contract=Contract((dict[str, views.NodeShown],)),
        ),
        Route(
            "/allocations",
            _many(lambda: allocations.allocations(findings).items()),
            words.ALLOCATIONS,
            contract=Contract((allocations.AllocationsShown,)),
        ),
        *more,
    ]
    index = Route(
        "/",
        _page(lambda: {route.path: route.says for route in routes}),
        "this list",
        contract=Contract((dict[str, str],)),
    )
    return [sources.front(index), *routes]


def metrics_route(registry: CollectorRegistry) -> Route:
    """What Prometheus asks."""
    return Route("/metrics", _metrics(registry), words.METRICS, contract=Contract(media="text/plain"))


def health_routes(checks: health.Health) -> list[Route]:
    """The routes of ``--healthz-address``."""
    return [
        Route("/livez", _check(checks.live), words.LIVEZ, contract=_checked(health.LiveShown)),
        Route("/readyz", _check(checks.ready), words.READYZ, contract=_checked(health.ReadyShown)),
        Route("/healthz", _check(checks.live), words.HEALTHZ, contract=_checked(health.LiveShown)),
    ]


def _checked(shown: Any) -> Contract:
    """A check that fails says the same as one that does not."""
    return Contract((shown,), errors=shown)


def _page(view: Callable[[], object]) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return await aside(lambda: as_json(view()))

    return answer


def _many(members: Callable[[], Iterable[tuple[str, object]]]) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return await aside(lambda: json_answer(members()))

    return answer


def _jobs(findings: Findings, positions: Callable[[], Awaitable[Mapping[str, int]]]) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        places = await positions()
        return await aside(lambda: json_answer(views.jobs(findings, places)))

    return answer


def _check(check: Callable[[], health.HealthCheck]) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        found = check()
        return as_json({"ok": found.ok, **found.details}, status=200 if found.ok else 503)

    return answer


def _metrics(registry: CollectorRegistry) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        text = await aside(lambda: generate_latest(registry))
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    return answer
