"""The page of a real daemon at an embedded cluster, driven as people do: by pointer, by keys, by screen reader."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from tests.daemon.running import PODGROUPS, gang, node, nodes_of, pod, podgroup, scheduling, until
from tests.support.browser import Sitting, chromium, needs_chromium, sitting
from tests.support.demoing import demo_page
from vsched.daemon.access_options import AccessOptions
from vsched.daemon.app import Daemon
from vsched.sim.cluster import Cluster

expect: Any = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect

pytestmark = pytest.mark.asyncio(loop_scope="module")
RESOURCES = {"Node": "nodes", "Pod": "pods", "PodGroup": PODGROUPS}
PATIENCE = 30_000
"""Milliseconds; two cores may have others to serve."""
expect.set_options(timeout=PATIENCE)
EVIL = "<img src=x onerror=alert(1)>\"'&amp;"
POLICY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
"""


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

    def add(self, *objects: dict[str, Any]) -> None:
        for found in objects:
            self.cluster.client.create(RESOURCES[found["kind"]], found)


@asynccontextmanager
async def page_of(url: str, **options: Any) -> AsyncIterator[tuple[Daemon, str]]:
    """A daemon at this API server, and where its page is."""
    async with scheduling(url, **{"listen_address": "127.0.0.1:0", **options}) as daemon:
        await until(lambda: daemon.ports and daemon.health.ready().ok, 30.0)
        yield daemon, f"http://127.0.0.1:{daemon.ports['--listen-address']}/"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser() -> AsyncIterator[Any]:
    needs_chromium()
    async with chromium() as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stage() -> AsyncIterator[Stage]:
    """Three nodes, queues in a tree, one job that runs, and one that is too large for ever."""
    cordoned = node("n3")
    cordoned["spec"] = {"unschedulable": True}
    made = [node("n1"), node("n2"), cordoned]
    small, large = gang("runs", 2), gang("too-large", 2, cpu="64")
    queues = [queue("research", "root", capability={"cpu": "64"}), queue("vision", "research")]
    async with (
        Cluster(made, manifests=[*queues, *small, *large]) as cluster,
        page_of(cluster.url) as (_, url),
    ):
        await until(lambda: len(nodes_of(cluster, "runs")) == 2, 30.0)
        yield Stage(cluster, url)


@pytest_asyncio.fixture(loop_scope="module")
async def visit(browser: Any, stage: Stage) -> AsyncIterator[Sitting]:
    """Somebody who has the page before them; nothing may be wrong in their console afterwards."""
    async with sitting(browser, stage.url) as found:
        await expect(found.page.locator("#connection-kind")).to_have_text("live")
        await expect(found.page.locator(".named").first).to_be_visible()  # rows are drawn in a frame after it
        yield found
        assert found.trouble == []
        assert found.foreign(stage.url) == []


# -- what is seen


async def test_a_reader_finds_landmarks_headings_and_tables_by_their_names(visit: Sitting) -> None:
    page = visit.page
    for landmark in ("main", "banner", "navigation", "contentinfo"):
        await expect(page.get_by_role(landmark)).to_have_count(1)
    for heading in ("Cluster", "Queues", "Nodes", "Jobs", "Sessions", "Policy"):
        await expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    tree = page.get_by_role("treegrid", name="Queues and the namespaces in them")
    await expect(tree.get_by_role("row", name=re.compile("vision"))).to_have_attribute("aria-level", "3")
    headings = [*("queue", "state", "weight", "priority", "share", "cpu", "memory"), "jobs", "waiting"]
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


async def test_the_policy_in_force_and_its_tiers_are_told(visit: Sitting) -> None:
    policy = visit.page.get_by_role("region", name="Policy")
    await expect(policy).to_contain_text("in force")
    await expect(policy.locator("#policy-actions li")).not_to_have_count(0)
    await expect(policy.locator("#policy-tiers > li")).not_to_have_count(0)


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
    await expect(panel.locator(".badge").first).to_have_text("cannot start as things are")
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
    await page.evaluate(hide, True)
    await expect(page.locator("#connection")).to_have_attribute("data-kind", "paused")
    await page.evaluate(hide, False)
    await expect(page.locator("#connection")).to_have_attribute("data-kind", "live")


