"""The service that the extender plugin asks in a bottle: it has no objections, and fails for a while now and then."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import orjson

from vsched.daemon.loop.callouts import Caller, Silent
from vsched.errors import Unavailable
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.faults import ExtenderFault, ExtenderFaultKind

REFUSED_SECONDS = 0.001
"""How long it takes to learn that nobody listens."""
SCORES = 10
WRONG: Sequence[bytes] = (
    b"",
    b"<html>It works!</html>",
    b"[1, 2, 3]",
    b'{"nodes": 7, "nodeScore": "high", "status": "yes", "overused": [], "victims": {}}',
    b'{"nodes": {"no-such-node": {"errorMessage": "gone"}}, "nodeScore": {"no-such-node": 1e300}}',
    b'{"errorMessage": "not now", "overused": true, "status": -1}',
)
"""Answers that are no JSON, of another form, about nodes that do not exist, or that refuse everything."""


class BottleExtender:
    """The service, one for all daemons."""

    def __init__(self, random: Random, tell: Callable[[str, str], None]) -> None:
        self._random, self._tell = random, tell
        self._faults: dict[ExtenderFault, None] = {}
        """Those that it has at present; equal ones never last at the same time."""
        self.failed: Counter[ExtenderFaultKind] = Counter()
        """How many calls had an answer that was wrong, late, or none."""

    async def fail(self, rule: ExtenderFault, seconds: float) -> None:
        """Fail in one way for so long."""
        self._tell(f"extender-{rule.fault}", f"{rule.percent:g} %")
        self._faults[rule] = None
        try:
            await asyncio.sleep(seconds)
        finally:
            del self._faults[rule]

    def drawn(self) -> ExtenderFaultKind | None:
        """The fault of the next call; None for most."""
        for rule in self._faults:
            if self._random.random() * 100 < rule.percent:
                self.failed[rule.fault] += 1
                return rule.fault
        return None

    def wrong(self) -> bytes:
        """An answer that is of no use; raises Unavailable for one that says so itself."""
        answer = self._random.choice(WRONG)
        if not answer:
            raise Unavailable(words.EXTENDER_FAILS)
        return answer

    def right(self, verb: str, question: Mapping[str, Any]) -> bytes:
        """The answer to a question."""
        if "nodes" in question and "task" in question:
            scores = {node["name"]: self._random.randrange(SCORES) for node in question["nodes"]}
            return orjson.dumps({"nodeScore": scores})
        if "evictees" in question:
            victims = [{"uid": task["uid"]} for task in question["evictees"]]
            return orjson.dumps({"status": 1, "victims": victims})
        if "job" in question:
            return orjson.dumps({"status": True if "ready" in verb.lower() else 1})
        return b"{}"


class BottleExchange:
    """The calls of one daemon. No time passes within a step: what they take is counted instead."""

    def __init__(self, extender: BottleExtender, monotonic: Callable[[], float]) -> None:
        self._extender, self._clock = extender, monotonic
        self._spent_seconds = 0.0

    def monotonic(self) -> float:
        """The daemon's steady clock, and what its calls have taken."""
        return self._clock() + self._spent_seconds

    def post(self, url: str, body: bytes, seconds: float) -> bytes:
        match self._extender.drawn():
            case ExtenderFaultKind.SILENT:
                self._spent_seconds += REFUSED_SECONDS
                raise Silent(words.EXTENDER_AWAY)
            case ExtenderFaultKind.LATE:
                self._spent_seconds += seconds
                raise Silent(words.EXTENDER_LATE)
            case ExtenderFaultKind.WRONG:
                return self._extender.wrong()
        return self._extender.right(url.rpartition("/")[2], orjson.loads(body))

    def close(self) -> None:
        """There is no connection."""


def caller_of(extender: BottleExtender, monotonic: Callable[[], float]) -> Caller:
    """What a daemon calls the service with."""
    exchange = BottleExchange(extender, monotonic)
    return Caller(exchange.monotonic, exchange)
