"""The page of a real daemon at an embedded cluster, driven as people do: by pointer, by keys, by screen reader."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from tests.support.browser import Sitting, sitting
from tests.support.running import OFTEN_SEEN, PODGROUPS, gang, node, nodes_of, pod, podgroup, scheduling
from tests.support.waiting import until
from vsched.cli.explain.words import AS_THINGS_ARE
from vsched.daemon.app import Daemon
from vsched.sim.cluster import Cluster

expect: Any = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect

pytestmark = pytest.mark.asyncio(loop_scope="session")
RESOURCES = {"Node": "nodes", "Pod": "pods", "PodGroup": PODGROUPS}
PATIENCE = 30_000
"""Milliseconds; two cores may have others to serve."""
expect.set_options(timeout=PATIENCE)
EVIL = "<img src=x onerror=alert(1)>\"'&amp;"
POLICY = Path("config/scheduler.yaml").read_text()


def queue(name: str, parent: str = "", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, **spec, **({"parent": parent} if parent else {})},
    }


class Stage(NamedTuple):
    """A cluster, and the address of its daemon's page."""

    cluster: Cluster
    url: str
    policy: Path

    def add(self, *objects: dict[str, Any]) -> None:
        for found in objects:
            self.cluster.client.create(RESOURCES[found["kind"]], found)


@asynccontextmanager
async def page_of(url: str, **options: Any) -> AsyncIterator[tuple[Daemon, str]]:
    """A daemon at this API server, and where its page is."""
    async with scheduling(url, **{"listen_address": "127.0.0.1:0", "observing": OFTEN_SEEN, **options}) as daemon:
        await until(lambda: daemon.ports and daemon.health.ready().ok)
        yield daemon, f"http://127.0.0.1:{daemon.ports['--listen-address']}/"


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """Three nodes, queues in a tree, one job that runs, and one that is too large for ever."""
    cordoned = node("n3")
    cordoned["spec"] = {"unschedulable": True}
    made = [node("n1"), node("n2"), cordoned]
    small, large = gang("runs", 2), gang("too-large", 2, cpu="64")
    queues = [queue("research", "root", capability={"cpu": "64"}), queue("vision", "research")]
    policy = tmp_path_factory.mktemp("policy") / "scheduler.yaml"
    policy.write_text(POLICY)
    async with (
        Cluster(made, manifests=[*queues, *small, *large]) as cluster,
        page_of(cluster.url, policy_file=policy) as (_, url),
    ):
        await until(lambda: len(nodes_of(cluster, "runs")) == 2)
        yield Stage(cluster, url, policy)


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def seat(browser: Any) -> AsyncIterator[Sitting]:
    async with sitting(browser, "about:blank") as found:
        yield found


@pytest_asyncio.fixture(loop_scope="session")
async def visit(seat: Sitting, stage: Stage) -> AsyncIterator[Sitting]:
    """Somebody who has the page before them; nothing may be wrong in their console afterwards."""
    await seat.begin(stage.url)
    await expect(seat.page.locator("#connection-kind")).to_have_text("live")
    await expect(seat.page.locator(".named").first).to_be_visible()  # rows are drawn in a frame after it
    yield seat
    assert seat.trouble == []
    assert seat.foreign(stage.url) == []


# -- what is seen


async def test_a_reader_finds_landmarks_headings_and_tables_by_their_names(visit: Sitting) -> None:
    page = visit.page
    for landmark in ("main", "banner", "navigation", "contentinfo"):
        await expect(page.get_by_role(landmark)).to_have_count(1)
    for heading in ("Cluster", "Queues", "Jobs", "Nodes", "Shares over time", "Sessions", "Policy"):
        await expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    tree = page.get_by_role("treegrid", name="Queues and the namespaces in them")
    await expect(tree.get_by_role("row", name=re.compile("vision"))).to_have_attribute("aria-level", "3")
    headings = [
        *("queue", "state", "weight", "priority", "of cluster", "of deserved", "cpu", "memory"),
        "jobs",
        "waiting",
    ]
    for column in headings:
        await expect(tree.get_by_role("columnheader", name=column, exact=True)).to_have_count(1)
    await expect(page.get_by_role("list", name="Held of all that nodes have")).to_contain_text("cpu")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the queues")).to_be_focused()


