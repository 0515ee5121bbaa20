"""Who holds what, and how the map of nodes begins: over a cluster of a few lines and pictures made for it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from tests.support.browser import Sitting, sitting
from tests.support.gpus import HELD
from tests.support.plans import NOW, manifests, mirror
from tests.web.page.pictured import Going, pictured

expect: Any = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect
expect.set_options(timeout=30_000)
pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def url() -> AsyncIterator[str]:
    """Sixty nodes in racks of twenty; GPUs are the scarcest resource."""
    going = Going(60, 10)
    nodes = {
        name: replace(row, rack=f"rack-{at // 20}") for at, (name, row) in enumerate(sorted(going.now.nodes.items()))
    }
    going.show(replace(going.now, nodes=nodes))
    going.still = True
    async with pictured(going, holding=mirror(manifests(HELD)).snapshot(NOW)) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Any, url: str) -> AsyncIterator[Sitting]:
    async with sitting(browser, url) as found:
        await expect(found.page.locator(".named").first).to_be_visible()
        yield found
        assert found.trouble == []


async def test_jobs_that_hold_gpus_have_cells_with_their_queues_and_so_does_what_is_free(visit: Sitting) -> None:
    section = visit.page.locator("#holders")
    await section.scroll_into_view_if_needed()
    await expect(section.locator("#holders-told")).to_have_text("7 of 8 gpu held by 2 jobs, 1 free")
    rows = section.get_by_role("listitem")
    await expect(rows).to_have_text(["ns/aqueue research4 · 50%", "ns/bqueue default3 · 38%", "free1 · 13%"])
    cells = [
        await row.locator(".cells").evaluate("(one) => one.style.getPropertyValue('--cells')")
        for row in await rows.all()
    ]
    assert cells == ["4", "3", "1"]


async def test_any_other_resource_can_be_chosen_and_the_address_keeps_it(visit: Sitting) -> None:
    page = visit.page
    await page.locator("#holders").scroll_into_view_if_needed()
    await expect(page.locator("#holders-of option")).to_have_text(["nvidia.com/gpu", "cpu", "memory"])
    await page.locator("#holders-of").select_option("cpu")
    await expect(page.locator("#holders-told")).to_have_text("5 of 16 cpu held by 2 jobs, 11 free")
    await page.reload()
    await expect(page.locator("#holders-told")).to_have_text("5 of 16 cpu held by 2 jobs, 11 free")


OUT_OF_SIGHT = """() => new Promise((done) => {
  new IntersectionObserver((entries, one) => entries.at(-1).isIntersecting || done(one.disconnect()))
    .observe(document.getElementById("holders"));
})"""
"""Until nobody sees the section, and everybody who watches it was told so: those who began first are told first."""

COME_BACK = """async (last) => {
  document.dispatchEvent(new Event("visibilitychange"));
  await fetch(last);
}"""
"""Somebody returns to the page; what it asks for then is asked before the address that is given."""


async def test_nothing_is_asked_while_nobody_sees_the_section(browser: Any, url: str) -> None:
    """Before its first picture the page is short, and the section may be seen for a moment."""
    async with sitting(browser, f"{url}#queues", viewport={"width": 1440, "height": 300}) as found:
        await expect(found.page.locator(".named").first).to_be_visible()
        await found.page.evaluate(OUT_OF_SIGHT)
        before = sum("only=resources" in asked for asked in found.asked)
        assert before <= 1
        await found.page.evaluate(COME_BACK, "devices?last")
        assert found.asked[-1].endswith("devices?last")
        assert sum("only=resources" in asked for asked in found.asked) == before


async def test_the_last_of_several_changes_of_sight_counts(browser: Any, url: str) -> None:
    """A busy page is told of them at once, the oldest first."""
    several = """(() => {
      const Told = IntersectionObserver;
      window.IntersectionObserver = class extends Told {
        constructor(tell) {
          super((entries, one) => tell([{ isIntersecting: true }, ...entries], one));
        }
      };
    })()"""
    async with sitting(browser, f"{url}#queues", viewport={"width": 1440, "height": 300}, before=several) as found:
        await expect(found.page.locator(".named").first).to_be_visible()
        await found.page.evaluate(OUT_OF_SIGHT)
        before = sum("only=resources" in asked for asked in found.asked)
        await found.page.evaluate(COME_BACK, "devices?last")
        assert sum("only=resources" in asked for asked in found.asked) == before


async def test_the_map_begins_with_the_scarcest_resource_by_rack_and_both_can_be_chosen(visit: Sitting) -> None:
    page = visit.page
    groups = page.locator("#nodes-map .group .whose")
    await expect(page.locator("#nodes-show")).to_have_value("nvidia.com/gpu")
    await expect(groups).to_have_text(["rack-0", "rack-1", "rack-2"])
    await page.locator("#nodes-by").select_option("pool")
    await expect(groups.first).to_have_text("a100")
    await page.locator("#nodes-show").select_option("cpu")
    await page.reload()
    await expect(groups.first).to_have_text("a100")
    await expect(page.locator("#nodes-show")).to_have_value("cpu")
    await expect(page).to_have_url(re.compile("by=group.*show=cpu|show=cpu.*by=group"))


@pytest.mark.parametrize("width", [390, 768, 1280])
async def test_no_section_is_wider_than_the_screen(visit: Sitting, width: int) -> None:
    await visit.page.set_viewport_size({"width": width, "height": 844})
    await visit.page.locator("#holders").scroll_into_view_if_needed()
    await expect(visit.page.locator("#holders-list li")).to_have_count(3)
    assert await visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
