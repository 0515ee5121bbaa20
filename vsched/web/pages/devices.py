"""``/devices``: the devices of nodes, what part of each is taken, and by whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypedDict

from aiohttp import web
from msgspec import to_builtins

from vsched.model.snapshot import Snapshot
from vsched.web.overview.devices import NODES_SHOWN, DevicesShown, HeldResource, devices_shown, resources_held
from vsched.web.serve.routing import Contract, QueryParameter, Route, as_json, aside
from vsched.web.words import answers as answers_words
from vsched.web.words import routes as words


class ResourcesShown(TypedDict):
    """An answer of ``/devices?only=resources``."""

    resources: tuple[HeldResource, ...]


def device_route(snapshot: Callable[[], Snapshot | None]) -> Route:
    """The route; ``snapshot`` is that of the last session, None before the first."""

    async def answer(request: web.Request) -> web.StreamResponse:
        names = [name for some in request.query.getall("node", []) for name in some.split(",") if name]
        found = snapshot()
        if len(names) > NODES_SHOWN:
            return as_json({"error": answers_words.too_many_nodes(len(names), NODES_SHOWN)}, 400)
        if found is None:
            return as_json({"error": answers_words.NO_SESSION_YET}, 503)
        unknown = [name for name in names if name not in found.nodes.statics.row]
        if unknown:
            return as_json({"error": answers_words.no_node(unknown[0])}, 404)
        if request.query.get("only") == "resources":
            return await aside(lambda: as_json({"resources": to_builtins(resources_held(found, names))}))
        return await aside(lambda: as_json(to_builtins(devices_shown(found, names))))

    says = words.DEVICES
    query = QueryParameter("node", words.SOME_NODES), QueryParameter("only", words.ONLY, Literal["resources"])
    return Route(
        "/devices", answer, f"{says}; ?only=resources", contract=Contract((DevicesShown, ResourcesShown), query)
    )
