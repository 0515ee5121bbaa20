"""``/devices``: the devices of nodes, what part of each is taken, and by whom."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web
from msgspec import to_builtins

from vsched.model.snapshot import Snapshot
from vsched.web.overview.devices import NODES_SHOWN, devices_shown, resources_held
from vsched.web.serve.routing import Route, as_json, aside


def device_route(snapshot: Callable[[], Snapshot | None]) -> Route:
    """The route; ``snapshot`` is that of the last session, None before the first."""

    async def answer(request: web.Request) -> web.StreamResponse:
        names = [name for some in request.query.getall("node", []) for name in some.split(",") if name]
        found = snapshot()
        if len(names) > NODES_SHOWN:
            return as_json({"error": f"{len(names)} nodes requested (at most {NODES_SHOWN} at once)"}, 400)
        if found is None:
            return as_json({"error": "no session has run yet"}, 503)
        unknown = [name for name in names if name not in found.nodes.statics.row]
        if unknown:
            return as_json({"error": f"no node {unknown[0]} is known here"}, 404)
        if request.query.get("only") == "resources":
            return await aside(lambda: as_json({"resources": to_builtins(resources_held(found, names))}))
        return await aside(lambda: as_json(to_builtins(devices_shown(found, names))))

    says = "devices of nodes, how much of each is in use and by whom, and who holds each resource: ?node=NAME,NAME"
    return Route("/devices", answer, f"{says}; ?only=resources")
