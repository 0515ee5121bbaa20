"""The data of ``vsched queue``: Queues read from the API server and, where asked, a page of a daemon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import replace

from vsched.api.resources import PODGROUPS, QUEUES
from vsched.cli.ask.cluster import Obj, allocatable_of_nodes, objects_of
from vsched.cli.ask.daemon import answer_if_any
from vsched.cli.queue.shown import LIVELY, WAITING, Queues, QueueView, amounts, view_of
from vsched.client.daemon import DaemonClient
from vsched.client.target import DaemonTarget
from vsched.kube.client import ApiClient
from vsched.model.queues.queue import ROOT
from vsched.model.queues.tree import above
from vsched.web.pages.views import QueueShown


async def read_queues(client: ApiClient, target: DaemonTarget | None = None, *, with_total: bool = True) -> Queues:
    """Every queue; a daemon as ``target`` adds what each deserves. Raises as the client and ``answer_if_any`` do."""
    objects = await objects_of(client, QUEUES)
    divided = await answer_if_any(target, division_of)
    names = {obj["metadata"]["name"] for obj in objects}
    queues = {
        obj["metadata"]["name"]: view_of(obj, _parent(obj, names), (divided or {}).get(obj["metadata"]["name"]))
        for obj in sorted(objects, key=lambda obj: str(obj["metadata"]["name"]))
    }
    return Queues(with_jobs(queues), await _total(client) if with_total else {}, divided=divided is not None)


async def division_of(daemon: DaemonClient) -> Mapping[str, QueueShown]:
    """What a daemon knows of each queue; raises Idle where it decides nothing."""
    return await daemon.queues()


async def podgroup_phases(client: ApiClient, queue: str) -> dict[str, int]:
    """The number of PodGroups of a queue in each phase."""
    listed = await objects_of(client, PODGROUPS)
    found = (group for group in listed if (group.get("spec") or {}).get("queue", "default") == queue)
    return dict(sorted(Counter((group.get("status") or {}).get("phase") or "Pending" for group in found).items()))


def with_jobs(queues: Mapping[str, QueueView]) -> dict[str, QueueView]:
    """The queues, each with its own jobs and those of all queues below it counted, each queue once."""
    sums: dict[str, Counter[str]] = {name: Counter() for name in queues}
    for queue in queues.values():
        found = Counter(jobs=sum(queue.counts[name] for name in LIVELY), waiting=sum(queue.counts[n] for n in WAITING))
        for one in (queue, *above(queue, queues.get)):
            sums[one.name] += found
    return {
        name: replace(queue, jobs=sums[name]["jobs"], waiting=sums[name]["waiting"]) for name, queue in queues.items()
    }


def _parent(obj: Obj, names: Container[str]) -> str:
    """The parent queue; empty where there is none."""
    name = obj["metadata"]["name"]
    above: str = (obj.get("spec") or {}).get("parent") or ROOT
    return above if above in names and above != name and name != ROOT else ""


async def _total(client: ApiClient) -> dict[str, int]:
    """The sum over all nodes; empty where we may not read them."""
    total: Counter[str] = Counter()
    for allocatable in await allocatable_of_nodes(client):
        total.update(amounts(allocatable))
    return dict(total)
