"""The panel of a job that asks for closeness: the tree of domains with the room in each, in a real browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.browser import Sitting, sitting
from tests.support.hypernodes import hypernode_object
from tests.support.running import OFTEN_SEEN, gang, node, nodes_of, scheduling
from tests.support.waiting import until
from vsched.cli.show import words
from vsched.explain.places import LISTED_MAX
from vsched.sim.cluster import Cluster

expect = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect
expect.set_options(timeout=30_000)
pytestmark = pytest.mark.asyncio(loop_scope="session")
RACKS = 9
"""More than are shown."""
MACHINES = [node(f"n{number}-{side}", cpu="4") for number in range(RACKS) for side in "ab"]
TREE = [
    *(hypernode_object(f"r{number}", 1, f"n{number}-a", f"n{number}-b", tier_name="rack") for number in range(RACKS)),
    hypernode_object("spine", 2, *(f"^r{number}" for number in range(RACKS))),
]
EVIL = "<img src=x onerror=alert(1)>"


def close(name: str, size: int) -> list[dict[str, Any]]:
    made = gang(name, size, cpu="3")
    made[0]["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
    return made


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def visit(browser: Any) -> AsyncIterator[Sitting]:
    """A gang that has a rack, and one that is too large for any."""
    async with (
        Cluster(MACHINES, manifests=TREE) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0", observing=OFTEN_SEEN) as daemon,
    ):
        cluster.apply([*close("fits", 2), *close("large", 3)])
        await until(lambda: len(nodes_of(cluster, "fits")) == 2)
        url = f"http://127.0.0.1:{daemon.ports['--listen-address']}/"
        async with sitting(browser, url) as found:
            await expect(found.page.locator("#connection-kind")).to_have_text("live")
            yield found
            assert found.trouble == []


async def test_a_job_that_waits_shows_how_many_of_its_pods_each_domain_would_hold(visit: Sitting) -> None:
    page = visit.page
    await page.evaluate("location.hash = '#jobs?which=all&open=job:default/large'")
    await expect(page.get_by_role("heading", name="Domains by free capacity")).to_be_visible()
    rows = page.locator(".domains .domain")
    await expect(rows).to_have_count(2 + LISTED_MAX)
    await expect(rows.nth(0)).to_contain_text("the whole cluster tier 3, 18 nodes")
    await expect(rows.nth(0)).to_contain_text("room for 3 of 3, not allowed")
    await expect(rows.nth(1)).to_contain_text("spine")
    await expect(rows.nth(2)).to_contain_text("r1 tier 1 (rack), 2 nodes")
    await expect(rows.nth(2)).to_contain_text("room for 2 of 3")
    assert await page.locator(".domains > li > ul > li > ul > li").count() == LISTED_MAX
    await expect(page.locator("#panel")).to_contain_text(f"Not shown: {RACKS - LISTED_MAX} domains of tier 1 (rack).")
    await expect(page.locator("#panel .changes")).to_contain_text("highestTierAllowed 2 (now 1), in spine of tier 2")


async def test_a_job_that_runs_shows_which_domain_has_it(visit: Sitting) -> None:
    page = visit.page
    await page.evaluate("location.hash = '#jobs?which=all&open=job:default/fits'")
    await expect(page.locator("#panel")).to_contain_text(words.pods_are_in("r0", 1) + " (rack)")
    await expect(page.locator(".domains .badge")).to_have_text(["has 2 pods of it"] * 3)
    assert await page.locator(".domain .bar").count() == 0


async def test_names_of_domains_are_words_and_nothing_else(visit: Sitting) -> None:
    page = visit.page
    room = {"name": EVIL, "tier": 1, "depth": 0, "nodes": 1, "holds": 1, "room": 1, "usable": True}
    tier = {"tier": 1, "name": EVIL, "allowed": True, "domains": 5, "enough": 0, "listed": 1}
    places = {"asks": EVIL, "wanted": 2, "domain": EVIL, "tier": 1, "tiers": [tier], "domains": [room]}
    group = {"name": EVIL, "asks": EVIL, "minimum": 2, "holds": 1, "domain": EVIL, "tier": 1}
    places |= {"sub_groups": [group], "sub_group_count": 20}
    found = {"kind": "PodGroup", "key": "default/large", "state": "waits", "message": "", "places": places}
    await page.route("**/explain/**", lambda route: route.fulfill(json=found))
    await page.evaluate("location.hash = '#jobs?which=all&open=job:default/large'")
    await expect(page.locator(".domains strong")).to_have_text(EVIL)
    await expect(page.locator(".sub-groups li")).to_contain_text(
        words.has_on_nodes(EVIL, "1 pod", 2, f", in {EVIL}", "")
    )
    await expect(page.locator("#panel")).to_contain_text("and 19 more sub-groups")
    assert await page.locator("img").count() == 0
    await page.unroute("**/explain/**")
