"""What stands before the API server of a bottle: requests wait, bindings are refused, webhooks are asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import orjson

from vsched.apimachinery.meta.api_errors import Failure
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.misfortunes.webhooks import Webhook
from vsched.sim.api.fault_injection import Dropped, denied
from vsched.sim.requests.request import ApiRequest

READS = frozenset({"GET", "HEAD"})


class BottleGate:
    """Lets requests through, keeps them waiting, or refuses them."""

    def __init__(self) -> None:
        self._closed: dict[tuple[str, bool], asyncio.Event] = {}
        """Whose requests wait: by User-Agent, and whether they read; set once they no longer do."""
        self._refused: Counter[str] = Counter()
        """Nodes that no pod may be bound to, and for how many reasons."""
        self._webhooks: dict[Webhook, None] = {}
        """Those that are there, in the order in which they came."""
        self.stopped: Counter[str] = Counter()
        """How many requests it has not let through as they were, by method."""

    async def __call__(self, call: ApiRequest) -> None:
        """Raise Dropped or a Failure for a request that is not to be carried out."""
        opened = self._closed.get((call.user_agent, call.method in READS))
        if opened is not None:
            self.stopped[call.method] += 1
            await opened.wait()
            raise Dropped
        if self._refused and call.method == "POST" and call.path.endswith("/binding"):
            node = orjson.loads(call.body)["target"]["name"]
            if self._refused[node] > 0:
                self.stopped[call.method] += 1
                raise denied(words.node_refused(node))

        for webhook in tuple(self._webhooks):
            try:
                self.stopped[call.method] += await webhook.review(call)
            except Failure:
                self.stopped[call.method] += 1
                raise

    @contextmanager
    def closed(self, agent: str, *, reads: bool) -> Iterator[None]:
        """Meanwhile what somebody asks, or writes, gets no answer and is not done."""
        opened = self._closed.setdefault((agent, reads), asyncio.Event())
        try:
            yield
        finally:
            self._closed.pop((agent, reads), None)
            opened.set()

    @contextmanager
    def refusing(self, node: str) -> Iterator[None]:
        """Meanwhile no pod is bound to a node."""
        self._refused[node] += 1
        try:
            yield
        finally:
            self._refused[node] -= 1

    @contextmanager
    def reviewed(self, webhook: Webhook) -> Iterator[None]:
        """Meanwhile a webhook is asked about what is written."""
        self._webhooks[webhook] = None
        try:
            yield
        finally:
            del self._webhooks[webhook]
