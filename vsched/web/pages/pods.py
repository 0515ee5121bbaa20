"""``/pods``: the pods of one job or on one node, with evictions there; ``/evictions``: the latest evictions.

Overviews have no pods, as there are too many. ``/pods`` answers the first of one job or node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple, TypedDict

from aiohttp import web
from msgspec import to_builtins

from vsched.framework.words.victims import asked_to_end
from vsched.model.plan import Unschedulable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.web.evictions import MOST_TOLD, EvictionRow, Evictions, of_job, on_node
from vsched.web.pages.views import Quantities, amounts
from vsched.web.serve.routing import Contract, Handler, QueryParameter, Route, as_json, aside
from vsched.web.words import answers as answers_words
from vsched.web.words import routes as words

MOST_PODS = 100
"""In one answer."""
STATES = {Status.RELEASING: "Leaving", Status.PIPELINED: "Pending", Status.ALLOCATED: "Binding"}
"""States of pods that differ from the name of their status."""


class PodShown(TypedDict):
    """A pod."""

    namespace: str
    name: str
    job: str
    called: str
    state: str
    node: str
    nominated: str
    role: str
    started: float
    requests: Quantities
    message: str


class EvictionsShown(TypedDict):
    """The number of remembered evictions, and the latest of them."""

    evictions_total: int
    evictions: list[EvictionRow]


class PodCountsShown(TypedDict):
    """Counts by state, and the first pods."""

    total: int
    states: dict[str, int]
    pods: list[PodShown]


class PodsShown(PodCountsShown, EvictionsShown):
    """An answer of ``/pods``."""


class MirrorView(NamedTuple):
    """What the pages read from the mirror, on the event loop."""

    tasks_of: Callable[[str], list[Task] | None]
    """Of a job, None where there is none."""
    tasks_on: Callable[[str], list[Task] | None]
    """Of a node."""
    names: Callable[[], Sequence[str]]
    """Of resources, by column."""
    called: Callable[[str], str]
    """How sentences name a job, by its key."""


def pod_routes(
    seen: MirrorView, evictions: Evictions, verdicts: Callable[[], Mapping[str, Unschedulable]]
) -> list[Route]:
    """The two routes; ``verdicts`` are why pods wait, by ``namespace/name``."""
    return [
        Route(
            "/pods",
            _pods(seen, evictions, verdicts),
            words.PODS,
            contract=Contract((PodsShown,), (QueryParameter("job", words.JOB), QueryParameter("node", words.NODE))),
        ),
        Route("/evictions", _evictions(evictions), words.EVICTIONS, contract=Contract((EvictionsShown,))),
    ]


def _pods(seen: MirrorView, evictions: Evictions, verdicts: Callable[[], Mapping[str, Unschedulable]]) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        job, node = request.query.get("job", ""), request.query.get("node", "")
        if bool(job) == bool(node):
            return as_json({"error": answers_words.JOB_OR_NODE_EXPECTED}, 400)
        tasks = seen.tasks_of(job) if job else seen.tasks_on(node)
        rows, names, unschedulable = evictions.rows(), seen.names(), verdicts()
        if tasks is None:
            found = of_job(rows, job) if job else on_node(rows, node)
            what = f"job {job}" if job else f"node {node}"
            return as_json({"error": answers_words.nothing_known(what), **eviction_document(found)}, 404)

        def made() -> web.Response:
            pods = frozenset(task.key for task in tasks)
            found = of_job(rows, job, pods) if job else on_node(rows, node)
            return as_json({**pod_document(tasks, names, unschedulable, seen.called), **eviction_document(found)})

        return await aside(made)

    return answer


def _evictions(evictions: Evictions) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return as_json(eviction_document(evictions.rows()))

    return answer


def pod_document(
    tasks: Iterable[Task],
    names: Sequence[str],
    unschedulable: Mapping[str, Unschedulable],
    called: Callable[[str], str],
) -> PodCountsShown:
    """Counts by state, and the first pods: waiting and leaving ones before the others, then by name."""
    listed = list(tasks)
    states: dict[str, int] = {}
    for task in listed:
        state = state_of(task)
        states[state] = states.get(state, 0) + 1
    first = nsmallest(MOST_PODS, listed, key=_rank)
    return {
        "total": len(listed),
        "states": states,
        "pods": [_pod(task, names, unschedulable, called) for task in first],
    }


def eviction_document(rows: Sequence[EvictionRow]) -> EvictionsShown:
    """The number of remembered evictions, and the latest of them."""
    return {"evictions_total": len(rows), "evictions": to_builtins(rows[:MOST_TOLD])}


def state_of(task: Task) -> str:
    """The state of a pod, in one word."""
    return STATES.get(task.status) or task.status.name.capitalize()


SETTLED = (Status.RUNNING, Status.SUCCEEDED, Status.FAILED)
"""Statuses of pods that neither wait nor leave, in the order in which they are shown."""


def _rank(task: Task) -> tuple[int, str, int, str]:
    """By name within its namespace as people count: ``train-9`` before ``train-10``."""
    rank = SETTLED.index(task.status) + 1 if task.status in SETTLED else 0
    return rank, task.namespace, len(task.name), task.name


def _pod(
    task: Task, names: Sequence[str], unschedulable: Mapping[str, Unschedulable], called: Callable[[str], str]
) -> PodShown:
    verdict = unschedulable.get(task.key) if task.status is Status.PENDING else None
    asked = asked_to_end(task.asked, called)
    return {
        "namespace": task.namespace,
        "name": task.name,
        "job": task.job,
        "called": called(task.job),
        "state": state_of(task),
        "node": task.node,
        "nominated": task.nominated,
        "role": task.role,
        "started": task.started,
        "requests": amounts({names[column]: value for column, value in task.shape.request if names[column] != "pods"}),
        "message": verdict.message if verdict is not None and verdict.uid == task.uid else asked,
    }
