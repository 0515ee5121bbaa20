"""Shares of queues over time, over HTTP."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from vsched.web.overview.share_history import ShareHistory
from vsched.web.overview.shares import WHOLE, QueueShares
from vsched.web.pages.queue_history import queue_history_route
from vsched.web.serve.server import serving
from vsched.web.words import answers as words

BEGIN = 6_000_000.0


async def ask(query: str) -> tuple[int, dict[str, Any]]:
    history = ShareHistory()
    for number in range(100):
        history.add(
            BEGIN + 10 * number,
            {WHOLE: QueueShares(0.75, None, 0.5), "research": QueueShares(0.5, 0.25, 0.125)},
        )
    async with (
        serving([queue_history_route(history)], "127.0.0.1:0", "--listen-address") as port,
        aiohttp.request("GET", f"http://127.0.0.1:{port}/queue-history{query}") as answer,
    ):
        return answer.status, await answer.json()


async def test_it_has_every_queue_and_the_cluster() -> None:
    code, found = await ask("")
    assert (code, found["span"], found["begins"], found["step_seconds"]) == (200, "hour", BEGIN, 20)
    assert [one["queue"] for one in found["queues"]] == ["", "research"]
    research = found["queues"][1]
    assert (research["held"], research["deserved"], research["waiting"]) == ([0.5] * 50, [0.25] * 50, [0.125] * 50)
    assert found["queues"][0]["deserved"] == [None] * 50


async def test_one_queue_may_be_seen_in_full_and_over_a_week() -> None:
    _, hour = await ask("?queue=research&points=360")
    assert ([one["queue"] for one in hour["queues"]], len(hour["queues"][0]["held"])) == (["research"], 100)
    _, week = await ask("?queue=&span=week")
    assert (week["queues"][0]["queue"], week["queues"][0]["held"], week["step_seconds"]) == ("", [0.75, 0.75], 600)


@pytest.mark.parametrize(
    ("query", "code", "says"),
    [
        pytest.param("?span=day", 400, "expected hour or week", id="another span"),
        pytest.param("?points=0", 400, "expected a number from 1 to 120", id="no points"),
        pytest.param("?points=121", 400, "expected a number from 1 to 120", id="too many points of all"),
        pytest.param("?points=1009&queue=research", 400, "from 1 to 1008", id="too many points of one"),
        pytest.param("?points=%C2%B2", 400, "expected a number", id="a digit that is no number"),
        pytest.param("?most=501", 400, "expected a number from 1 to 500", id="too many queues"),
        pytest.param("?queue=gone", 404, words.no_history("gone"), id="an unknown queue"),
    ],
)
async def test_what_cannot_be_answered_is_said(query: str, code: int, says: str) -> None:
    answered, found = await ask(query)
    assert answered == code
    assert says in found["error"]
