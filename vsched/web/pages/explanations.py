"""The pages that explain why a pod, a PodGroup or a queue waits, as of a session that starts with the request.

Changes that would help are searched by simulation. An answer comes in about two seconds with what was found by then;
whoever can wait may ask for a longer search.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from itertools import islice
from threading import Event
from typing import Annotated, Literal, TypeVar

from aiohttp import web
from msgspec import Meta, to_builtins
from msgspec.structs import replace

from vsched.clock import monotonic, thread_time
from vsched.errors import Unavailable
from vsched.explain.changes import SIMULATIONS_MAX
from vsched.explain.explaining import CHANGES_SHARE, explain, explain_queue
from vsched.explain.names import POD, POD_GROUP, jobs_made_for, kinds_of
from vsched.explain.records import Constraint, Explanation
from vsched.explain.simulation import Asked, Spent
from vsched.framework.answers import Repeating
from vsched.framework.codes import Code
from vsched.framework.registry import Registry
from vsched.mirror.problems import Problem
from vsched.web.serve.routing import Contract, Handler, QueryParameter, Route, as_json, or_unavailable, seconds_in
from vsched.web.snapshots import FrozenSnapshot, Look
from vsched.web.words import answers as answers_words
from vsched.web.words import routes as words

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
SEARCH_SECONDS = 2.0
"""From the question to the end of both searches, for changes and for the start, unless ``?seconds=`` says otherwise."""
WORK_SHARE = 0.5
"""The part of that time for which each of the searches may use a processor."""
LONGEST_SECONDS = 20.0
"""Elapsed time of a whole explanation; it is stopped after that."""
REST_SECONDS = 0.05
"""How long a search waits for a session, each time one is under way."""
NAMES_MAX = 5_000
"""How many names are compared with an unknown one."""
CLOSE_MAX = 3

KINDS = {"": "", "pod": POD, "podgroup": POD_GROUP, "pg": POD_GROUP}
"""Values of ``?kind=``, in lower case."""
SEARCHES = {"": SEARCH_SECONDS, "true": SEARCH_SECONDS, "1": SEARCH_SECONDS, "false": 0.0, "0": 0.0}
"""Values of ``?changes=``."""

_KIND = QueryParameter("kind", words.KIND, Literal["pod", "podgroup", "pg"])
_SEARCH = (
    QueryParameter("changes", words.CHANGES, bool),
    QueryParameter("seconds", words.SECONDS, Annotated[float, Meta(gt=0, le=LONGEST_SECONDS)]),
)


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
        uncreated: Elsewhere,
    ) -> None:
        self._look = look
        self._elsewhere, self._unmade, self._uncreated = elsewhere, unmade, uncreated
        self._longest_seconds = longest_seconds
        self._registry = registry
        self._unused = unused
        self._at_rest = at_rest
        """Waits until no session is under way, at most for so many seconds."""
        self._asked = 0

    async def of(self, namespace: str, name: str, kind: str, seconds: float) -> Explanation | str:
        """The explanation of a pod or PodGroup, else why there is none; raises Unavailable.

        ``seconds`` from now on it is searched for what would help, and for the start; 0: not at all.
        """
        asked = monotonic()
        if who := self._elsewhere(namespace, name):
            return who

        def make(frozen: FrozenSnapshot, over: Asked) -> Explanation | None:
            return explain(
                frozen.snapshot,
                frozen.policy,
                self._registry,
                frozen.report,
                namespace,
                name,
                kind=kind,
                callout=Repeating(frozen.calls),
                simulations=SIMULATIONS_MAX if seconds else 0,
                spent=self._spent(asked + seconds * CHANGES_SHARE, seconds * WORK_SHARE),
                foreseen=self._spent(asked + seconds, seconds * WORK_SHARE) if seconds else None,
                over=over,
            )

        frozen, found = await self._made(make)
        if found is not None:
            return self._with_uncreated(frozen, found)
        left_out = [one for one in self._unused() if (one.namespace, one.name) == (namespace, name)]
        problem = next((one.message for one in left_out if not kind or one.kind == kind), "")
        if problem:
            return answers_words.ignored(problem)
        if why := self._unmade(namespace, name):
            return why
        what = {POD: "pod", POD_GROUP: "PodGroup"}.get(kind, answers_words.POD_OR_PODGROUP)
        if kind and (others := kinds_of(frozen.snapshot, frozen.report, f"{namespace}/{name}")):
            return answers_words.another_kind(what, namespace, name, others[0])
        close = await self._aside(lambda: close_names(frozen, namespace, name))
        return answers_words.not_known(what, namespace, name, _meant(close))

    def _with_uncreated(self, frozen: FrozenSnapshot, found: Explanation) -> Explanation:
        """The explanation of a job with what keeps its controller from creating its pods, unless a quota is told."""
        job = frozen.snapshot.jobs.get(found.key)
        codes = {one.code for one in found.constraints}
        if job is None or not job.spec.written_for or Code.GANG_INCOMPLETE not in codes or Code.QUOTA in codes:
            return found
        why = self._uncreated(job.spec.namespace, job.spec.written_for)
        told = (Constraint(Code.REFUSED, answers_words.pods_cannot_be_created(why)),) if why else ()
        return replace(found, constraints=(*found.constraints, *told))

    async def of_queue(self, name: str, seconds: float) -> Explanation | str:
        """The explanation of a queue, else why there is none; raises Unavailable."""
        asked = monotonic()

        def make(frozen: FrozenSnapshot, over: Asked) -> Explanation | None:
            return explain_queue(
                frozen.snapshot,
                frozen.policy,
                self._registry,
                frozen.report,
                name,
                callout=Repeating(frozen.calls),
                simulations=SIMULATIONS_MAX if seconds else 0,
                spent=self._spent(asked + seconds, seconds),
                over=over,
            )

        frozen, found = await self._made(make)
        if found is not None:
            return found
        left_out = (one.message for one in self._unused() if one.kind == "Queue" and one.name == name)
        if problem := next(left_out, ""):
            return answers_words.ignored(problem)
        queues = list(islice(frozen.snapshot.queues, NAMES_MAX))
        close = await self._aside(lambda: get_close_matches(name, queues, CLOSE_MAX))
        return answers_words.no_queue(name, _meant(close))

    async def _made(self, make: Make) -> tuple[FrozenSnapshot, Explanation | None]:
        if self._asked >= MOST_AT_ONCE:
            raise Unavailable(answers_words.too_many_explanations(self._asked))
        self._asked += 1
        until, ended = monotonic() + self._longest_seconds, Event()
        try:
            frozen = await self._look()
            return frozen, await self._aside(lambda: make(frozen, lambda: ended.is_set() or monotonic() > until))
        except Spent:
            raise Unavailable(answers_words.explaining_takes_long(self._longest_seconds)) from None
        finally:
            ended.set()  # the caller has gone: give the thread back
            self._asked -= 1

    async def _aside(self, make: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(EXPLAINING, make)

    def _spent(self, until: float, work_seconds: float) -> Callable[[], bool]:
        """A function that says whether a search has used its time: until then, or so much of a processor from its first
        call on. Call it in that thread."""
        most: list[float] = []

        def spent() -> bool:
            if not most:
                most.append(thread_time() + work_seconds)
            self._at_rest(REST_SECONDS)
            return monotonic() > until or thread_time() > most[0]

        return spent


def explanation_routes(
    look: Look,
    registry: Registry,
    unused: Unused,
    at_rest: Callable[[float], object],
    longest_seconds: float = LONGEST_SECONDS,
    elsewhere: Elsewhere = nobody,
    unmade: Elsewhere = nobody,
    uncreated: Elsewhere = nobody,
) -> Sequence[Route]:
    """``/explain/{namespace}/{name}`` and ``/explain-queue/{name}``."""
    explainer = Explainer(look, registry, unused, at_rest, longest_seconds, elsewhere, unmade, uncreated)
    return [
        Route(
            "/explain/{namespace}/{name}",
            or_unavailable(_explain(explainer)),
            words.EXPLAIN,
            contract=Contract((Explanation,), (_KIND, *_SEARCH)),
        ),
        Route(
            "/explain-queue/{name}",
            or_unavailable(_explain_queue(explainer)),
            words.EXPLAIN_QUEUE,
            contract=Contract((Explanation,), _SEARCH),
        ),
    ]


def _explain(explainer: Explainer) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        namespace, name = request.match_info["namespace"], request.match_info["name"]
        kind = KINDS.get(request.query.get("kind", "").lower())
        if kind is None:
            return as_json({"error": answers_words.KIND_EXPECTED}, 400)
        seconds = _seconds_of(request)
        return await _answered(seconds if isinstance(seconds, str) else explainer.of(namespace, name, kind, seconds))

    return answer


def _explain_queue(explainer: Explainer) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        seconds, name = _seconds_of(request), request.match_info["name"]
        return await _answered(seconds if isinstance(seconds, str) else explainer.of_queue(name, seconds))

    return answer


def _seconds_of(request: web.Request) -> float | str:
    """For how long it may be searched, else what is wrong with the question."""
    search = SEARCHES.get(request.query.get("changes", "").lower())
    if search is None:
        return answers_words.CHANGES_EXPECTED
    if (text := request.query.get("seconds")) is None or not search:
        return search
    seconds = seconds_in(text, LONGEST_SECONDS)
    return answers_words.seconds_expected(LONGEST_SECONDS) if seconds is None else seconds


async def _answered(making: Awaitable[Explanation | str] | str) -> web.StreamResponse:
    """The answer once it is made; 400 with what is wrong with a question."""
    if isinstance(making, str):
        return as_json({"error": making}, 400)
    found = await making
    return as_json({"error": found}, 404) if isinstance(found, str) else as_json(to_builtins(found))


def close_names(frozen: FrozenSnapshot, namespace: str, name: str) -> list[str]:
    """Jobs that were made for an object of this name, with what they are called.

    Where there are none: jobs and pods with a similar name, or with the same name in another namespace.
    """
    snapshot = frozen.snapshot
    made = jobs_made_for(snapshot, f"{namespace}/{name}")
    if made:
        return [f"{key} ({snapshot.called(key)})" for key in made[:CLOSE_MAX]]
    elsewhere = [key for key in snapshot.jobs if key.endswith(f"/{name}")][:CLOSE_MAX]
    own = (key for key in snapshot.jobs if key.startswith(f"{namespace}/"))
    here = (job for key, job in snapshot.jobs.items() if key.startswith(f"{namespace}/"))
    pods = (task.key for job in here for task in job.tasks.values())
    known = [*islice(own, NAMES_MAX), *islice(pods, NAMES_MAX)]
    return list(dict.fromkeys([*elsewhere, *get_close_matches(f"{namespace}/{name}", known, CLOSE_MAX)]))[:CLOSE_MAX]


def _meant(close: Sequence[str]) -> str:
    return answers_words.did_you_mean(" or ".join(close)) if close else ""
