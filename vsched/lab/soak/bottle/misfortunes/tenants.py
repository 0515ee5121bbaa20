"""Tenants of a bottle who write what they like: odd pods and PodGroups, which they change and delete at random."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import Obj
from vsched.clock import monotonic
from vsched.lab.soak.bottle.faults import ClusterFaultKind
from vsched.lab.soak.bottle.misfortunes import oddities
from vsched.sim.client import LocalClient

NAMESPACES = ("tenant-1", "tenant-2")
PODGROUPS = "scheduling.volcano.sh/podgroups"
MOST_PODS = 4
"""In one gang."""


class Tenants:
    """Makes, changes and deletes objects in namespaces of their own."""

    def __init__(self, client: LocalClient, random: Random, tell: Callable[[str, str], None]) -> None:
        self._client, self._random, self._tell = client, random, tell
        self._number = 0
        self._owned: list[tuple[float, str, str, str]] = []
        """What they have made: until when they keep it, the resource, namespace and name."""
        self.refused = 0
        """How many of their writes the API server has refused."""

    async def act(self, seconds: float) -> None:
        """Do one thing; what is made now stays for so long."""
        now = monotonic()
        for owned in [each for each in self._owned if each[0] <= now]:
            self._delete(owned)
        what = self._random.choices(("make", "change", "delete"), (5, 3, 1))[0] if self._owned else "make"
        self._tell(ClusterFaultKind.TENANT, what)
        if what == "make":
            self._make(now + seconds)
        elif what == "change":
            self._change(self._random.choice(self._owned))
        else:
            self._delete(self._random.choice(self._owned))

    async def namespace_ends(self, _: float) -> None:
        """A namespace is deleted with all that is in it; it is made again when something is to be made in it."""
        namespace = self._random.choice(NAMESPACES)
        self._tell(ClusterFaultKind.NAMESPACE_ENDS, namespace)
        self._try(lambda: self._client.delete("namespaces", "", namespace))

    def leave(self) -> None:
        """Delete everything."""
        for namespace in NAMESPACES:
            self._try(partial(self._client.delete, "namespaces", "", namespace))
        self._owned.clear()

    def _try(self, write: Callable[[], Any]) -> bool:
        try:
            write()
        except Failure:
            self.refused += 1
            return False
        return True

    def _make(self, until: float) -> None:
        random, namespace = self._random, self._random.choice(NAMESPACES)
        if self._client.get("namespaces", "", namespace) is None:
            self._try(lambda: self._client.create("namespaces", {"metadata": {"name": namespace}}))
        self._number += 1
        name = f"odd-{self._number}"
        if random.random() < oddities.ALONE:
            self._create(until, "pods", oddities.pod(random, name, namespace, ""))
            return
        self._create(until, PODGROUPS, oddities.group(random, name, namespace))
        for index in range(random.randint(0, MOST_PODS)):
            self._create(until, "pods", oddities.pod(random, f"{name}-{index}", namespace, name))

    def _create(self, until: float, resource: str, obj: Obj) -> None:
        if self._try(lambda: self._client.create(resource, obj)):
            metadata = obj["metadata"]
            self._owned.append((until, resource, metadata["namespace"], metadata["name"]))

    def _change(self, owned: tuple[float, str, str, str]) -> None:
        _, resource, namespace, name = owned
        change = oddities.changed_group if resource == PODGROUPS else oddities.changed_pod
        self._try(lambda: self._client.patch(resource, namespace, name, lambda found: change(self._random, found)))

    def _delete(self, owned: tuple[float, str, str, str]) -> None:
        _, resource, namespace, name = owned
        self._owned.remove(owned)
        self._try(lambda: self._client.delete(resource, namespace, name))
