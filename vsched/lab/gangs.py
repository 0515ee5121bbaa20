"""What the demo and the end-to-end bench share: creating gangs at an embedded cluster over HTTP.

What becomes of them is the business of ``book``.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, TypeVar

import orjson

from vsched.lab.outcomes import Book, Gang
from vsched.lab.sender import Obj, Sender
from vsched.mirror.resources import PODS, RESOURCES

T = TypeVar("T")


async def create(sender: Sender, obj: Obj) -> Obj:
    """POST an object where it belongs; as the server made it."""
    path = RESOURCES[obj["kind"]].path(obj["metadata"].get("namespace", ""))
    made: Obj = orjson.loads(await sender.send("POST", path, orjson.dumps(obj)))
    return made


async def submit(sender: Sender, book: Book, gang: Gang, objects: Sequence[Obj]) -> None:
    """Create a gang's PodGroup, where it has one, and then its pods, all at once; raises ExceptionGroup of refusals."""
    book.expect(gang)
    pods = [found for found in objects if found["kind"] == "Pod"]
    async with asyncio.TaskGroup() as tasks:
        for group in objects:
            if group["kind"] == "PodGroup":
                owned_by(await create(sender, group), pods)
        for pod in pods:
            tasks.create_task(_create_pod(sender, book, pod))


async def _create_pod(sender: Sender, book: Book, pod: Obj) -> None:
    path, body = PODS.path(pod["metadata"]["namespace"]), orjson.dumps(pod)
    await sender.send("POST", path, body, lambda: book.sending(key_of(pod)))


def owned_by(group: Obj, pods: Iterable[Obj]) -> None:
    """Have the pods go when their PodGroup goes."""
    metadata = group["metadata"]
    reference = {key: group[key] for key in ("apiVersion", "kind")} | {key: metadata[key] for key in ("name", "uid")}
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [reference]


def key_of(obj: Obj) -> str:
    """``namespace/name``."""
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def as_gang(objects: Sequence[Obj], queue: str, cpus: int) -> Gang:
    """The page of the book for a gang that is about to be created."""
    pods = tuple(key_of(found) for found in objects if found["kind"] == "Pod")
    return Gang(key_of(objects[0]), queue, pods, cpus)


def run_fast(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end on the fast loop, where there is one."""
    factory = None
    if sys.platform != "win32":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)
