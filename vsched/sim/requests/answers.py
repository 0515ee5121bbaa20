"""The answers of the router: a complete answer, or the stream of a watch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from vsched.apimachinery.meta.kinds import Obj
from vsched.sim.requests.reads import ObjectList

Send = Callable[[bytes], Awaitable[None]]


@dataclass(slots=True)
class ServerAnswer:
    """An answer; its body is one of ``obj``, ``raw`` (bytes) and ``listing``."""

    code: int = 200
    obj: Obj | None = None
    raw: bytes | None = None
    listing: ObjectList | None = None
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Stream:
    """A watch: ``run`` sends lines until it is over."""

    run: Callable[[Send], Awaitable[None]]


def text(body: str, code: int = 200) -> ServerAnswer:
    return ServerAnswer(code, raw=body.encode(), content_type="text/plain; charset=utf-8")
