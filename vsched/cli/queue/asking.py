"""Asking for a queue to be opened or closed, and waiting for what becomes of that."""

from __future__ import annotations

import asyncio

from vsched.cli.queue.source import Queues, QueueView, podgroup_phases, read_queues, sight_of
from vsched.cli.queue.view import remaining
from vsched.controllers.queues import ACTIONS, STATE_WISH, WISHES, QueueFacts, refusal_of
from vsched.errors import BadInput, Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.errors import NotFound
from vsched.mirror.resources import COMMANDS, QUEUES
from vsched.model.queue import CLOSING, OPEN, ROOT, SHUT

POLL_SECONDS = 0.1


async def ask(client: ApiClient, name: str, action: str, wait_seconds: float, namespace: str = "") -> str:
    """Ask for what an action (see ``ACTIONS``) means, wait for it, and say what comes next.

    Commands are made in a namespace that the daemon takes them from, by default that of the context.

    Raises BadInput where it cannot be had, and Unavailable where nobody does it in time.
    """
    queues = await read_queues(client, with_total=False)
    sight = queues.named(name)
    refusal = refusal_of(_standing(queues, sight), ACTIONS[action])
    if refusal:
        raise BadInput(f"queue {name}: {refusal}")
    if _is_so(sight, action):
        return f"queue {name} is already {await _outlook(client, sight)}"
    asked = await _request(client, sight, action, namespace or client.connection.namespace)
    if not wait_seconds:
        return f"queue {name}: asked, by {asked}"
    after = await _answer(client, sight, action, asked, wait_seconds)
    return f"queue {name}: {await _outlook(client, after)}"


def _standing(queues: Queues, sight: QueueView) -> QueueFacts:
    above = queues.sights.get(sight.parent)
    if above is None or above.name == ROOT:
        return QueueFacts(sight.name, sight.state)
    return QueueFacts(sight.name, sight.state, parent=above.name, parent_state=above.state)


async def _request(client: ApiClient, sight: QueueView, action: str, namespace: str) -> str:
    """Create a Command, or set the annotation where there are no Commands; says which."""
    target = {"apiVersion": QUEUES.api_version, "kind": "Queue", "name": sight.name, "uid": sight.uid}
    prefix = f"{sight.name}-{action.removesuffix('Queue').lower()}-"
    body = {
        "apiVersion": COMMANDS.api_version,
        "kind": "Command",
        "metadata": {"generateName": prefix, "ownerReferences": [target]},
        "action": action,
        "target": target,
    }
    try:
        made = await client.create(COMMANDS.path(namespace), body)
    except NotFound:
        wish = next(word for word, state in WISHES.items() if state == ACTIONS[action])
        await client.patch(QUEUES.path(name=sight.name), {"metadata": {"annotations": {STATE_WISH: wish}}})
        return f"annotation {STATE_WISH}: {wish}"
    return f"Command {namespace}/{made['metadata']['name']}"


async def _answer(client: ApiClient, before: QueueView, action: str, asked: str, seconds: float) -> QueueView:
    """The queue once it is as it was asked to be."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                sight = sight_of(await client.get(QUEUES.path(name=before.name)), before.parent)
                if _is_so(sight, action):
                    return sight
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        state = before.state or "without a state"
        raise Unavailable(
            f"queue {before.name}: asked, by {asked}, and still {state} after {seconds:g} s "
            "(does vsched run, and does it take Commands from there? --command-namespace)"
        ) from None


def _is_so(sight: QueueView, action: str) -> bool:
    """Whether a queue is as an action would have it, and for its own sake."""
    return not sight.by_parent and (sight.state == OPEN if ACTIONS[action] == OPEN else sight.state in SHUT)


async def _outlook(client: ApiClient, sight: QueueView) -> str:
    """A state, and what it waits for."""
    if sight.state != CLOSING:
        return sight.state
    return f"{sight.state}: {remaining(await podgroup_phases(client, sight.name))}"