async def test_a_job_that_waits_stands_there_with_its_reason_until_it_starts(visit: Sitting, stage: Stage) -> None:
    page = visit.page
    await page.evaluate("document.querySelector('.named').kept = true; window.kept = true")
    before = await page.locator("#nodes-map canvas").first.evaluate("(canvas) => canvas.toDataURL()")
    stage.add(*gang("coming", 7))
    row = page.get_by_role("grid", name="Jobs").get_by_role("row", name="default/coming")
    await expect(row).to_be_visible()
    await expect(row.locator(".reason")).not_to_have_text("")
    await expect(row.locator(".message")).not_to_have_text("")
    stage.add(node("n4", cpu="8"))
    await expect(row).to_have_count(0)
    await page.get_by_label("Which").select_option("all")
    await expect(row).to_contain_text("Running")
    after = await page.locator("#nodes-map canvas").first.evaluate("(canvas) => canvas.toDataURL()")
    assert after != before
    await expect(page.locator("#count-nodes")).to_have_text("4")
    # The same elements, brought up to date.
    assert await page.evaluate("window.kept && document.querySelector('.named').kept")


async def test_names_that_others_chose_are_words_and_nothing_else(visit: Sitting, stage: Stage) -> None:
    stage.add(podgroup("evil", 1, queue=EVIL), pod("evil-0", "evil"))
    row = visit.page.get_by_role("row", name="default/evil")
    await expect(row.locator(".queue")).to_have_text(EVIL)
    await row.click()
    await expect(visit.page.locator("#panel-known")).to_contain_text(EVIL)
    assert await visit.page.locator("img").count() == 0
    stage.cluster.client.delete(PODGROUPS, "default", "evil")
    await expect(row).to_have_count(0)


# -- what is done


async def test_keys_go_through_jobs_and_open_what_the_daemon_says_of_one(visit: Sitting) -> None:
    page = visit.page
    grid = page.get_by_role("grid", name="Jobs")
    await expect(grid.get_by_role("row", name=re.compile("too-large"))).to_be_visible()
    await page.get_by_label("Find").fill("too-large")
    await expect(page.locator("#jobs-told")).to_contain_text("1 job shown")
    await grid.focus()
    await expect(grid.get_by_role("row", selected=True)).to_contain_text("default/too-large")
    await page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="default/too-large")
    await expect(panel.get_by_role("heading", name="default/too-large")).to_be_focused()
    await expect(panel.locator(".headline")).to_contain_text("cpu")
    await expect(panel.locator(".headline strong")).to_have_text("Resources")
    await expect(panel.get_by_role("heading", name=re.compile("^Nodes by (group and )?reason"))).to_be_visible()
    await expect(panel.locator(".badge").first).to_have_text(AS_THINGS_ARE)
    assert "open=job%3Adefault%2Ftoo-large" in page.url
    await page.keyboard.press("Escape")
    await expect(panel).to_have_count(0)
    await expect(grid).to_be_focused()


async def test_chips_and_addresses_choose_among_jobs(visit: Sitting, stage: Stage) -> None:
    page = visit.page
    chips = page.get_by_role("group", name="Reasons").get_by_role("button")
    await expect(chips.nth(1)).to_be_visible()
    chip = page.locator("#jobs-reasons [data-reason]:not([data-reason=''])").first
    reason = await chip.get_attribute("data-reason")
    await chip.click()
    await expect(chip).to_have_attribute("aria-pressed", "true")
    assert f"reason={reason}" in page.url
    await page.goto(f"{stage.url}#jobs?text=nobody")
    await expect(page.get_by_text("No job matches these filters.")).to_be_visible()
    rows = page.get_by_role("grid", name="Jobs").get_by_role("row", name=re.compile("default/"))
    await page.goto(f"{stage.url}#jobs?which=all&queue=vision")
    await expect(rows).to_have_count(0)
    await page.goto(f"{stage.url}#jobs?queue=root")  # with the jobs of all queues below it, as its row counts them
    await expect(page.get_by_role("grid", name="Jobs").get_by_role("row", name=re.compile("too-large"))).to_be_visible()
    await page.goto(f"{stage.url}#jobs?which=all&sort=-age")
    header = page.get_by_role("grid", name="Jobs").get_by_role("columnheader", name="age", exact=True)
    await expect(header).to_have_attribute("aria-sort", "descending")
    await header.get_by_role("button").click()
    await expect(header).to_have_attribute("aria-sort", "ascending")


