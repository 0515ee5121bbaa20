"""What the page says of queues and jobs in figures, over pictures made for it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from tests.support.browser import Sitting, sitting
from tests.web.page.pictured import Going, pictured

expect = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect
expect.set_options(timeout=30_000)
pytestmark = pytest.mark.asyncio(loop_scope="session")
UNKNOWN = (None,) * 5


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def going() -> AsyncIterator[tuple[Going, str]]:
    """Two queues below the root: one holds 4.09 times what it deserves, the other half of it; GPUs are scarcest."""
    made = Going(60, 200)
    queues = made.now.queues
    root, one, two = queues["root"], queues["team-0"], queues["team-1"]
    due = (100_000, 1 << 40, 10_000, None, 100)
    about = {"deserved": due, "guarantee": UNKNOWN, "capability": UNKNOWN, "problem": ""}
    many = replace(one, share=4.09, overused=True, allocated=(409_000, 1 << 40, 10_000, 0, 100), **about)
    few = replace(two, share=0.5, overused=True, allocated=(50_000, 1 << 39, 5_000, 0, 50), **about)
    top = replace(root, share=1.3, overused=True, deserved=UNKNOWN, guarantee=UNKNOWN, capability=UNKNOWN)
    kept = {"root": top, "team-0": many, "team-1": few}
    users = ("", "ada", "bob")
    jobs = {
        key: replace(job, queue=f"team-{number % 2}", user=users[number % 3])
        for number, (key, job) in enumerate(made.now.jobs.items())
    }
    left_out = {"nodes_left_out": 49_940, "queues_left_out": 1_108, "namespaces_left_out": 4_000}
    made.show(replace(made.now, queues=kept, namespaces={}, jobs=jobs, counts={**made.now.counts, **left_out}))
    made.still = True
    async with pictured(made) as url:
        yield made, url


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Any, going: tuple[Going, str]) -> AsyncIterator[Sitting]:
    async with sitting(browser, going[1]) as found:
        await expect(found.page.locator(".named").first).to_be_visible()
        yield found
        assert found.trouble == []


async def held_and_due(row: Any) -> tuple[float, float]:
    """Where the first bar of a row ends, and where what it deserves is marked; per cent."""
    part = "(bar, name) => parseFloat(bar.style.getPropertyValue(name))"
    bar = row.locator(".bar").first
    return await bar.evaluate(part, "--held"), await bar.evaluate(part, "--deserved")


async def test_what_is_held_of_what_is_deserved_is_told_in_one_way_and_as_the_bars_show_it(visit: Sitting) -> None:
    tree = visit.page.get_by_role("treegrid")
    many, few, root = (tree.get_by_role("row", name=re.compile(name)) for name in ("team-0", "team-1", "root"))
    await expect(many.locator(".share")).to_have_text("4.1\N{MULTIPLICATION SIGN}")
    await expect(few.locator(".share")).to_have_text("50%")
    await expect(root.locator(".share")).to_have_text("-")
    await expect(tree.locator(".share.over")).to_have_count(1)
    await expect(visit.page.locator("#queues-told")).to_contain_text("1 over what they deserve")
    await expect(many.locator(".amount .told").first).to_have_text("409/100")
    held, due = await held_and_due(many)
    assert held / due == pytest.approx(4.09, rel=0.01)
    held, due = await held_and_due(few)
    assert held / due == pytest.approx(0.5, rel=0.01)
    held, _ = await held_and_due(root)
    told = await root.locator(".amount .told").first.inner_text()
    allocated, total = (float(word.rstrip("k")) * (1000 if word.endswith("k") else 1) for word in told.split("/"))
    assert held == pytest.approx(100 * allocated / total, rel=0.01)


async def test_a_narrow_screen_keeps_the_most_contested_resource_and_says_of_which_queue_a_position_is(
    visit: Sitting,
) -> None:
    page = visit.page
    await page.set_viewport_size({"width": 390, "height": 844})
    tree = page.get_by_role("treegrid")
    await expect(tree.get_by_role("columnheader", name="gpu", exact=True)).to_be_visible()
    await expect(tree.get_by_role("columnheader", name="memory", exact=True)).to_have_count(0)
    await expect(page.locator("#jobs-grid .position .whose").first).to_be_visible()
    await expect(page.locator("#jobs-grid td.position").first).to_have_text(re.compile(r"^\d+ of team-[01]$"))
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_jobs_are_chosen_by_namespace_and_user_and_addresses_keep_that(visit: Sitting, going: Any) -> None:
    page, jobs = visit.page, going[0].now.jobs
    waiting = [job for job in jobs.values() if job.waits or job.pending]
    told = page.locator("#jobs-told")
    await page.get_by_label("User").select_option("ada")
    await expect(told).to_contain_text(f"{sum(job.user == 'ada' for job in waiting)} jobs shown")
    await page.locator("#jobs-namespace").select_option("training")
    both = sum(job.user == "ada" and job.key.startswith("training/") for job in waiting)
    await expect(told).to_contain_text(f"{both} job")
    assert "user=ada" in page.url
    assert "namespace=training" in page.url
    await page.reload()
    await expect(told).to_contain_text(f"{both} job")
    await expect(page.get_by_label("User")).to_have_value("ada")


async def test_messages_use_the_room_there_is(visit: Sitting) -> None:
    grid = visit.page.locator("#jobs-grid")
    message = await grid.locator("td.message").first.bounding_box()
    whole = await grid.bounding_box()
    assert message["width"] > 0.3 * whole["width"]


@pytest.mark.parametrize("width", [1440, 390])
async def test_an_address_lands_on_its_section(browser: Any, going: tuple[Going, str], width: int) -> None:
    async with sitting(browser, f"{going[1]}#jobs", viewport={"width": width, "height": 700}) as found:
        page = found.page
        await expect(page.locator("#jobs-grid td.job").first).to_be_visible()
        await expect(page.locator("#nodes-map canvas").first).to_be_attached()
        top = "document.getElementById('jobs').getBoundingClientRect().top"
        await page.wait_for_function(f"{top} >= 0 && {top} < 80")
        assert found.trouble == []


async def test_of_nodes_queues_and_namespaces_without_a_row_it_is_told_how_many_there_are(visit: Sitting) -> None:
    await expect(visit.page.locator("#nodes-told")).to_contain_text("60 of 50,000 nodes: unusual ones and a sample")
    told = visit.page.locator("#queues-told")
    await expect(told).to_contain_text("3 of 1,111: those with others below them first, then those with jobs")
    await expect(told).to_contain_text("4,000 namespaces that hold little are not listed")
