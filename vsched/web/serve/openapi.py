"""The OpenAPI document of what a daemon serves, made from its routes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from aiohttp import web

from vsched import __version__
from vsched.web.serve.routing import JSON, Contract, Route, as_json, aside
from vsched.web.words import routes as words

Data = dict[str, Any]
Served = Mapping[str, Sequence[Route]]
"""Routes by the flag that names their address."""

_REFERENCE = "#/components/schemas/{name}"
_IN_PATH = re.compile(r"{(\w+)}")
_SCHEMES: Data = {"token": {"type": "http", "scheme": "bearer"}, "certificate": {"type": "mutualTLS"}}
_NO_ONE_KNOWN: Data = {}
"""Of the ways to say who asks: not at all."""


def openapi_route(served: Callable[[], Served], guarded: str = "") -> Route:
    """The route of the document; ``guarded`` is the flag of the address where users are known, empty without one."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return await aside(lambda: as_json(openapi(served(), guarded)))

    return Route("/openapi.json", answer, words.OPENAPI, contract=Contract((dict[str, Any],)))


def openapi(served: Served, guarded: str = "") -> Data:
    """The document: a path item for each path, and the schemas of the types that routes take and answer."""
    routes = [(flag, route) for flag, of_address in served.items() for route in of_address]
    types = list(dict.fromkeys(kind for _, route in routes for kind in _types(route.contract)))
    made, schemas = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    known = dict(zip(types, made, strict=True))
    paths: dict[str, Data] = {}
    for flag, route in routes:
        method = "post" if route.method == "*" else route.method.lower()
        paths.setdefault(route.path, {})[method] = _operation(route, method, known, flag, is_guarded=flag == guarded)
    return {
        "openapi": "3.1.0",
        "info": {"title": "vsched", "version": __version__, "description": words.API},
        "tags": [{"name": flag, "description": words.at_address(flag)} for flag in served],
        "paths": paths,
        "components": {"schemas": schemas, **({"securitySchemes": _SCHEMES} if guarded else {})},
    }


def _types(contract: Contract) -> Iterator[Any]:
    """Every type that a route takes or answers."""
    yield from (kind for kind in (*contract.gives, contract.takes, contract.errors) if kind is not None)
    yield from (parameter.kind for parameter in contract.query)


def _operation(route: Route, method: str, known: Mapping[Any, Data], flag: str, *, is_guarded: bool) -> Data:
    contract = route.contract
    gives = [known[kind] for kind in contract.gives]
    schema = gives[0] if len(gives) == 1 else {"anyOf": gives}
    found: Data = {
        "operationId": "_".join([method, *re.findall(r"\w+", route.path)]),
        "summary": route.says,
        "tags": [flag],
        "parameters": [
            *(
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in _IN_PATH.findall(route.path)
            ),
            *(
                {"name": each.name, "in": "query", "description": each.says, "schema": known[each.kind]}
                for each in contract.query
            ),
        ],
        "responses": {
            str(contract.status): {
                "description": words.ANSWER,
                "content": {contract.media: {"schema": schema} if gives else {}},
            },
            "default": {
                "description": words.NO_ANSWER,
                "content": {JSON: {"schema": known[contract.errors]}},
            },
        },
    }
    if contract.takes is not None:
        found["requestBody"] = {"required": True, "content": {JSON: {"schema": known[contract.takes]}}}
    if is_guarded:
        found["security"] = [*([_NO_ONE_KNOWN] if route.is_open else []), *({name: []} for name in _SCHEMES)]
    elif route.private:
        found["description"] = words.THIS_MACHINE_ONLY
    return found
