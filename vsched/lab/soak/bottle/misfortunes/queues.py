"""What operators do to the queues of a bottle: they give them other weights and capabilities, and take that back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random

from vsched.apimachinery.meta.kinds import Obj
from vsched.lab.soak.bottle.faults import ClusterFaultKind
from vsched.lab.soak.churn import QUEUES
from vsched.sim.client import LocalClient

RESOURCE = "scheduling.volcano.sh/queues"
HEAVIEST, LARGEST = 9, 64
"""Of the weights, and of the capabilities in cpus."""


class EditedQueues:
    """Edits queues for a while."""

    def __init__(self, client: LocalClient, random: Random, tell: Callable[[str, str], None]) -> None:
        self._client, self._random, self._tell = client, random, tell
        self._before = {name: self._spec(name) for name in QUEUES}
        self._edits: dict[str, Obj] = {}
        """What is different at present, by queue."""

    async def edit(self, seconds: float) -> None:
        """A queue has another weight or capability for so long."""
        random, name = self._random, self._random.choice(QUEUES)
        weight, cpus = random.randint(1, HEAVIEST), random.randint(1, LARGEST)
        edit: Obj = {"weight": weight} if random.random() < 0.5 else {"capability": {"cpu": f"{cpus}"}}
        self._tell(ClusterFaultKind.QUEUE_EDITED, f"{name}: {edit}")
        self._edits[name] = edit
        self.write_all()
        try:
            await asyncio.sleep(seconds)
        finally:
            if self._edits.get(name) is edit:  # not another one, which came later
                del self._edits[name]
                self.write_all()

    def write_all(self) -> None:
        """Write down how all queues are to be."""
        for name, before in self._before.items():
            spec = {**before, **self._edits.get(name, {})}
            if self._spec(name) != spec:
                self._client.patch(RESOURCE, "", name, partial(_with, spec=spec))

    def _spec(self, name: str) -> Obj:
        found = self._client.get(RESOURCE, "", name)
        spec: Obj = {} if found is None else found["spec"]
        return spec


def _with(found: Obj, spec: Obj) -> Obj:
    return {**found, "spec": spec}
