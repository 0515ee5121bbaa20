"""Shares over time on the page, of a time before the daemon began."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest

from tests.support.browser import sitting
from tests.web.page.pictured import Going, pictured
from vsched.web.overview.past_shares import HourlyShares
from vsched.web.overview.share_history import ShareHistory
from vsched.web.overview.shares import WHOLE, QueueShares

expect: Any = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect
expect.set_options(timeout=30_000)
pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_hours_before_the_daemon_began_are_drawn_apart_and_that_is_said(browser: Any) -> None:
    history, now = ShareHistory(), time.time() // 3600 * 3600
    history.add(now, {WHOLE: QueueShares(0.5, None, 0.0), "research": QueueShares(0.5, 0.25, 0.0)})
    ends = now - 3600.0 * np.arange(24)[::-1]
    assert history.restore(HourlyShares(ends - 3600, ends, {name: np.full(24, 0.25) for name in (WHOLE, "research")}))
    async with pictured(Going(3, 2), shares=history) as url, sitting(browser, url) as found:
        page = found.page
        await page.wait_for_selector("body.seen")
        legend = page.locator("#shares-hourly")
        await expect(page.locator("#shares-told")).to_contain_text("10 seconds a point")
        await expect(legend).to_be_hidden()
        await page.locator("#shares-span").select_option("week")
        says = re.compile("; before .*, when this daemon began to lead, only hourly means of what was held are known$")
        await expect(page.locator("#shares-told")).to_have_text(says)
        await expect(legend).to_be_visible()
        figure = page.locator("#shares figure").filter(has_text="research")
        await expect(figure.locator("path.hourly")).to_have_attribute("d", re.compile("^M0.0 100V.*Z$"))
        await expect(figure.locator("path.held")).to_have_attribute(
            "d", re.compile("^M5[0-9][0-9].* 100V.*H600.0V100Z$")
        )
