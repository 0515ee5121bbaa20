"""Nodes that are asked for, CapacityBuffers, and what a page shows of a cluster with nothing in it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec import structs

from tests.support.browser import sitting
from tests.web.page.pictured import Going, pictured
from vsched.controllers.provisioning.shown import AutoscalingShown, Buffer, LatestRequest

expect: Any = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect
expect.set_options(timeout=30_000)
pytestmark = pytest.mark.asyncio(loop_scope="session")
SHOWN = AutoscalingShown(
    asks=True,
    requests=(
        LatestRequest("team-a/train", "train-1", "provisioned", 1, kept_until=1_800_000_000.0),
        LatestRequest("team-a/<b>bold", "bold-2", "given-up", 2, "none left"),
    ),
    buffers=(Buffer("team-a", "spare", 4, "Deployment/web", "s", "provisioned"),),
)


async def test_requests_and_buffers_are_below_the_nodes(browser: Any) -> None:
    async with pictured(Going(3, 2), autoscaling=SHOWN) as url, sitting(browser, url) as found:
        section = found.page.locator("#autoscaling")
        await expect(section).to_be_visible()
        told = "nodes requested for 2 gangs; 1 CapacityBuffer reserves capacity for 4 pods"
        await expect(section.locator("#autoscaling-told")).to_have_text(told)
        asked = section.get_by_role("region", name="ProvisioningRequests").get_by_role("row")
        await expect(asked.nth(1)).to_have_text(re.compile(r"^team-a/traintrain-11provisioned\d\d:\d\d:\d\d--$"))
        await expect(asked.nth(2)).to_have_text("team-a/<b>boldbold-22given-up--none left")
        kept = section.get_by_role("region", name="CapacityBuffers").get_by_role("row")
        await expect(kept.nth(1)).to_have_text("team-a/spare4Deployment/webprovisioned-")
        assert found.trouble == []


async def test_a_cluster_without_them_has_no_such_part(browser: Any) -> None:
    async with pictured(Going(3, 2)) as url, sitting(browser, url) as found:
        await expect(found.page.locator("#connection-kind")).to_have_text("live")
        await expect(found.page.locator("#autoscaling")).to_be_hidden()
        assert found.trouble == []


@pytest.mark.parametrize(
    ("nodes", "jobs", "says"),
    [
        pytest.param(0, 0, "No nodes are known here. Is this the right cluster", id="no nodes"),
        pytest.param(3, 0, "No work yet. Give pods the scheduler of this daemon", id="no work"),
        pytest.param(3, 2, "", id="nodes and work"),
    ],
)
async def test_a_cluster_with_nothing_in_it_says_what_to_do_next(
    browser: Any, nodes: int, jobs: int, says: str
) -> None:
    going = Going(nodes, jobs)
    if not jobs:
        going.show(structs.replace(going.now, counts=going.now.counts | {"pods_running": 0, "pods_waiting": 0}))
    async with pictured(going) as url, sitting(browser, url) as found:
        await expect(found.page.locator("#connection-kind")).to_have_text("live")
        await expect(found.page.locator("#empty")).to_have_text(re.compile(f"^{re.escape(says)}"))
        await expect(found.page.locator("#empty")).to_be_visible(visible=bool(says))
        assert found.trouble == []
