"""A client whose server may be away: it sends again what got no answer, and finds what was done all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import orjson

from vsched.errors import Unavailable
from vsched.kube.errors import AlreadyExists, NotFound
from vsched.lab.sender import Sender

AGAIN_SECONDS = 1.0


class PatientSender(Sender):
    """Sends each request until it is answered."""

    async def send(
        self, method: str, path: str, body: bytes = b"", sending: Callable[[], None] = lambda: None
    ) -> bytes:
        again = told = False

        def tell() -> None:
            nonlocal told
            if not told:
                told = True
                sending()

        while True:
            try:
                return await super().send(method, path, body, tell)
            except AlreadyExists:
                if not again:
                    raise
                try:
                    return await self.send("GET", f"{path}/{orjson.loads(body)['metadata']['name']}")
                except NotFound:
                    continue  # deleted meanwhile, or a restored server does not have it any more
            except Unavailable:
                again = True
                await asyncio.sleep(AGAIN_SECONDS)
