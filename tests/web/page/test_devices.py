"""The devices of nodes as cells, in a real browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.browser import Sitting, sitting
from tests.support.deviceshare import HANDSHAKE, REGISTER, devices, vgpu_pod
from tests.support.running import OFTEN_SEEN, node, nodes_of, scheduling
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

expect: Any = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect
expect.set_options(timeout=30_000)
pytestmark = pytest.mark.asyncio(loop_scope="session")
ILL = "GPU-9,4,1000,<b>T4,false,hami-core:"
Obj = dict[str, Any]


def machine(name: str, register: str) -> Obj:
    made = node(name, "8")
    made["metadata"]["annotations"] = {REGISTER: register, HANDSHAKE: "Reported_now"}
    for kind in ("allocatable", "capacity"):
        made["status"][kind]["nvidia.com/gpu"] = "2"
    return made


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def visit(browser: Any) -> AsyncIterator[Sitting]:
    """A node with four devices, one in use by two pods and one unhealthy; one with a device of its own; one without."""
    machines = [machine("n1", devices(3, memory=1000) + ILL), machine("n2", devices(1, memory=200)), node("n3")]
    options = {"policy_file": Path("config/policies/devices.yaml"), "listen_address": "127.0.0.1:0"}
    async with (
        Cluster(machines) as cluster,
        scheduling(cluster.url, observing=OFTEN_SEEN, **options) as daemon,
    ):
        cluster.apply([vgpu_pod("a", 600, 20), vgpu_pod("b", 300, 30)])
        await until(lambda: len(nodes_of(cluster)) == 2)
        url = f"http://127.0.0.1:{daemon.ports['--listen-address']}/"
        async with sitting(browser, url) as found:
            await expect(found.page.locator("#connection-kind")).to_have_text("live")
            yield found
            assert found.trouble == []


async def test_a_node_shows_a_cell_for_each_device(visit: Sitting) -> None:
    page = visit.page
    await page.evaluate("location.hash = '#nodes?open=node:n1'")
    panel = page.locator("#panel-devices")
    await expect(panel.get_by_role("heading")).to_have_text(
        "Devices: 4 devices, 2 free, 1 unhealthy; 0 of 2 nvidia.com/gpu held"
    )
    cells = panel.locator("button.device")
    assert sorted(await cells.all_text_contents()) == sorted(["0", "0", "90", "✕", "0", "0"])
    [shared] = await panel.locator("button.device[data-shared]").all()
    assert await shared.inner_text() == "90"
    title = await shared.get_attribute("title")
    assert "90% taken: 900 of 1,000 MiB, 50 of 100%" in title
    assert "held by default/a (600 MiB, 20%), default/b (300 MiB, 30%)" in title
    table = panel.get_by_role("region", name="Devices")
    await expect(table.get_by_role("row")).to_have_count(6)
    await expect(table).to_contain_text("<b>T4")
    await expect(table).to_contain_text("default/a (600 MiB, 20%)")


async def test_arrow_keys_go_through_the_cells_and_what_they_say_is_told(visit: Sitting) -> None:
    page = visit.page
    await page.evaluate("location.hash = '#nodes?open=node:n1'")
    panel = page.locator("#panel-devices")
    await expect(panel.locator("button.device")).to_have_count(6)
    assert await panel.locator("button.device[tabindex='0']").count() == 1, "one stop of the keyboard"
    await panel.locator("button.device").first.focus()
    await page.keyboard.press("End")
    await expect(panel.get_by_role("status")).to_have_text("nvidia.com/gpu: 0 of 2 held")
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("ArrowLeft")
    await expect(panel.get_by_role("status")).to_contain_text("GPU-9 · <b>T4 · unhealthy · 0% taken")
    await page.keyboard.press("Home")
    await expect(panel.get_by_role("status")).to_contain_text("GPU-0")


async def test_all_nodes_with_devices_are_below_the_map(visit: Sitting) -> None:
    page = visit.page
    await page.evaluate("location.hash = '#nodes'")
    assert not any(asked.endswith("/devices") for asked in visit.asked), "nobody has looked yet"
    await page.locator("#devices > summary").click()
    await expect(page.locator("#devices-told")).to_have_text("2 nodes with devices. 5 devices, 3 free, 1 unhealthy")
    rows = page.locator("#devices-list .device-row")
    await expect(rows).to_have_count(2)
    await rows.nth(0).locator("button.device").nth(1).focus()
    await page.keyboard.press("ArrowDown")
    await expect(page.locator("#devices-list").get_by_role("status")).to_have_text("nvidia.com/gpu: 0 of 2 held")
    await rows.nth(1).get_by_role("link", name="n2").click()
    await expect(page.locator("#panel-title")).to_have_text("n2")
    await page.locator("#devices > summary").click()


async def test_a_node_without_devices_has_no_such_part(visit: Sitting) -> None:
    page = visit.page
    await page.evaluate("location.hash = '#nodes?open=node:n3'")
    await expect(page.locator("#panel-title")).to_have_text("n3")
    await expect(page.locator("#panel-pods")).to_contain_text("0 pods")
    assert await page.locator("#panel-devices").inner_text() == ""
