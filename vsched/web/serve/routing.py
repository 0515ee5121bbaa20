"""Routes, and helpers that all answers use."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypedDict, TypeVar

import orjson
from aiohttp import web

from vsched.errors import Unavailable

T = TypeVar("T")

PAGES = ThreadPoolExecutor(2, "page")
"""Threads for pages, so that many requests do not use up the threads and the time that sessions need."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

JSON = "application/json"
INDENTED = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS


class ErrorAnswer(TypedDict):
    """Why a question is not answered."""

    error: str


class QueryParameter(NamedTuple):
    """A parameter of a query; none of them is required."""

    name: str
    says: str
    kind: Any = str
    """Its type."""


class Contract(NamedTuple):
    """What a route takes and answers, as types, for those who write clients."""

    gives: tuple[Any, ...] = ()
    """What an answer in JSON may be; empty for another media type."""
    query: tuple[QueryParameter, ...] = ()
    media: str = JSON
    takes: Any = None
    """The body of a request; None without one."""
    errors: Any = ErrorAnswer
    """The body of an answer with another status."""
    status: int = 200


def _nobody(_: web.BaseRequest) -> bool:
    return False


class Route(NamedTuple):
    """One path, its handler, and a sentence about it for the index."""

    path: str
    answer: Handler
    says: str
    method: str = "GET"
    """``*`` for any."""
    public: Callable[[web.BaseRequest], bool] = _nobody
    """Whether a request needs no authentication."""
    private: bool = False
    """Whether only this machine may ask, while there is no authentication."""
    contract: Contract = Contract()

    @property
    def is_open(self) -> bool:
        """Whether some requests need no authentication."""
        return self.public is not _nobody


def seconds_in(text: str, most: float) -> float | None:
    """The seconds that a parameter says, above 0 and at most ``most``; None where it says anything else."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 < seconds <= most else None


def as_json(data: object, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """An answer in indented JSON."""
    body = orjson.dumps(data, default=str, option=INDENTED | orjson.OPT_APPEND_NEWLINE)
    return web.Response(body=body, content_type=JSON, status=status, headers=headers)


def or_unavailable(answer: Handler) -> Handler:
    """The handler; Unavailable becomes status 503 with ``Retry-After``."""

    async def guard(request: web.Request) -> web.StreamResponse:
        try:
            return await answer(request)
        except Unavailable as error:
            return as_json({"error": str(error)}, 503, {"Retry-After": "2"})

    return guard


async def aside(make: Callable[[], T]) -> T:
    """Run ``make`` in a thread for pages: a page about ten thousand nodes would block the event loop."""
    return await asyncio.get_running_loop().run_in_executor(PAGES, make)


def application(routes: Sequence[Route], guards: Sequence[Any]) -> web.Application:
    """An aiohttp application that serves a route table behind middlewares, the outermost first."""
    app = web.Application(middlewares=guards)
    for route in routes:
        # Answers to GET are answers to HEAD as well.
        add = app.router.add_get if route.method == "GET" else partial(app.router.add_route, route.method)
        add(route.path, route.answer)
    return app
