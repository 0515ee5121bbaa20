"""What the panel asks the daemon, and when, in a real browser."""

from __future__ import annotations

from time import monotonic
from typing import Any

import pytest

from tests.support.browser import sitting
from tests.support.waiting import until
from tests.web.page.pictured import Going, pictured

expect: Any = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect
expect.set_options(timeout=30_000)
pytestmark = pytest.mark.asyncio(loop_scope="session")
LONG = 6.5
"""Seconds that an answer takes: more than the page lets pass between two questions."""


async def test_an_answer_that_takes_long_comes_though_what_it_is_about_changes_every_second(browser: Any) -> None:
    begun: list[float] = []
    ended: list[float] = []

    async def slowly(route: Any) -> None:
        begun.append(monotonic())
        await until(lambda: monotonic() - begun[-1] > LONG, 4 * LONG)
        await route.fulfill(json={"message": f"answer {len(ended) + 1}"})
        ended.append(monotonic())

    async with pictured(Going(60, 40)) as url, sitting(browser, url) as visit:
        await visit.page.wait_for_selector("body.seen")
        await visit.page.route("**/explain-queue/**", slowly)
        await visit.page.evaluate("location.hash = '#queues?open=queue:team-0'")
        explained = visit.page.locator("#panel-explained")
        await expect(explained).to_contain_text("answer 1")
        await expect(explained).to_contain_text("answer 2")
        assert begun[1] > ended[0] - 0.5, "the next question comes after the answer"
        await visit.page.unroute_all(behavior="ignoreErrors")
