"""``/usage-history``: the resource-hours that queues, namespaces and users have used; ``showback`` adds them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

from aiohttp import web
from msgspec import Meta, to_builtins

from vsched.errors import BadInput
from vsched.model.history.records import UsageHistory
from vsched.model.history.showback import DIMENSIONS, SPAN_SECONDS_MAX, Showback, showback
from vsched.web.serve.routing import Contract, QueryParameter, Route, as_json, aside, seconds_in
from vsched.web.words import answers as answers_words
from vsched.web.words import routes as words

DAY_SECONDS = 86_400.0


def usage_history_route(seen: Callable[[], UsageHistory]) -> Route:
    """The route; ``seen`` is called on the event loop, and gives a history that stays as it is."""

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            seconds, by = span_of(request.query), dimensions_of(request.query)
        except BadInput as error:
            return as_json({"error": str(error)}, 400)
        history = seen()
        return await aside(lambda: as_json(to_builtins(showback(history, seconds, by))))

    since = QueryParameter("since", words.SINCE, Annotated[float, Meta(gt=0, le=SPAN_SECONDS_MAX)])
    contract = Contract((Showback,), (since, QueryParameter("by", words.BY)))
    return Route("/usage-history", answer, words.USAGE_HISTORY, contract=contract)


def span_of(query: Mapping[str, str]) -> float:
    """The seconds of ``?since=``, a day where it is absent; raises BadInput."""
    text = query.get("since", "")
    seconds = seconds_in(text, SPAN_SECONDS_MAX) if text else DAY_SECONDS
    if seconds is None:
        raise BadInput(answers_words.since_expected(text, SPAN_SECONDS_MAX))
    return seconds


def dimensions_of(query: Mapping[str, str]) -> tuple[str, ...]:
    """What ``?by=`` groups by, everything where it is absent; raises BadInput."""
    text = query.get("by", "")
    names = tuple(text.split(",")) if text else DIMENSIONS
    if any(name not in DIMENSIONS for name in names):
        raise BadInput(answers_words.dimensions_expected(text, ",".join(DIMENSIONS)))
    return names
