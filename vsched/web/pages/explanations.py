"""The pages that explain why a pod, a PodGroup or a queue waits, as of a session that starts with the request.

Changes that would help are searched by simulation, for about a second of work.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from itertools import islice
from threading import Event
from typing import TypeVar

from aiohttp import web
from msgspec import to_builtins

from vsched.errors import Unavailable
from vsched.explain.changes import SIMULATIONS_MAX
from vsched.explain.explaining import explain, explain_queue
from vsched.explain.names import POD, POD_GROUP, jobs_made_for, kinds_of
from vsched.explain.records import Explanation
from vsched.explain.simulation import Asked, Spent
from vsched.framework.answers import Repeating
from vsched.framework.registry import Registry
from vsched.mirror.problems import Problem
from vsched.web.serve.routing import Handler, Route, as_json, or_unavailable
from vsched.web.snapshots import FrozenSnapshot, Look

T = TypeVar("T")
Make = Callable[[FrozenSnapshot, Asked], Explanation | None]
"""Makes an explanation of a session; it checks now and then whether it must stop."""
Unused = Callable[[], Iterable[Problem]]
"""Objects that are not scheduled, and why."""

Elsewhere = Callable[[str, str], str]
"""Says of a pod or PodGroup, by namespace and name, which other daemon decides about it; empty for this one. Or why
there is none."""


def nobody(namespace: str, name: str) -> str:
    """There is nothing to say of any name."""
    return ""


EXPLAINING = ThreadPoolExecutor(2, "explain")
"""Threads for explanations: searches take longer than pages, and pages must not wait for them."""
MOST_AT_ONCE = 16
"""How many explanations may be under way or wait."""
SEARCH_SECONDS = 1.0
"""Processor time for the search for changes."""
ESTIMATE_SECONDS = 1.0
"""Processor time for the estimate of the start."""
SEARCH_LONGEST_SECONDS = 3.0
"""Elapsed time of a search, on a busy machine."""
LONGEST_SECONDS = 20.0
"""Elapsed time of a whole explanation; it is stopped after that."""
REST_SECONDS = 0.05
"""How long a search waits for a session, each time one is under way."""
NAMES_MAX = 5_000
"""How many names are compared with an unknown one."""
CLOSE_MAX = 3

KINDS = {"": "", "pod": POD, "podgroup": POD_GROUP, "pg": POD_GROUP}
"""Values of ``?kind=``, in lower case."""
SEARCHES = {"": True, "true": True, "1": True, "false": False, "0": False}
"""Values of ``?changes=``."""


class Explainer:
    """Makes explanations, a few at once."""

    def __init__(
        self,
        look: Look,
        registry: Registry,
        unused: Unused,
        at_rest: Callable[[float], object],
        longest_seconds: float,
        elsewhere: Elsewhere,
        unmade: Elsewhere,
    ) -> None:
        self._look = look
        self._elsewhere, self._unmade = elsewhere, unmade
        self._longest_seconds = longest_seconds
        self._registry = registry
        self._unused = unused
        self._at_rest = at_rest
        """Waits until no session is under way, at most for so many seconds."""
        self._asked = 0

    async def of(self, namespace: str, name: str, kind: str, search: bool) -> Explanation | str:
        """The explanation of a pod or PodGroup, else why there is none; raises Unavailable."""
        if who := self._elsewhere(namespace, name):
            return who

        def make(frozen: FrozenSnapshot, over: Asked) -> Explanation | None:
            simulations = SIMULATIONS_MAX if search else 0
            return explain(
                frozen.snapshot,
                frozen.policy,
                self._registry,
                frozen.report,
                namespace,
                name,
                kind=kind,
                callout=Repeating(frozen.calls),
                simulations=simulations,
                spent=self._spent(),
                foreseen=self._spent(ESTIMATE_SECONDS) if search else None,
                over=over,
            )

        frozen, found = await self._made(make)
        if found is not None:
            return found
        left_out = [one for one in self._unused() if (one.namespace, one.name) == (namespace, name)]
        problem = next((one.message for one in left_out if not kind or one.kind == kind), "")
        if problem:
            return f"{problem} (so it is left out)"
        if why := self._unmade(namespace, name):
            return why
        what = {POD: "pod", POD_GROUP: "PodGroup"}.get(kind, "pod or PodGroup")
        if kind and (others := kinds_of(frozen.snapshot, frozen.report, f"{namespace}/{name}")):
            return f"no {what} {namespace}/{name} is known here: it is a {others[0]}"
        close = await self._aside(lambda: close_names(frozen, namespace, name))
        return f"no {what} {namespace}/{name} is known here{_meant(close)}"

    async def of_queue(self, name: str, search: bool) -> Explanation | str:
        """The explanation of a queue, else why there is none; raises Unavailable."""

        def make(frozen: FrozenSnapshot, over: Asked) -> Explanation | None:
            return explain_queue(
                frozen.snapshot,
                frozen.policy,
                self._registry,
                frozen.report,
                name,
                callout=Repeating(frozen.calls),
                simulations=SIMULATIONS_MAX if search else 0,
                spent=self._spent(),
                over=over,
            )

        frozen, found = await self._made(make)
        if found is not None:
            return found
        left_out = (one.message for one in self._unused() if one.kind == "Queue" and one.name == name)
        if problem := next(left_out, ""):
            return f"{problem} (so it is left out)"
        queues = list(islice(frozen.snapshot.queues, NAMES_MAX))
        close = await self._aside(lambda: get_close_matches(name, queues, CLOSE_MAX))
        return f"no queue {name} is known here{_meant(close)}"

    async def _made(self, make: Make) -> tuple[FrozenSnapshot, Explanation | None]:
        if self._asked >= MOST_AT_ONCE:
            raise Unavailable(f"{self._asked} explanations are being made already")
        self._asked += 1
        until, ended = time.monotonic() + self._longest_seconds, Event()
        try:
            frozen = await self._look()
            return frozen, await self._aside(lambda: make(frozen, lambda: ended.is_set() or time.monotonic() > until))
        except Spent:
            raise Unavailable(f"it takes longer than {self._longest_seconds:g} s to explain: too much waits") from None
        finally:
            ended.set()  # the caller has gone: give the thread back
            self._asked -= 1

    async def _aside(self, make: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(EXPLAINING, make)

    def _spent(self, most: float = SEARCH_SECONDS) -> Callable[[], bool]:
        """A function that says whether a search has used its time, from its first call on. Call it in that thread."""
        until: list[float] = []

        def spent() -> bool:
            if not until:
                until.extend((time.thread_time() + most, time.monotonic() + SEARCH_LONGEST_SECONDS))
            self._at_rest(REST_SECONDS)
            return time.thread_time() > until[0] or time.monotonic() > until[1]

        return spent


def explanation_routes(
    look: Look,
    registry: Registry,
    unused: Unused,
    at_rest: Callable[[float], object],
    longest_seconds: float = LONGEST_SECONDS,
    elsewhere: Elsewhere = nobody,
    unmade: Elsewhere = nobody,
) -> Sequence[Route]:
    """``/explain/{namespace}/{name}`` and ``/explain-queue/{name}``."""
    explainer = Explainer(look, registry, unused, at_rest, longest_seconds, elsewhere, unmade)
    return [
        Route(
            "/explain/{namespace}/{name}",
            or_unavailable(_explain(explainer)),
            "why a pod or a PodGroup waits; ?kind=, ?changes=",
        ),
        Route(
            "/explain-queue/{name}",
            or_unavailable(_explain_queue(explainer)),
            "why the jobs of a queue wait; ?changes=",
        ),
    ]


def _explain(explainer: Explainer) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        namespace, name = request.match_info["namespace"], request.match_info["name"]
        kind = KINDS.get(request.query.get("kind", "").lower())
        search = SEARCHES.get(request.query.get("changes", "").lower())
        if kind is None:
            return as_json({"error": "?kind=: expected Pod or PodGroup"}, 400)
        if search is None:
            return as_json({"error": "?changes=: expected true or false"}, 400)
        return await _answered(explainer.of(namespace, name, kind, search))

    return answer


def _explain_queue(explainer: Explainer) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        search = SEARCHES.get(request.query.get("changes", "").lower())
        if search is None:
            return as_json({"error": "?changes=: expected true or false"}, 400)
        return await _answered(explainer.of_queue(request.match_info["name"], search))

    return answer


async def _answered(making: Awaitable[Explanation | str]) -> web.StreamResponse:
    found = await making
    return as_json({"error": found}, 404) if isinstance(found, str) else as_json(to_builtins(found))


def close_names(frozen: FrozenSnapshot, namespace: str, name: str) -> list[str]:
    """Jobs that were made for an object of this name; else jobs and pods with a similar name, or with the same name in
    another namespace."""
    snapshot = frozen.snapshot
    made = jobs_made_for(snapshot, f"{namespace}/{name}")
    if made:
        return list(made[:CLOSE_MAX])
    elsewhere = [key for key in snapshot.jobs if key.endswith(f"/{name}")][:CLOSE_MAX]
    own = (key for key in snapshot.jobs if key.startswith(f"{namespace}/"))
    here = (job for key, job in snapshot.jobs.items() if key.startswith(f"{namespace}/"))
    pods = (task.key for job in here for task in job.tasks.values())
    known = [*islice(own, NAMES_MAX), *islice(pods, NAMES_MAX)]
    return list(dict.fromkeys([*elsewhere, *get_close_matches(f"{namespace}/{name}", known, CLOSE_MAX)]))[:CLOSE_MAX]


def _meant(close: Sequence[str]) -> str:
    return f"; did you mean {' or '.join(close)}?" if close else ""