async def test_what_is_chosen_stays_on_the_way_to_a_section_and_the_way_back_closes_the_panel(visit: Sitting) -> None:
    page = visit.page
    await page.get_by_label("Which").select_option("all")
    await page.get_by_label("Find").fill("runs")
    row = page.get_by_role("grid", name="Jobs").get_by_role("row", name="default/runs")
    await row.click()
    panel = page.get_by_role("complementary", name="default/runs")
    await expect(panel).to_be_visible()
    await page.go_back()
    await expect(panel).to_have_count(0)
    await page.go_forward()
    await expect(panel).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(panel).to_have_count(0)
    await page.get_by_role("link", name="Nodes", exact=True).click()
    await expect(page).to_have_url(re.compile("#nodes.*text=runs"))
    await expect(page.locator("#jobs-told")).to_contain_text("1 job shown")
    await page.go_back()
    await expect(page).to_have_url(re.compile("#jobs.*text=runs"))


async def test_the_tree_closes_and_opens_and_a_queue_opens_the_panel(visit: Sitting) -> None:
    page = visit.page
    tree = page.get_by_role("treegrid")
    research = tree.get_by_role("row", name=re.compile(r"\bresearch\b"))
    await research.locator(".named").click()
    panel = page.get_by_role("complementary", name="research")
    await expect(panel.get_by_role("row", name=re.compile("^cpu"))).to_contain_text("64")
    await expect(panel.locator(".headline")).not_to_have_text("")
    await panel.get_by_role("button", name="Close").click()
    await expect(tree).to_be_focused()
    await page.keyboard.press("ArrowLeft")
    await expect(research).to_have_attribute("aria-expanded", "false")
    await expect(tree.get_by_role("row", name=re.compile("vision"))).to_have_count(0)
    await page.keyboard.press("ArrowRight")
    await expect(tree.get_by_role("row", name=re.compile("vision"))).to_have_count(1)


async def test_a_root_is_measured_by_the_cluster_and_nobody_is_over_who_holds_their_part(visit: Sitting) -> None:
    tree = visit.page.get_by_role("treegrid")
    root = tree.get_by_role("row", name=re.compile("root"))
    await expect(root.locator(".share")).to_have_text("-")
    held = await root.locator(".bar").first.evaluate("(bar) => parseFloat(bar.style.getPropertyValue('--held'))")
    assert 0 < held < 100
    await expect(tree.locator(".share.over")).to_have_count(0)
    await expect(visit.page.locator("#queues-told")).not_to_contain_text("over what they deserve")


async def test_a_cursor_goes_over_the_nodes_and_tells_each(visit: Sitting) -> None:
    page = visit.page
    await page.locator("#nodes-map").focus()
    said = page.locator("#nodes-said")
    await expect(said).to_contain_text("n1")
    await expect(said).to_contain_text("cpu usage unknown")
    await page.keyboard.press("ArrowRight")
    await expect(said).to_contain_text("n2")
    await page.keyboard.press("ArrowRight")
    await expect(said).to_contain_text("cordoned")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("complementary", name="n3")).to_be_visible()
    await page.get_by_role("button", name="Close").click()
    await page.locator("#nodes-map canvas").first.hover(position={"x": 4, "y": 4})
    await expect(page.locator("#nodes-tip")).to_contain_text("n1")
    await page.locator("#nodes").get_by_role("button", name="As a table").click()
    table = page.get_by_role("grid", name="Nodes")
    await expect(table.get_by_role("row", name=re.compile("^n3"))).to_contain_text("cordoned")


async def test_sessions_stand_on_a_time_line_and_in_a_table(visit: Sitting) -> None:
    page = visit.page
    await expect(page.locator("#sessions-told")).to_contain_text("bound")
    await page.locator("#sessions-line").focus()
    await expect(page.locator("#sessions-said")).to_contain_text(re.compile(r"session \d+ at .*bound.*allocate"))
    await page.locator("#sessions").get_by_role("button", name="As a table").click()
    await expect(page.get_by_role("grid", name="Sessions").get_by_role("row")).not_to_have_count(0)


