"""Opening and closing queues, and waiting until that is done."""

from __future__ import annotations

import asyncio

from vsched.api.resources import COMMANDS, QUEUES
from vsched.cli.queue import words
from vsched.cli.queue.shown import Queues, QueueView, view_of
from vsched.cli.queue.source import podgroup_phases, read_queues
from vsched.cli.queue.view import remaining
from vsched.controllers.queues import ACTIONS, STATE_WISH, WISHES, QueueState, refusal_of
from vsched.errors import BadInput, Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.errors import NotFound
from vsched.model.queues.queue import CLOSING, OPEN, ROOT, SHUT

POLL_SECONDS = 0.1


async def ask(client: ApiClient, name: str, action: str, wait_seconds: float, namespace: str = "") -> str:
    """Request an action (see ``ACTIONS``), wait until it is done, and return a line about the queue's state.

    The Command is created in ``namespace``, by default that of the context; the daemon has to read Commands there.

    Raises BadInput where the action is impossible, and Unavailable where it is not done in time.
    """
    queues = await read_queues(client, with_total=False)
    queue = queues.named(name)
    refusal = refusal_of(_facts_of(queues, queue), ACTIONS[action])
    if refusal:
        raise BadInput(f"queue {name}: {refusal}")
    if _is_so(queue, action):
        return words.is_already(name, await _outlook(client, queue))
    asked = await _request(client, queue, action, namespace or client.connection.namespace)
    if not wait_seconds:
        return f"queue {name}: asked, by {asked}"
    after = await _answer(client, queue, action, asked, wait_seconds)
    return f"queue {name}: {await _outlook(client, after)}"


def _facts_of(queues: Queues, queue: QueueView) -> QueueState:
    above = queues.by_name.get(queue.parent)
    if above is None or above.name == ROOT:
        return QueueState(queue.name, queue.state)
    return QueueState(queue.name, queue.state, parent=above.name, parent_state=above.state)


async def _request(client: ApiClient, queue: QueueView, action: str, namespace: str) -> str:
    """Create a Command, or set the annotation where the server knows no Commands; returns what it did."""
    target = {"apiVersion": QUEUES.api_version, "kind": "Queue", "name": queue.name, "uid": queue.uid}
    prefix = f"{queue.name}-{action.removesuffix('Queue').lower()}-"
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
        await client.patch(QUEUES.path(name=queue.name), {"metadata": {"annotations": {STATE_WISH: wish}}})
        return f"annotation {STATE_WISH}: {wish}"
    return f"Command {namespace}/{made['metadata']['name']}"


async def _answer(client: ApiClient, before: QueueView, action: str, asked: str, seconds: float) -> QueueView:
    """Wait until the queue is in the wanted state; returns it."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                queue = view_of(await client.get(QUEUES.path(name=before.name)), before.parent)
                if _is_so(queue, action):
                    return queue
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        state = before.state or "without a state"
        raise Unavailable(words.still(before.name, asked, state, seconds)) from None


def _is_so(queue: QueueView, action: str) -> bool:
    """Whether a queue is in the state that an action leads to, and not only because of its parent."""
    return not queue.by_parent and (queue.state == OPEN if ACTIONS[action] == OPEN else queue.state in SHUT)


async def _outlook(client: ApiClient, queue: QueueView) -> str:
    """The state, and what a closing queue still waits for."""
    if queue.state != CLOSING:
        return queue.state
    return f"{queue.state}: {remaining(await podgroup_phases(client, queue.name))}"
