"""The users of the demo: they submit what the mix draws, over HTTP, and clear away what has finished.

How the scheduler fares with it is none of their business.
"""

from __future__ import annotations

import asyncio

from vsched.errors import VschedError
from vsched.lab.demo.mix import Mix
from vsched.lab.gangs import create, submit
from vsched.lab.outcomes import Book, Gang
from vsched.lab.sender import Obj, Sender
from vsched.mirror.resources import PODGROUPS, PODS
from vsched.together import first_error

TURN_SECONDS = 0.02
"""How often they look whether they want more."""
UNDER_WAY = 24
"""Gangs that are created at once; what is on the wire is the sender's to bound."""
PODS_PER_SECOND = 500.0
"""Created at most: two processors that are busy with nothing else would only make everybody wait."""


class Users:
    """Everybody who submits: keeps asking for more than there is, and clears away what has finished."""

    def __init__(self, sender: Sender, book: Book, mix: Mix) -> None:
        self._sender = sender
        self._book = book
        self._mix = mix
        self._under_way = 0
        self._singles = 0
        self.errors = 0
        self.last_error = ""

    async def settle_in(self) -> None:
        """Create the queues, namespaces and quotas."""
        for found in self._mix.setting():
            await create(self._sender, found)

    async def run(self, stop: asyncio.Event) -> None:
        """Submit and clear away until told to stop; ends when all that was begun is done."""
        loop = asyncio.get_running_loop()
        began, drawn = loop.time(), 0
        async with asyncio.TaskGroup() as group:
            while not stop.is_set():
                due = int((loop.time() - began) * self._mix.singles_per_second)
                for _ in range(due - self._singles):
                    group.create_task(self._submit(*self._mix.single()))
                self._singles = due
                for gang, objects in self._mix.wanted(self._book.waiting_cpus()):
                    if self._under_way >= UNDER_WAY or drawn > (loop.time() - began) * PODS_PER_SECOND:
                        break
                    drawn += len(gang.pods)
                    group.create_task(self._submit(gang, objects))
                while self._book.done:
                    group.create_task(self._clear(self._book.done.popleft()))
                await asyncio.sleep(TURN_SECONDS)

    async def _submit(self, gang: Gang, objects: list[Obj]) -> None:
        self._under_way += 1
        try:
            await submit(self._sender, self._book, gang, objects)
        except* VschedError as errors:
            self._book.forget(gang)
            self._note(first_error(errors))
        finally:
            self._under_way -= 1

    async def _clear(self, gang: Gang) -> None:
        """Delete what has finished; the pods of a PodGroup go with it."""
        self._book.forget(gang)
        namespace, _, name = gang.key.partition("/")
        resource = PODS if gang.key in gang.pods else PODGROUPS
        try:
            await self._sender.send("DELETE", resource.path(namespace, name))
        except VschedError as error:
            self._note(error)

    def _note(self, error: BaseException) -> None:
        self.errors += 1
        self.last_error = str(error)