# -- who may, and what when it breaks


async def test_who_must_show_a_token_is_asked_and_it_stays_in_the_tab(browser: Any, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("the-right-one-of-all,alice,1\n")
    tokens.chmod(0o600)
    access = AccessOptions(authentication="token-file", token_file=tokens)
    async with (
        Cluster([node("n1")]) as cluster,
        page_of(cluster.url, access=access) as (_, url),
        sitting(browser, url) as found,
    ):
        page = found.page
        await expect(page.locator("#token-why")).to_contain_text("bearer token")
        for token, kind in (("a-wrong-one-of-all", "refused"), ("the-right-one-of-all", "live")):
            await page.get_by_label("Bearer token").fill(token)
            await page.keyboard.press("Enter")
            await expect(page.locator("#connection")).to_have_attribute("data-kind", kind)
        await expect(page.locator("#token-form")).to_be_hidden()
        await expect(page.locator("#count-nodes")).to_have_text("1")
        assert await page.evaluate("JSON.stringify(localStorage)") == "{}"
        await page.reload()
        await expect(page.locator("#connection")).to_have_attribute("data-kind", "live")
        await page.get_by_role("button", name="Forget token").click()
        await expect(page.get_by_label("Bearer token")).to_be_focused()
        # The browser itself tells of each answer that is a refusal; nothing else may be wrong.
        assert [said for said in found.trouble if "401" not in said] == []


async def test_a_daemon_that_goes_and_comes_is_followed_without_a_reload(browser: Any) -> None:
    async with Cluster([node("n1")]) as cluster, AsyncExitStack() as stack:
        async with page_of(cluster.url) as (daemon, url):
            port = daemon.ports["--listen-address"]
            found = await stack.enter_async_context(sitting(browser, url))
            await expect(found.page.locator("#connection")).to_have_attribute("data-kind", "live")
            await found.page.evaluate("window.kept = true")
        await expect(found.page.locator("#connection")).to_have_attribute("data-kind", "lost")
        await expect(found.page.locator("#connection-told")).to_contain_text("old; again in")
        cluster.client.create("nodes", node("n2"))
        async with page_of(cluster.url, listen_address=f"127.0.0.1:{port}"):
            await found.page.get_by_role("button", name="Try now").click()
            await expect(found.page.locator("#connection")).to_have_attribute("data-kind", "live")
            await expect(found.page.locator("#count-nodes")).to_have_text("2")
            assert await found.page.evaluate("window.kept")
            await stack.aclose()


async def test_a_policy_that_was_refused_is_told_in_full(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(POLICY)
    async with (
        Cluster([node("n1")]) as cluster,
        page_of(cluster.url, policy_file=file) as (_, url),
        sitting(browser, url) as found,
    ):
        result = found.page.locator("#policy-result")
        await expect(result).to_have_text("in force")
        await asyncio.sleep(0.3)  # the watch of the directory has no word for being in place
        file.write_text(POLICY.replace("name: gang", "name: gnag"))
        await expect(result).to_have_text("last edit refused")
        await expect(found.page.get_by_role("region", name="Policy")).to_contain_text("gnag")
        assert found.trouble == []


async def test_the_demo_has_the_page(browser: Any) -> None:
    async with demo_page("--nodes", "12") as url, sitting(browser, url) as found:
        await expect(found.page.locator("#connection")).to_have_attribute("data-kind", "live")
        await expect(found.page.locator("#count-nodes")).to_have_text("12")
        await expect(found.page.locator("#count-bound")).not_to_have_text("0")
        assert found.trouble == []
        assert found.foreign(url) == []
