"""The users of the demo: they submit what the mix draws, and delete what has finished."""

from __future__ import annotations

import asyncio

from vsched.lab.demo.mix import Mix
from vsched.lab.gangs import Submitter, create
from vsched.lab.outcomes import PodOutcomes, SubmittedGang
from vsched.lab.sender import Obj, Sender

TURN_SECONDS = 0.02
"""Between two checks whether to submit more."""
UNDER_WAY = 24
"""Gangs created at a time; the sender bounds the requests on the wire."""
PODS_PER_SECOND = 500.0
"""Created at most: more would only keep the processors busy."""


class Users(Submitter):
    """Users who keep asking for more than there is, and delete what has finished."""

    def __init__(self, sender: Sender, outcomes: PodOutcomes, mix: Mix) -> None:
        super().__init__(sender, outcomes)
        self._mix = mix
        self._under_way = 0
        self._singles = 0

    async def settle_in(self) -> None:
        """Create the queues, namespaces and quotas."""
        for found in self._mix.setting():
            await create(self._sender, found)

    async def run(self, stop: asyncio.Event) -> None:
        """Submit and delete until told to stop; returns once all that was begun is done."""
        loop = asyncio.get_running_loop()
        began, drawn = loop.time(), 0
        async with asyncio.TaskGroup() as group:
            while not stop.is_set():
                due = int((loop.time() - began) * self._mix.singles_per_second)
                for _ in range(due - self._singles):
                    group.create_task(self._submit(*self._mix.single()))
                self._singles = due
                for gang, objects in self._mix.wanted(self._outcomes.waiting_cpus(), loop.time() - began):
                    if self._under_way >= UNDER_WAY or drawn > (loop.time() - began) * PODS_PER_SECOND:
                        break
                    drawn += len(gang.pods)
                    group.create_task(self._submit(gang, objects))
                while self._outcomes.done:
                    done = self._outcomes.done.popleft()
                    self._outcomes.forget(done)
                    group.create_task(self.delete(done))
                await asyncio.sleep(TURN_SECONDS)

    async def _submit(self, gang: SubmittedGang, objects: list[Obj]) -> None:
        self._under_way += 1
        try:
            if not await self.submit(gang, objects):
                self._outcomes.forget(gang)
        finally:
            self._under_way -= 1
