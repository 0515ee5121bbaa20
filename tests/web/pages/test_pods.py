"""The pods of one job or on one node, over HTTP."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from tests.support.plans import manifests, mirror
from vsched.model.plan import Evict, Unschedulable
from vsched.web.evictions import MOST_TOLD, Evictions
from vsched.web.pages.pods import MOST_PODS, MirrorView, pod_routes
from vsched.web.serve.server import serving
from vsched.web.words import answers as words

TEXT = f"""
    node n1 cpu=9
    node n2 cpu=900
    job ns/train min=2 phase=Running
    pods ns/train 2 cpu=1 on=n1
    pods ns/train 1 cpu=2
    job ns/many min=1 phase=Running
    pods ns/many {MOST_PODS + 20} cpu=1 on=n2
"""


async def ask(path: str, evictions: Evictions | None = None) -> tuple[int, dict[str, Any]]:
    cache = mirror(manifests(TEXT))
    (waits,) = [task for task in cache.tasks_of("ns/train") or () if not task.node]
    told = {waits.key: Unschedulable(waits.uid, "ns", waits.name, "ns/train", "Unschedulable", "no room")}
    seen = MirrorView(cache.tasks_of, cache.tasks_on, lambda: cache.axis.names, cache.called)
    routes = pod_routes(seen, evictions or Evictions(), lambda: told)
    async with (
        serving(routes, "127.0.0.1:0", "--listen-address") as port,
        aiohttp.request("GET", f"http://127.0.0.1:{port}{path}") as answer,
    ):
        return answer.status, await answer.json()


async def test_a_job_has_its_pods_with_their_nodes_and_those_that_wait_first_with_what_they_are_told() -> None:
    code, found = await ask("/pods?job=ns/train")
    assert (code, found["total"], found["states"]) == (200, 3, {"Running": 2, "Pending": 1})
    assert [(pod["state"], pod["node"], pod["message"]) for pod in found["pods"]] == [
        ("Pending", "", "no room"),
        ("Running", "n1", ""),
        ("Running", "n1", ""),
    ]
    assert found["pods"][0]["requests"] == {"cpu": "2"}


async def test_a_node_has_its_pods_with_their_jobs() -> None:
    code, found = await ask("/pods?node=n1")
    assert (code, found["total"]) == (200, 2)
    assert {(pod["namespace"], pod["job"], pod["node"]) for pod in found["pods"]} == {("ns", "ns/train", "n1")}


@pytest.mark.parametrize("path", ["/pods?node=n2", "/pods?job=ns/many"])
async def test_of_many_the_first_are_listed_and_all_are_counted(path: str) -> None:
    _, found = await ask(path)
    assert (found["total"], found["states"]) == (MOST_PODS + 20, {"Running": MOST_PODS + 20})
    names = [pod["name"] for pod in found["pods"]]
    assert len(names) == MOST_PODS
    assert names == sorted(names, key=lambda name: (len(name), name))


@pytest.mark.parametrize(
    ("path", "code", "error"),
    [
        pytest.param("/pods", 400, "expected ?job=", id="nothing is named"),
        pytest.param("/pods?job=ns/train&node=n1", 400, "one of both", id="two things are named"),
        pytest.param("/pods?job=ns/gone", 404, words.nothing_known("job ns/gone"), id="a job that is not there"),
        pytest.param("/pods?node=n3", 404, words.no_node("n3"), id="a node that is not there"),
    ],
)
async def test_questions_that_cannot_be_answered(path: str, code: int, error: str) -> None:
    found, document = await ask(path)
    assert found == code
    assert error in document["error"]


async def test_evictions_are_told_with_what_they_are_about_and_of_many_the_latest() -> None:
    evictions = Evictions()
    made = [
        Evict(f"u{number}", "ns", f"p-{number}", "n3", "ns/gone", "preempt", "ns/train")
        for number in range(MOST_TOLD + 5)
    ]
    evictions.decided(1.0, made, {})
    for path in ("/pods?job=ns/train", "/pods?job=ns/gone", "/pods?node=n3", "/evictions"):
        _, found = await ask(path, evictions)
        assert found["evictions_total"] == MOST_TOLD + 5
        assert [row["uid"] for row in found["evictions"]][:2] == [f"u{MOST_TOLD + 4}", f"u{MOST_TOLD + 3}"]
        assert len(found["evictions"]) == MOST_TOLD
    _, found = await ask("/pods?node=n1", evictions)
    assert found["evictions"] == []
