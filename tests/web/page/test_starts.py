"""Planned starts on the page, in a real browser: the list, the column, the panel, and who goes before whom."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.browser import Sitting, sitting
from tests.support.planned_starts import planned_starts

expect = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect
expect.set_options(timeout=30_000)
pytestmark = pytest.mark.asyncio(loop_scope="session")
IN_AN_HOUR = re.compile(r"\d\d:\d\d:\d\d, in \d+m")


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sitting]:
    async with (
        planned_starts(tmp_path_factory.mktemp("policy")) as starting,
        sitting(browser, starting.url) as found,
    ):
        await expect(found.page.locator("#connection-kind")).to_have_text("live")
        yield found
        assert found.trouble == []


async def test_planned_starts_are_listed_with_time_nodes_reason_and_who_goes_before(visit: Sitting) -> None:
    starts = visit.page.get_by_role("region", name="Planned starts")
    await expect(starts.get_by_role("row")).to_have_count(2)
    row = starts.get_by_role("row").nth(1)
    await expect(row.get_by_role("rowheader")).to_have_text("default/big")
    cells = row.get_by_role("cell")
    await expect(cells.nth(1)).to_have_text(IN_AN_HOUR)
    await expect(cells.nth(2)).to_have_text("2")
    await expect(cells.nth(3)).to_contain_text("the gang needs 2")
    await expect(cells.nth(4)).to_have_text("default/short")
    await expect(visit.page.locator("#starts-told")).to_contain_text("nodes are reserved for 1 job")


async def test_the_list_of_jobs_has_a_column_of_planned_starts(visit: Sitting) -> None:
    jobs = visit.page.get_by_role("grid", name="Jobs")
    await expect(jobs.get_by_role("columnheader", name="start")).to_have_count(1)
    await expect(jobs.get_by_role("row", name=re.compile("^default.big")).locator("td.start")).to_have_text(IN_AN_HOUR)
    await expect(jobs.get_by_role("row", name=re.compile("^default.late")).locator("td.start")).to_have_text("-")


async def test_panels_lead_from_a_planned_start_to_who_goes_before_it_and_back(visit: Sitting) -> None:
    page = visit.page
    await page.get_by_role("region", name="Planned starts").get_by_role("link", name="default/big").click()
    known = page.locator("#panel-known")
    await expect(known).to_contain_text(re.compile(rf"planned start{IN_AN_HOUR.pattern}, on 2 nodes"))
    await expect(page.locator("#panel-explained ul.notes")).to_contain_text("job default/short may use its nodes")
    await known.get_by_role("link", name="default/short").click()
    await expect(page.get_by_role("complementary", name="default/short")).to_be_visible()
    await expect(known).to_contain_text("goes beforedefault/big")
    await known.get_by_role("link", name="default/big").click()
    await expect(page.get_by_role("complementary", name="default/big")).to_be_visible()
    await page.get_by_role("button", name="Close").click()
