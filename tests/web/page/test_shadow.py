"""What the page of a shadow shows of there and here, in the words of the report; that of any other daemon does not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tests.support.browser import sitting
from tests.web.page.pictured import Going, pictured
from vsched.cli.shadow import words
from vsched.shadow.findings import Evicted, Interval, Partial, QueueShare, Started, WouldEvict, WouldStart
from vsched.shadow.summary import summed

expect: Any = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect
expect.set_options(timeout=30_000)
pytestmark = pytest.mark.asyncio(loop_scope="session")
AT = 1_800_000_000.0
FOUND = summed(
    [
        WouldStart(AT, "team/waits", "research", 4, AT),
        Started(AT + 90, "team/slow", "research", 2, AT, AT),
        Started(AT + 90, "team/<b>worse", "research", 2, AT, 0.0, "QueueCapability", "queue research is full"),
        WouldEvict(AT + 90, "team/runs", 3, "preempt", "team/waits"),
        Evicted(AT + 90, "team/back", "team/back-0", "n1", AT, used=False, back=True),
        Partial(AT + 100, "team/half", "research", AT, 2, 4),
        Interval(AT + 120, AT, {"cpu": 12.0}, {"research": QueueShare(120.0, 60.0, 30.0)}),
    ]
).shown()


def shadow() -> Going:
    going = Going(3, 2)
    going.show(structs.replace(going.now, role="shadow"))
    return going


async def test_a_shadow_shows_what_is_done_there_and_what_would_be_done_here(browser: Any) -> None:
    async with pictured(shadow(), comparing=FOUND) as url, sitting(browser, url) as found:
        section = found.page.get_by_role("region", name="There and here", exact=True)
        await expect(section).to_be_visible()
        await expect(section.locator("#shadow-later")).to_have_text("1 (together 90s)")
        await expect(section.locator("#shadow-waits-here")).to_have_text("1")
        await expect(section.locator("#shadow-would-evict")).to_have_text("3")
        await expect(section.locator("#shadow-in-vain")).to_have_text("1 of 1")

        async def second_row(name: str, *texts: str) -> None:
            cells = section.get_by_role("region", name=name).get_by_role("row").nth(1)
            for text in texts:
                await expect(cells).to_contain_text(text)

        await second_row(words.WAITING, "team/waits", "research", "2m")
        await second_row(words.LATER, "team/slow", "90s")
        await second_row(words.WAITS_HERE, "team/<b>worse", "queue research is full")
        await second_row(words.WOULD_EVICT, "team/runs", "preempt", "team/waits")
        await second_row(words.IN_VAIN, "team/back-0", "n1")
        await second_row(words.PARTIAL, "team/half", "100s")
        await second_row(words.IDLE, "cpu", "12s")
        await second_row("What queues held of what they deserve here", "research", "50%", "30s")
        await expect(found.page.locator("#idle")).to_be_hidden()
        await section.get_by_text(words.LIMITS).click()
        await expect(section.locator("#shadow-limits li")).to_have_count(len(FOUND.limits))
        assert found.trouble == []


async def test_the_page_of_another_daemon_has_no_such_section(browser: Any) -> None:
    async with pictured(Going(3, 2)) as url, sitting(browser, url) as found:
        await expect(found.page.locator("#connection-kind")).to_have_text("live")
        await expect(found.page.locator("#shadow")).to_be_hidden()
        await expect(found.page.locator("#shadow-link")).to_be_hidden()
        assert found.trouble == []
