"""``/shadow``: what a shadow has found, since it began or over the last time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from aiohttp import web
from msgspec import Meta, to_builtins

from vsched.errors import BadInput
from vsched.model.history.showback import SPAN_SECONDS_MAX
from vsched.shadow.summary import Comparing
from vsched.web.pages.usage_history import span_of
from vsched.web.serve.routing import Contract, QueryParameter, Route, as_json, aside
from vsched.web.words import answers as answers_words
from vsched.web.words import routes as words

Since = Callable[[float], Callable[[], Comparing]]
"""Is called on the event loop, with seconds up to now; what it returns reads the log, and is called in a thread."""


def shadow_route(shown: Callable[[], Comparing], since: Since | None) -> Route:
    """The route. ``shown`` is called on the event loop; ``since`` is None where there is no log."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if not request.query.get("since"):
            found = shown()
            return await aside(lambda: as_json(to_builtins(found)))
        if since is None:
            return as_json({"error": answers_words.NO_SHADOW_LOG}, 400)
        try:
            read = since(span_of(request.query))
            return await aside(lambda: as_json(to_builtins(read())))
        except BadInput as error:
            return as_json({"error": str(error)}, 400)

    query = QueryParameter("since", words.SHADOW_SINCE, Annotated[float, Meta(gt=0, le=SPAN_SECONDS_MAX)])
    return Route("/shadow", answer, words.SHADOW, contract=Contract((Comparing,), (query,)))
