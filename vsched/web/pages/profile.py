"""``/debug/profile``: where the threads of this process spend their time, from samples of their stacks.

A thread of its own looks at the stacks a hundred times a second; nothing is traced, so the process runs as it does
otherwise. It gets its turn from the interpreter like any other thread, so what never gives way is seen a little less.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from pathlib import PurePath
from types import CodeType, FrameType
from typing import Annotated, TypedDict

from aiohttp import web
from msgspec import Meta

from vsched.clock import CLOCK, monotonic
from vsched.errors import BadInput, Unavailable
from vsched.web.serve.routing import Contract, QueryParameter, Route, as_json, aside, or_unavailable, seconds_in
from vsched.web.words import answers as answers_words
from vsched.web.words import routes as words

SECONDS, SECONDS_MAX = 5.0, 20.0
"""How long it samples; longer answers would exceed the time that an answer may take."""
INTERVAL_SECONDS = 0.01
FRAMES_MAX, STACKS_MAX = 128, 10_000
"""The innermost frames of a stack are kept, and so many different stacks; the rest is counted together."""
OTHERS = "(other stacks)"
WAITING = frozenset(
    {
        ("runners.py", "Runner.run"),  # uvloop waits, or a callback of its own runs
        ("selectors.py", "EpollSelector.select"),
        ("threading.py", "Condition.wait"),
        ("thread.py", "_worker"),
    }
)
"""File and function of the innermost frame of threads that wait for work."""


class ProfileShown(TypedDict):
    """Samples of the stacks of all threads but the sampling one."""

    seconds: float
    """How long it sampled."""
    samples: int
    """How often it looked."""
    idle: int
    """Stacks of threads that waited for work; they are not among ``stacks``."""
    stacks: dict[str, int]
    """How often each was seen: thread and frames, the outermost first, with semicolons between them."""


Sampler = Callable[[float], ProfileShown]


def profile_route() -> Route:
    """The route; one request is answered at a time."""
    sampler = ThreadPoolExecutor(1, "profile")
    at_work: Future[ProfileShown] | None = None

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal at_work
        try:
            seconds = seconds_of(request.query)
        except BadInput as error:
            return as_json({"error": str(error)}, 400)
        if CLOCK.get() is not None:
            raise Unavailable(answers_words.NO_REAL_TIME)
        # Whoever asked may be gone, and the thread still samples.
        if at_work is not None and not at_work.done():
            raise Unavailable(answers_words.PROFILE_UNDER_WAY)
        at_work = sampler.submit(sample, seconds)
        found = await asyncio.wrap_future(at_work)
        return await aside(lambda: as_json(found))

    seconds = QueryParameter("seconds", words.PROFILE_SECONDS, Annotated[float, Meta(gt=0, le=SECONDS_MAX)])
    contract = Contract((ProfileShown,), (seconds,))
    return Route("/debug/profile", or_unavailable(answer), words.PROFILE, private=True, contract=contract)


def seconds_of(query: Mapping[str, str]) -> float:
    """The seconds of ``?seconds=``; raises BadInput."""
    text = query.get("seconds", "")
    seconds = seconds_in(text, SECONDS_MAX) if text else SECONDS
    if seconds is None:
        raise BadInput(answers_words.seconds_expected(SECONDS_MAX))
    return seconds


def sample(seconds: float) -> ProfileShown:
    """Sample for so long, in the thread that calls it."""
    pause, own = threading.Event(), threading.get_ident()
    stacks: Counter[str] = Counter()
    began, samples, idle = monotonic(), 0, 0
    while monotonic() < began + seconds:
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        for ident, frame in sys._current_frames().items():
            if ident == own:
                continue
            if _waits(frame.f_code):
                idle += 1
                continue
            stack = ";".join((names.get(ident, str(ident)).replace(";", ":"), *frames_of(frame)))
            stacks[stack if stack in stacks or len(stacks) < STACKS_MAX else OTHERS] += 1
        samples += 1
        pause.wait(INTERVAL_SECONDS)
    return {"seconds": round(monotonic() - began, 3), "samples": samples, "idle": idle, "stacks": dict(stacks)}


def frames_of(frame: FrameType | None) -> list[str]:
    """The innermost frames of a stack, the outermost of them first."""
    found: list[str] = []
    while frame is not None and len(found) < FRAMES_MAX:
        found.append(frame_name(frame.f_code))
        frame = frame.f_back
    return found[::-1]


@lru_cache(maxsize=20_000)
def frame_name(code: CodeType) -> str:
    """``Loop.run (vsched/daemon/loop/loop.py:150)``: a function, and where it begins below its package."""
    parts = PurePath(code.co_filename).parts
    below = [at for at, part in enumerate(parts) if part in ("site-packages", "vsched") or part.startswith("python3.")]
    first = 0 if not below else below[0] if parts[below[0]] == "vsched" else below[-1] + 1
    file = "/".join(parts[first:]) if below else parts[-1] if parts else ""
    return f"{code.co_qualname} ({file}:{code.co_firstlineno})".replace(";", ":")


@lru_cache(maxsize=20_000)
def _waits(code: CodeType) -> bool:
    return (PurePath(code.co_filename).name, code.co_qualname) in WAITING
