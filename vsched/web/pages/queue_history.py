"""``/queue-history``: what queues held, deserved and waited for over the last hour or week."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from aiohttp import web
from msgspec import Meta, to_builtins

from vsched.errors import BadInput
from vsched.web.overview.share_history import HOUR, QUEUES_MAX, SPANS, WEEK, HistorySpan, ShareHistory
from vsched.web.overview.share_series import ShareSeries, share_series
from vsched.web.serve.routing import Contract, QueryParameter, Route, as_json, aside
from vsched.web.words import answers as answers_words
from vsched.web.words import routes as words

POINTS = 60
"""How many points an answer has for each queue unless the client says otherwise."""
POINTS_MAX = WEEK.steps
POINTS_OF_ALL_MAX = 120
"""The most points of each queue in an answer about all of them."""

_QUERY = (
    QueryParameter("span", words.SPAN, Literal["hour", "week"]),
    QueryParameter("queue", words.QUEUE),
    QueryParameter("most", words.MOST, Annotated[int, Meta(ge=1, le=QUEUES_MAX)]),
    QueryParameter("points", words.POINTS, Annotated[int, Meta(ge=1, le=POINTS_MAX)]),
)


def queue_history_route(history: ShareHistory) -> Route:
    """The route."""

    async def answer(request: web.Request) -> web.StreamResponse:
        queue = request.query.get("queue")
        try:
            span = span_of(request.query)
            points = number_of(request.query, "points", POINTS_OF_ALL_MAX if queue is None else POINTS_MAX, POINTS)
            most = number_of(request.query, "most", QUEUES_MAX, QUEUES_MAX)
        except BadInput as error:
            return as_json({"error": str(error)}, 400)
        try:
            return await aside(lambda: as_json(to_builtins(share_series(history, span, points, queue, most))))
        except KeyError:
            return as_json({"error": answers_words.no_history(queue)}, 404)

    return Route("/queue-history", answer, words.QUEUE_HISTORY, contract=Contract((ShareSeries,), _QUERY))


def span_of(query: Mapping[str, str]) -> HistorySpan:
    """The span of ``?span=``, the hour where it is absent; raises BadInput."""
    name = query.get("span", HOUR.name)
    if name not in SPANS:
        raise BadInput(f"?span={name}: expected {' or '.join(SPANS)}")
    return SPANS[name]


def number_of(query: Mapping[str, str], name: str, most: int, otherwise: int) -> int:
    """The number of a parameter, ``otherwise`` where it is absent; raises BadInput."""
    text = query.get(name, str(otherwise))
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= most):
        raise BadInput(answers_words.number_expected(name, text, most))
    return int(text)