async def test_shares_of_queues_stand_on_charts_that_keys_go_through_and_in_a_table(visit: Sitting) -> None:
    page = visit.page
    section = page.locator("#shares")
    await expect(page.locator("#shares-told")).to_contain_text("10 seconds a point")
    captions = section.locator("figcaption")
    await expect(captions.first).to_contain_text(re.compile("the whole cluster held [1-9][0-9]*%"))
    await expect(captions.filter(has_text="default")).to_contain_text(re.compile("held .*deserved .*waiting"))
    held = section.locator("figure").first.locator("path.held")
    await expect(held).to_have_attribute("d", re.compile("^M0.0 100V.*Z$"))
    kinds = "[...document.querySelector('#shares svg').children].map((path) => path.getAttribute('class'))"
    assert await page.evaluate(kinds) == ["held", "hourly", "waiting", "deserved", "cursor"], (
        "what is filled covers no line"
    )
    await page.locator("#shares-charts").focus()
    await page.keyboard.press("Home")
    await expect(page.locator("#shares-said")).to_contain_text(re.compile(r"\d+:\d+:\d+: the whole cluster held \d+%"))
    await expect(section.locator("figure").first.locator("path.cursor")).to_have_attribute("d", re.compile("^M"))
    await page.keyboard.press("Escape")
    await expect(section.locator("figure").first.locator("path.cursor")).to_have_attribute("d", "")
    await section.get_by_role("button", name="As a table").click()
    table = page.get_by_role("grid", name="Shares of queues over time")
    await expect(table.get_by_role("row", name=re.compile("the whole cluster"))).to_contain_text("%")
    await expect(table.get_by_role("row", name=re.compile("vision"))).to_have_count(1)


async def test_the_shares_of_one_queue_over_a_week(visit: Sitting) -> None:
    page = visit.page
    section = page.locator("#shares")
    await page.locator("#shares-queue").select_option("research")
    await expect(section.locator("figcaption")).to_have_count(1)
    await expect(section.locator("figcaption")).to_contain_text("research held")
    await page.locator("#shares-span").select_option("week")
    await expect(page.locator("#shares-told")).to_contain_text("10 minutes a point")
    await expect(page.locator("#shares-scale")).to_contain_text("of the cluster high; higher values are cut off")
    colours = (
        "['held', 'deserved', 'waiting'].map((kind) => getComputedStyle(document.querySelector(`#shares .${kind}`)))"
    )
    painted = f"{colours}.map((found) => [found.fill, found.stroke].join())"
    light = await page.evaluate(painted)
    await page.get_by_label("Theme").select_option("dark")
    dark = await page.evaluate(painted)
    assert len({*light, *dark}) == 6
    await page.get_by_label("Theme").select_option("")


async def test_a_theme_is_kept(visit: Sitting) -> None:
    page = visit.page
    paper = "getComputedStyle(document.body).backgroundColor"
    light = await page.evaluate(paper)
    await page.get_by_label("Theme").select_option("dark")
    dark = await page.evaluate(paper)
    assert dark != light
    await page.reload()
    assert await page.evaluate(paper) == dark


async def test_a_tab_that_nobody_looks_at_lets_go(visit: Sitting) -> None:
    page = visit.page
    hide = "(hidden) => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
    hide += " document.dispatchEvent(new Event('visibilitychange')); }"
    # The seconds that are waited for in case somebody comes back pass at once.
    hasty = "((wait) => (setTimeout = (f, ms, ...more) => wait(f, ms === 5000 ? 5 : ms, ...more)))(setTimeout) && null"
    await page.evaluate(hasty)
    await page.evaluate(hide, True)
    await expect(page.locator("#connection")).to_have_attribute("data-kind", "paused")
    await page.evaluate(hide, False)
    await expect(page.locator("#connection")).to_have_attribute("data-kind", "live")


async def test_a_policy_that_was_refused_is_told_in_full(visit: Sitting, stage: Stage) -> None:
    policy = visit.page.get_by_role("region", name="Policy")
    await expect(policy).to_contain_text("in force")
    await expect(policy.locator("#policy-actions li")).not_to_have_count(0)
    await expect(policy.locator("#policy-tiers > li")).not_to_have_count(0)
    stage.policy.write_text(POLICY.replace("name: gang", "name: gnag"))
    await expect(policy.locator("#policy-result")).to_have_text("last edit refused")
    await expect(policy).to_contain_text("gnag")
    stage.policy.write_text(POLICY)
    await expect(policy.locator("#policy-result")).to_have_text("in force")
