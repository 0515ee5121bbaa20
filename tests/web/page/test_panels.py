"""Panels and lists that say who is where, and who had to leave for whom, in a real browser."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.browser import Sitting, sitting
from tests.support.running import OFTEN_SEEN, gang, node, nodes_of, podgroup, scheduling
from tests.support.waiting import until
from vsched.framework.claims.volumes import words as volumes_words
from vsched.sim.cluster import Cluster
from vsched.web.words import evictions as words

expect = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect
expect.set_options(timeout=30_000)
pytestmark = pytest.mark.asyncio(loop_scope="session")
PODGROUPS = "scheduling.volcano.sh/podgroups"
EVIL = "<img src=x onerror=alert(1)>"
MANY = 130
"""Pods of one job: more than are listed."""
URGENT = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "urgent"},
    "value": 1000,
}


def urgent(name: str, size: int) -> list[dict[str, Any]]:
    made = gang(name, size, cpu="2")
    made[0]["spec"]["priorityClassName"] = "urgent"
    for found in made[1:]:
        found["spec"]["priorityClassName"] = "urgent"
    return made


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def visit(browser: Any) -> AsyncIterator[Sitting]:
    """A full node that a more urgent job took some of, and a large one that holds many pods of one job."""
    many = gang("many", MANY, cpu="10m")
    for found in many[1:]:
        found["spec"]["nodeSelector"] = {"large": "yes"}
    large = node("large", cpu="1900m")
    large["metadata"]["labels"] = {"large": "yes"}
    for kind in ("allocatable", "capacity"):
        large["status"][kind]["pods"] = "500"
    stuck = gang("stuck", 1, cpu="10m")
    stuck[1]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "gone"}}]
    made = [podgroup("low", 1), *gang("low", 4)[1:], *many, *stuck]
    async with Cluster([node("n1")], manifests=[URGENT, *made]) as cluster:
        options = {"policy_file": Path("config/policies/taking-back.yaml"), "listen_address": "127.0.0.1:0"}
        async with scheduling(cluster.url, observing=OFTEN_SEEN, **options) as daemon:
            await until(lambda: len(nodes_of(cluster, "low")) == 4)
            cluster.client.create("nodes", large)
            for found in urgent("high", 1):
                cluster.client.create("pods" if found["kind"] == "Pod" else PODGROUPS, found)
            await until(lambda: len(nodes_of(cluster, "high")) == 1 and len(nodes_of(cluster, "many")) == MANY)
            url = f"http://127.0.0.1:{daemon.ports['--listen-address']}/"
            async with sitting(browser, url) as found:
                await expect(found.page.locator("#connection-kind")).to_have_text("live")
                yield found
                assert found.trouble == []


async def test_the_panel_of_a_waiting_job_shows_its_claims(visit: Sitting) -> None:
    page = visit.page
    await page.evaluate("location.hash = '#jobs?which=all&open=job:default/stuck'")
    await expect(page.get_by_role("heading", name="Claims")).to_be_visible()
    [told] = await page.locator("ul.claims li").all_text_contents()
    assert told == volumes_words.not_found(["gone"])
    await expect(page.locator("ul.claims li.unusable strong")).to_have_text("gone")


async def test_panels_of_jobs_and_nodes_list_pods_and_lead_to_each_other(visit: Sitting) -> None:
    page = visit.page
    await page.evaluate("location.hash = '#jobs?which=all&open=job:default/high'")
    pods = page.get_by_role("region", name="Pods")
    await expect(pods.get_by_role("row", name=re.compile("high-0"))).to_contain_text("Running")
    await expect(pods.get_by_role("row", name=re.compile("high-0"))).to_contain_text("2 cpu")
    await pods.get_by_role("link", name="n1").click()
    await expect(page.get_by_role("complementary", name="n1")).to_be_visible()
    await expect(pods.get_by_role("row", name=re.compile("default.high-0"))).to_contain_text("Running")
    await pods.get_by_role("link", name="default/low").first.click()
    await expect(page.get_by_role("complementary", name="default/low")).to_be_visible()
    await expect(pods.get_by_role("row", name=re.compile("^low-"))).not_to_have_count(0)
    await page.locator("#panel-known").get_by_role("link", name="default").click()
    await expect(page.locator("#panel-kind")).to_have_text("Queue")
    await expect(pods).to_have_count(0)
    assert "which=all" in page.url  # what was chosen elsewhere stays


async def test_evictions_say_who_and_for_whom_and_why_where_they_matter(visit: Sitting) -> None:
    page = visit.page
    why = words.by_priority("default", 1000, 0)
    evictions = page.locator("#evictions").get_by_role("region", name="Evictions").get_by_role("row")
    await expect(evictions.nth(1)).to_contain_text(re.compile(r"default/low-\d of default/low"))
    for said in ("n1", "default/high", why, "evicted"):
        await expect(evictions.nth(1)).to_contain_text(said)
    for opened in ("job:default/low", "job:default/high", "node:n1"):
        await page.evaluate(f"location.hash = '#jobs?open={opened}'")
        await expect(page.locator("#panel-pods").get_by_role("region", name="Evictions")).to_contain_text(why)
    await page.evaluate("location.hash = '#jobs?open=node:large'")
    await expect(page.locator("#panel-pods h3")).to_have_count(1)


async def test_of_many_pods_the_first_are_drawn_and_all_are_counted(visit: Sitting) -> None:
    page = visit.page
    for opened in ("node:large", "job:default/many"):
        await page.evaluate(f"location.hash = '#jobs?open={opened}'")
        await expect(page.locator("#panel-pods h3")).to_contain_text(f"{MANY} pods")
        await expect(page.locator("#panel-pods h3")).to_contain_text("the first 100 of them")
        await expect(page.locator("#panel-pods tbody tr")).to_have_count(100)


async def test_what_others_say_of_pods_is_words_and_nothing_else(visit: Sitting) -> None:
    page = visit.page
    row = {"at": 0, "uid": "u", "pod": EVIL, "job": EVIL, "node": EVIL, "action": EVIL, "beneficiary": EVIL}
    evictions = [{**row, "why": EVIL, "result": EVIL, "message": EVIL}]
    pod = {"namespace": EVIL, "name": EVIL, "job": EVIL, "state": EVIL, "node": EVIL, "nominated": "", "requests": {}}
    found = {"total": 1, "states": {EVIL: 1}, "pods": [{**pod, "message": EVIL}], "evictions": evictions}
    await page.route("**/pods?*", lambda route: route.fulfill(json={**found, "evictions_total": 1}))
    await page.evaluate("location.hash = '#jobs?open=node:n1'")
    await expect(page.locator("#panel-pods")).to_contain_text(EVIL)
    assert await page.locator("img").count() == 0
    await page.unroute("**/pods?*")
