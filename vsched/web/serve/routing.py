"""What a route is: a path, who answers and a sentence about it; and what all answers are made with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

import orjson
from aiohttp import web

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


def as_json(data: object, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """An answer in JSON, for machines and readable for people."""
    option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    body = orjson.dumps(data, default=str, option=option)
    return web.Response(body=body, content_type="application/json", status=status, headers=headers)


async def aside(make: Callable[[], T]) -> T:
    """What takes a while, as a page about ten thousand nodes does, which the event loop does not have."""
    return await asyncio.get_running_loop().run_in_executor(PAGES, make)


def application(routes: Sequence[Route], guards: Sequence[Any] = ()) -> web.Application:
    """An aiohttp application that serves a route table behind middlewares, the outermost first."""
    app = web.Application(middlewares=guards)
    for route in routes:
        # Answers to GET are answers to HEAD as well.
        add = app.router.add_get if route.method == "GET" else partial(app.router.add_route, route.method)
        add(route.path, route.answer)
    return app
