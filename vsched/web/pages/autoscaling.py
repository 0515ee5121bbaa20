"""``/autoscaling``: nodes that are asked for, and room that autoscalers keep ready."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web
from msgspec import to_builtins

from vsched.controllers.provisioning.shown import AutoscalingShown
from vsched.web.serve.routing import Contract, Route, as_json
from vsched.web.words import routes as words


def autoscaling_route(seen: Callable[[], AutoscalingShown]) -> Route:
    """The route."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return as_json(to_builtins(seen()))

    return Route("/autoscaling", answer, words.AUTOSCALING, contract=Contract((AutoscalingShown,)))
