"""The pages that explain, over HTTP: what is known, what is not, what is left out, and too many who ask at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from vsched.errors import Unavailable
from vsched.explain.records import Whereabouts
from vsched.explain.words import reasons
from vsched.explain.words.reasons import CUT_SHORT
from vsched.framework.cycle import run_cycle
from vsched.mirror.problems import Problem
from vsched.mirror.state import words as state_words
from vsched.settings.built_in import REGISTRY
from vsched.web.pages.explanations import EXPLAINING, LONGEST_SECONDS, MOST_AT_ONCE, explanation_routes
from vsched.web.serve.server import serving
from vsched.web.snapshots import FrozenSnapshot, Look
from vsched.web.words import answers as words

TEXT = """
    node n1 cpu=9
    queue research capability=cpu:4
    job ns/train queue=research min=1 phase=Inqueue pods=1 cpu=5
    job ns/other queue=research min=1 pods=1 cpu=1
    job far/serve min=1 pods=1 cpu=20
"""
LEFT_OUT = (
    Problem("PodGroup", "ns", "broken", "u1", "PodGroup ns/broken: spec.minMember: expected an integer, got -1"),
    Problem("Pod", "ns", "foreign", "u2", state_words.for_another_scheduler("Pod ns/foreign", "other")),
    Problem("Queue", "", "odd", "u3", "Queue odd: spec.weight: expected an integer, got 0"),
)
Get = Any


def frozen() -> FrozenSnapshot:
    snapshot = mirror(manifests(TEXT)).snapshot(NOW)
    return FrozenSnapshot(snapshot, DEFAULT_POLICY, run_cycle(snapshot, DEFAULT_POLICY, REGISTRY), 7)


async def look() -> FrozenSnapshot:
    return frozen()


BAD_TIMES = ("changes=maybe", "seconds=maybe", "seconds=0", "seconds=-1", "seconds=nan", "seconds=21")


@asynccontextmanager
async def pages(
    look: Look = look, left_out: Iterable[Problem] = LEFT_OUT, longest_seconds: float = LONGEST_SECONDS
) -> AsyncIterator[Get]:
    """The pages at one address; gives a function from a path to code, document and headers."""
    routes = explanation_routes(look, REGISTRY, lambda: left_out, lambda seconds: None, longest_seconds)
    async with serving(routes, "127.0.0.1:0", "--listen-address") as port, aiohttp.ClientSession() as session:

        async def get(path: str) -> tuple[int, dict[str, Any], Any]:
            async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                return answer.status, await answer.json(), answer.headers

        yield get


@pytest.mark.parametrize(
    ("path", "kind", "state", "message"),
    [
        pytest.param(
            "/explain/ns/train", "PodGroup", "never", "queue research may hold 4 cpu at most: 5 asked", id="a PodGroup"
        ),
        pytest.param(
            "/explain/ns/train.0",
            "Pod",
            "never",
            "queue research may hold 4 cpu at most: 5 asked",
            id="a pod",
        ),
        pytest.param("/explain/ns/other", "PodGroup", "starting", reasons.SAYS[Whereabouts.STARTING], id="placed"),
        pytest.param(
            "/explain/ns/train?kind=podgroup&changes=false",
            "PodGroup",
            "never",
            "queue research may hold 4 cpu at most: 5 asked",
            id="of one kind, without a search",
        ),
        pytest.param(
            "/explain-queue/research",
            "Queue",
            "never",
            "1 job waits, ns/train first: queue research may hold 4 cpu at most: 5 asked",
            id="a queue",
        ),
    ],
)
async def test_what_is_known_is_explained(path: str, kind: str, state: str, message: str) -> None:
    async with pages() as get:
        code, found, _ = await get(path)

    assert code == 200
    assert (found["kind"], found["state"], found["message"]) == (kind, state, message)
    assert bool(found["changes"]) is (state == "never" and "changes=false" not in path)


@pytest.mark.parametrize(
    ("path", "error"),
    [
        pytest.param(
            "/explain/ns/trian",
            words.not_known(words.POD_OR_PODGROUP, "ns", "trian", words.did_you_mean("ns/train").removesuffix("?")),
            id="a slip of the pen",
        ),
        pytest.param(
            "/explain/ns/serve",
            words.not_known(words.POD_OR_PODGROUP, "ns", "serve", words.did_you_mean("far/serve").removesuffix("?")),
            id="in another namespace",
        ),
        pytest.param(
            "/explain/ns/xyzzy", words.not_known(words.POD_OR_PODGROUP, "ns", "xyzzy", ""), id="nothing like it"
        ),
        pytest.param(
            "/explain/ns/train?kind=Pod", words.another_kind("pod", "ns", "train", "PodGroup"), id="another kind"
        ),
        pytest.param(
            "/explain/ns/broken",
            words.ignored(LEFT_OUT[0].message),
            id="malformed",
        ),
        pytest.param(
            "/explain/ns/foreign",
            words.ignored(LEFT_OUT[1].message),
            id="of another scheduler",
        ),
        pytest.param(
            "/explain-queue/reserch", words.no_queue("reserch", words.did_you_mean("research")), id="a queue misspelt"
        ),
        pytest.param(
            "/explain-queue/odd",
            words.ignored(LEFT_OUT[2].message),
            id="a bad queue",
        ),
    ],
)
async def test_what_is_not_known_is_told_apart(path: str, error: str) -> None:
    async with pages() as get:
        code, found, _ = await get(path)

    assert code == 404
    assert found["error"].startswith(error)


@pytest.mark.parametrize(
    "path",
    ["/explain/ns/train?kind=Node"]
    + [f"/explain{what}?{asked}" for what in ("/ns/train", "-queue/research") for asked in BAD_TIMES],
)
async def test_questions_that_are_none_are_refused(path: str) -> None:
    async with pages() as get:
        code, found, _ = await get(path)

    assert code == 400
    assert "expected" in found["error"]


async def test_an_answer_comes_in_time_with_what_was_found_by_then() -> None:
    async with pages() as get:
        _, short, _ = await get("/explain/ns/train?seconds=0.000001")
        _, whole, _ = await get("/explain/ns/train?seconds=20")

    assert (short["changes"], short["notes"]) == ([], [CUT_SHORT])
    assert whole["changes"]
    assert short["message"] == whole["message"]


async def test_a_daemon_that_decides_nothing_says_so() -> None:
    async def nothing() -> FrozenSnapshot:
        raise Unavailable("no session within 10 s")

    async with pages(nothing) as get:
        code, found, headers = await get("/explain/ns/train")

    assert (code, found["error"], headers["Retry-After"]) == (503, "no session within 10 s", "2")


async def test_too_many_at_once_are_sent_away_and_the_others_answered() -> None:
    open_ = asyncio.Event()

    async def slowly() -> FrozenSnapshot:
        await open_.wait()
        return frozen()

    async with pages(slowly) as get, asyncio.TaskGroup() as group:
        asked = [group.create_task(get("/explain/ns/other")) for _ in range(MOST_AT_ONCE + 3)]
        sent_away = asyncio.as_completed(asked)
        for _ in range(3):
            await next(sent_away)
        open_.set()
    codes = sorted(one.result()[0] for one in asked)

    assert codes == [200] * MOST_AT_ONCE + [503] * 3


@pytest.mark.parametrize("path", ["/explain/ns/train", "/explain/ns/train.0", "/explain-queue/research"])
async def test_an_explanation_that_takes_too_long_ends_and_gives_its_thread_back(path: str) -> None:
    async with pages(longest_seconds=0.0) as get:
        answers = [await get(path) for _ in range(5)]
        assert {code for code, _, _ in answers} == {503}
        assert answers[0][1] == {"error": words.explaining_takes_long(0)}
        assert answers[0][2]["Retry-After"] == "2"
    async with pages() as get:
        code, _, _ = await asyncio.wait_for(get(path), 60.0)
        assert code == 200, "threads are free again"


async def test_whoever_goes_away_leaves_no_work_behind() -> None:
    """Nobody waits for the answer any more, so the thread stops in the midst of a session."""
    began, goes_on = threading.Event(), threading.Event()

    async def slow() -> FrozenSnapshot:
        began.set()
        await asyncio.to_thread(goes_on.wait, 60.0)
        return frozen()

    async with pages(slow) as get:
        asked = asyncio.create_task(get("/explain/ns/train"))
        await asyncio.to_thread(began.wait, 60.0)
        asked.cancel()
        goes_on.set()
        await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(EXPLAINING, lambda: None), 60.0)


async def test_where_several_jobs_were_made_for_an_object_of_this_name_they_are_named() -> None:
    objects = manifests("job ns/g-0 min=1 pods=1 cpu=1\njob ns/g-1 min=1 pods=1 cpu=1")
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "mnist", "uid": "u", "controller": True}
    for each in objects:
        if each["kind"] == "PodGroup":
            each["metadata"]["ownerReferences"] = [owner]
    snapshot = mirror(objects).snapshot(NOW)
    found = FrozenSnapshot(snapshot, DEFAULT_POLICY, run_cycle(snapshot, DEFAULT_POLICY, REGISTRY), 7)

    async def look() -> FrozenSnapshot:
        return found

    async with pages(look) as get:
        code, answer, _ = await get("/explain/ns/mnist")

    assert (code, answer["error"]) == (
        404,
        "no pod or PodGroup ns/mnist is known here; did you mean ns/g-0 (vcjob ns/mnist) or ns/g-1 (vcjob ns/mnist)?",
    )
