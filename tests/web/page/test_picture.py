"""The page's own arithmetic in a real browser: pictures, amounts, colours that can be read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.browser import Sitting, chromium, needs_chromium, sitting
from tests.support.overviews import orders, overviews
from tests.web.page.pictured import Going, pictured
from vsched.cli.drawing import short
from vsched.web.deltas import Delta, delta
from vsched.web.overview import JobRow, NamespaceRow, NodeRow, Overview, QueueRow, SessionRow

pytestmark = pytest.mark.asyncio(loop_scope="module")
PICTURES = 150

APPLIED = """async (pairs) => {
  const { Picture } = await import("./page/picture.js");
  const sorted = (entries) => [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  const plain = (picture) => JSON.stringify(sorted(Object.entries({ ...picture, ahead: 0, came: 0 }))
    .map(([name, value]) => [name, name === "counts" ? sorted(Object.entries(value)) : value])
    .map(([name, value]) => [name, value instanceof Map ? sorted(value) : value]));
  return pairs.map(([before, delta, after]) => {
    const picture = new Picture(before);
    picture.apply(delta);
    return [plain(picture), plain(new Picture(after))];
  });
}"""
CONTRASTS = """() => {
  const probe = document.body.appendChild(document.createElement("span"));
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (name) => {
    probe.style.color = `var(${name})`;
    pen.fillStyle = getComputedStyle(probe).color;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const found = {};
  for (const ink of ["--text", "--muted", "--link", "--over", "--good", "--bad"]) {
    for (const paper of ["--panel", "--page"]) found[`${ink} on ${paper}`] = contrast(light(ink), light(paper));
  }
  for (const mark of ["--text", "--over", "--held-colour"]) {
    // Shapes need 3 where text needs 4.5.
    found[`bar: ${mark} on --track`] = contrast(light(mark), light("--track")) * 1.5;
  }
  return found;
}"""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser() -> AsyncIterator[Any]:
    needs_chromium()
    async with chromium() as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def visit(browser: Any) -> AsyncIterator[Sitting]:
    """The page over a small cluster that goes on."""
    async with pictured(Going(60, 40)) as url, sitting(browser, url) as found:
        await found.page.wait_for_selector("body.seen")
        yield found


def followed() -> list[tuple[Overview, Delta, Overview]]:
    """Pictures of all sorts and what leads from one to the next, where that can be told."""
    found: list[tuple[Overview, Delta, Overview]] = []

    @settings(max_examples=PICTURES, deadline=None)
    @given(st.one_of(st.tuples(overviews, overviews), st.tuples(orders(), orders())))
    def draw(pair: tuple[Overview, Overview]) -> None:
        change = delta(*pair)
        if change is not None:
            found.append((pair[0], change, pair[1]))

    draw()
    return found


async def test_a_picture_and_what_changed_come_to_the_next_picture_as_the_daemon_has_it(visit: Sitting) -> None:
    pairs = followed()
    assert len(pairs) > PICTURES / 4
    for applied, expected in await visit.page.evaluate(APPLIED, msgspec.to_builtins(pairs)):
        assert applied == expected


async def test_rows_are_read_field_by_field_as_the_daemon_writes_them(visit: Sitting) -> None:
    shown = await visit.page.evaluate("async () => (await import('./page/picture.js')).FIELDS")
    rows = {"queues": QueueRow, "namespaces": NamespaceRow, "nodes": NodeRow, "jobs": JobRow, "sessions": SessionRow}
    assert {table: names.split() for table, names in shown.items()} == {
        table: list(row.__struct_fields__) for table, row in rows.items()
    }


async def test_amounts_read_as_in_the_terminal(visit: Sitting) -> None:
    asked = [("milli", "cpu", value) for value in (0, 500, 1250, 64_000, 999_900, 9_999_000, 320_000_000)]
    asked += [("bytes", "memory", value) for value in (0, 17, 999, 1 << 20, 1000 << 20, 3 << 29, 281 << 40)]
    spelt = (
        "async (all) => all.map(((amounts) => ([u, , v]) => amounts.amount(v, u))(await import('./page/amounts.js')))"
    )
    assert await visit.page.evaluate(spelt, asked) == [short(name, value) for _, name, value in asked]


SHADES = {0: 0, 1: 1, 50: 5, 99: 9, 100: 10, 140: 10, None: 11}


async def test_unknown_is_not_idle_and_full_is_not_nearly_full(visit: Sitting) -> None:
    shades = "async (all) => { const { shade } = await import('./page/heat.js'); return all.map(shade); }"
    assert await visit.page.evaluate(shades, list(SHADES)) == list(SHADES.values())


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_every_colour_that_says_something_can_be_read(visit: Sitting, theme: str) -> None:
    await visit.page.select_option("#theme", theme)
    found = await visit.page.evaluate(CONTRASTS)
    assert {name: round(contrast, 2) for name, contrast in found.items() if contrast < 4.5} == {}


async def test_thousands_of_rows_are_only_as_many_elements_as_are_in_sight(browser: Any) -> None:
    async with pictured(Going(2000, 3000)) as url, sitting(browser, url) as found:
        grid = found.page.get_by_role("grid", name="Jobs")
        await grid.get_by_role("row").nth(5).wait_for()
        assert int(await grid.get_attribute("aria-rowcount")) > 2000
        assert await grid.get_by_role("row").count() < 60
        await grid.focus()
        await found.page.keyboard.press("End")
        last = await grid.get_attribute("aria-rowcount")
        await found.page.locator(f"#jobs-grid tr[aria-rowindex='{last}'][aria-selected=true]").wait_for()
        assert found.trouble == []


@pytest.mark.parametrize("width", [360, 768, 1100, 2400])
async def test_nothing_is_wider_than_the_window(browser: Any, width: int) -> None:
    size = {"width": width, "height": 800}
    async with pictured(Going(300, 60)) as url, sitting(browser, url, viewport=size) as found:
        await found.page.wait_for_selector("body.seen")
        assert await found.page.evaluate("document.documentElement.scrollWidth") <= width
        # Names of queues and jobs are there to be read at every width.
        for name in ("th.name", "th.job"):
            assert (await found.page.locator(name).bounding_box())["width"] > 80
