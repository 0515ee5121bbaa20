"""The page's own arithmetic in a real browser: pictures, amounts, colours that can be read."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.support.browser import Sitting, sitting
from tests.support.examples import examples
from tests.support.overviews import orders, overviews
from tests.web.page.fleets import fleet
from tests.web.page.pictured import Going, pictured
from vsched.cli.show.drawing import short
from vsched.web.overview.deltas import OverviewDelta, delta
from vsched.web.overview.document import JobRow, NamespaceRow, NodeRow, Overview, QueueRow, SessionRow

expect: Any = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect
expect.set_options(timeout=30_000)
pytestmark = pytest.mark.asyncio(loop_scope="session")
PICTURES = examples(60)

APPLIED = """async (text) => {
  const { Picture } = await import("./page/picture.js");
  const sorted = (entries) => [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  const plain = (picture) => JSON.stringify(sorted(Object.entries({ ...picture, ahead: 0, came: 0 }))
    .map(([name, value]) => [name, name === "counts" ? sorted(Object.entries(value)) : value])
    .map(([name, value]) => [name, value instanceof Map ? sorted(value) : value]));
  return JSON.parse(text).map(([before, delta, after]) => {
    const picture = new Picture(before);
    picture.apply(delta);
    return [plain(picture), plain(new Picture(after))];
  }).filter(([applied, expected]) => applied !== expected);
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


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def visit(browser: Any) -> AsyncIterator[Sitting]:
    """The page over a small cluster that goes on."""
    async with pictured(Going(60, 40)) as url, sitting(browser, url) as found:
        await found.page.wait_for_selector("body.seen")
        yield found


def followed() -> list[tuple[Overview, OverviewDelta, Overview]]:
    """Pictures of all sorts and what leads from one to the next, where that can be told."""
    found: list[tuple[Overview, OverviewDelta, Overview]] = []

    @settings(max_examples=PICTURES)
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
    assert await visit.page.evaluate(APPLIED, msgspec.json.encode(pairs).decode()) == []


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


GONE = """async () => {
  const { Grid } = await import("./page/grid.js");
  const host = document.body.appendChild(document.createElement("div"));
  const grid = new Grid(host, { label: "letters", name: "letter", empty: "" });
  grid.head([{ name: "letter", put: (cell, row) => (cell.textContent = row.key) }]);
  const show = (letters) => grid.show([...letters].map((key) => ({ key })));
  const press = (...keys) => keys.map((key) => {
    grid.table.dispatchEvent(new KeyboardEvent("keydown", { key }));
    return grid.active;
  });
  show("abcde");
  const found = press("ArrowDown", "ArrowDown", "ArrowDown");
  show("abde");
  found.push(...press("ArrowDown"));
  show("abe");
  found.push(...press("ArrowUp"));
  host.remove();
  return found.join("");
}"""


async def test_keys_go_on_from_the_place_of_a_row_that_has_gone(visit: Sitting) -> None:
    assert await visit.page.evaluate(GONE) == "abcdb"


LATER = """async (whole) => {
  const { Picture } = await import("./page/picture.js");
  const { Summary } = await import("./page/summary.js");
  const picture = new Picture(whole);
  const changes = (since, at) => picture.apply({ since: whole.number + since, number: whole.number + since + 1, at });
  const real = Date.now;
  Date.now = () => real.call(Date) + 500_000;
  changes(0, whole.at + 1);
  const late = Math.round(picture.now() - whole.at);
  changes(1, whole.at - 3600);
  const set = Math.round(picture.now() - whole.at);
  Date.now = real;
  picture.ahead = whole.at + 600 - Date.now() / 1000;
  new Summary().show(picture);
  return [late, set, document.getElementById("count-rate").textContent];
}"""


async def test_time_goes_on_while_nothing_happens_and_where_it_is_told_late_until_it_is_set(visit: Sitting) -> None:
    late, clock_set_back, rate = await visit.page.evaluate(LATER, msgspec.to_builtins(fleet(3, 3)))
    assert (late, clock_set_back) == (500, -3600)
    assert rate == "0.0"


PASSED = """(seconds) => {
  const [wall, steady] = [Date.now.bind(Date), performance.now.bind(performance)];
  Date.now = () => wall() + seconds * 1000;
  performance.now = () => steady() + seconds * 1000;
}"""


async def test_what_comes_late_is_not_called_live_and_a_clock_that_is_set_is_not_late(visit: Sitting) -> None:
    told = visit.page.locator("#connection-kind")
    await visit.page.reload()
    await expect(told).to_have_text("live")
    await visit.page.evaluate(PASSED, 10)
    await expect(told).to_have_text("late")
    await expect(visit.page.locator("#connection-told")).to_contain_text(re.compile(r"arrives \d+s late"))
    await visit.page.evaluate("((wall) => (Date.now = () => wall() + 3_600_000))(Date.now) && null")
    await expect(told).to_have_text("live")
    await expect(visit.page.locator("#count-rate")).to_have_text("1.0")


UNREAD = """async (path) => {
  const { Feed } = await import("./page/feed.js");
  const broken = () => { throw new Error("no such row in the table"); };
  return new Promise((done) => {
    const feed = new Feed(path, broken, ({ kind, text }) => kind === "lost" && (feed.stop(), done([text, feed.last])));
    feed.start();
  });
}"""


async def test_what_cannot_be_read_is_said_and_begun_anew(visit: Sitting) -> None:
    assert await visit.page.evaluate(UNREAD, "events") == ["the data could not be read: no such row in the table", ""]
    assert await visit.page.evaluate(UNREAD, "page/icon.svg") == ["the answer does not come from vsched", ""]


async def test_what_could_not_be_asked_is_asked_once_more(visit: Sitting) -> None:
    answers = [(503, '{"error": "no session yet"}'), (200, '{"message": "it waits", "state": "waits"}')]

    async def answer(route: Any) -> None:
        status, body = answers.pop(0) if len(answers) > 1 else answers[0]
        await route.fulfill(status=status, body=body, content_type="application/json")

    page, headline = visit.page, visit.page.locator("#panel-explained .headline")
    await page.route("**/explain/**", answer)
    await page.goto(page.url.partition("#")[0] + "#?open=job:serving/gone")
    await expect(headline).to_have_text("no session yet")
    await page.evaluate(PASSED, 5)  # so long it is left in peace
    await expect(headline).to_contain_text("it waits")
    await page.get_by_role("button", name="Close").click()
    await page.unroute("**/explain/**")


async def test_a_word_that_ends_in_a_slash_is_a_whole_namespace(visit: Sitting) -> None:
    told = visit.page.locator("#jobs-told")
    await visit.page.goto(visit.page.url.partition("#")[0] + "#jobs?which=all&text=raining/")
    await expect(told).to_have_text(re.compile("^0 jobs"))
    await visit.page.goto(visit.page.url.partition("#")[0] + "#jobs?which=all&text=training/")
    await expect(told).to_have_text(re.compile("^[1-9]"))


COLOURS = """() => {
  const canvas = document.querySelector("#nodes-map canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}"""


async def test_the_map_tells_nodes_apart_where_colours_are_forced(visit: Sitting) -> None:
    await visit.page.emulate_media(forced_colors="active")
    try:
        await visit.page.reload()
        await visit.page.locator("#nodes-map canvas").first.wait_for()
        await visit.page.wait_for_function(f"({COLOURS})() > 4")
    finally:
        await visit.page.emulate_media(forced_colors="none")


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_every_colour_that_says_something_can_be_read(visit: Sitting, theme: str) -> None:
    await visit.page.select_option("#theme", theme)
    found = await visit.page.evaluate(CONTRASTS)
    assert {name: round(contrast, 2) for name, contrast in found.items() if contrast < 4.5} == {}


async def test_thousands_of_rows_are_only_as_many_elements_as_are_in_sight(browser: Any) -> None:
    going = Going(100, 3000)
    going.show(fleet(100, 3000, queues=100))
    going.still = True  # the last row is to be the last one for as long as it takes to look for it
    async with pictured(going) as url, sitting(browser, url) as found:
        # All queues are below one root, which is open however many there are.
        tree = found.page.get_by_role("treegrid")
        await tree.get_by_role("row").nth(5).wait_for()
        assert int(await tree.get_attribute("aria-rowcount")) > 5
        grid = found.page.get_by_role("grid", name="Jobs")
        await grid.get_by_role("row").nth(5).wait_for()
        assert int(await grid.get_attribute("aria-rowcount")) > 2000
        assert await grid.get_by_role("row").count() < 60
        await grid.focus()
        await found.page.keyboard.press("End")
        last = await grid.get_attribute("aria-rowcount")
        await found.page.locator(f"#jobs-grid tr[aria-rowindex='{last}'][aria-selected=true]").wait_for()
        assert found.trouble == []


TALLEST = """() => Math.max(0, ...[...document.querySelectorAll("tbody tr:not(.space)")].map((row) => {
  const host = getComputedStyle(row.closest(".scroll-y"));
  return row.getBoundingClientRect().height - parseFloat(host.getPropertyValue("--row"));
}))"""


def long_names(before: Overview) -> Overview:
    """The same with names as long as they may be, and in letters that are wide or run the other way."""
    long, wide = "a-very-long-name-" * 14, "\N{OWL}\N{ARABIC LETTER SHEEN}" * 40
    queue, job, place = before.queues["team-1"], next(iter(before.jobs.values())), next(iter(before.nodes.values()))
    queues = [replace(queue, name=name, parent="root", problem="p " * 80) for name in (long, wide)]
    jobs = [replace(job, key=f"{name[:63]}/{name}", queue=long, position=1, message="m " * 99) for name in (long, wide)]
    kinds = [replace(before.resources[2], name=f"{vendor}.example.com/{'r' * 63}") for vendor in "ab"]
    return replace(
        before,
        resources=(*before.resources[:2], *kinds, *before.resources[4:]),
        queues=before.queues | {row.name: row for row in queues},
        jobs=before.jobs | {row.key: row for row in jobs},
        nodes=before.nodes | {long: replace(place, name=long, group="g" * 63)},
    )


async def test_nothing_is_wider_than_the_window_whatever_names_there_are(browser: Any) -> None:
    going = Going(300, 60)
    going.show(long_names(going.now))
    async with pictured(going) as url, sitting(browser, url, viewport={"width": 360, "height": 800}) as found:
        page = found.page
        await page.locator("#jobs-grid .whole").first.wait_for()
        for width in (360, 768, 1100, 2400):
            await page.set_viewport_size({"width": width, "height": 800})
            await page.wait_for_function(f"innerWidth === {width}")
            assert await page.evaluate("document.documentElement.scrollWidth") <= width
            # Rows that are taller than is reckoned with would not be found where they are looked for.
            assert await page.evaluate(TALLEST) <= 0
            # Names of queues and jobs are there to be read at every width.
            for name in ("th.name", "th.job"):
                assert (await page.locator(name).bounding_box())["width"] > 80
        heads = await page.get_by_role("treegrid").get_by_role("columnheader").all_text_contents()
        assert len(set(heads)) == len(heads)  # two kinds of one name are told apart
        await page.locator("#nodes-as-table").click()
        await page.locator("#nodes-grid").get_by_role("button", name="pods", exact=True).click()
        await expect(page.locator("#nodes-grid [aria-sort]")).to_have_count(1)
        assert found.trouble == []
