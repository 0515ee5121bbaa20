"""The example of the page, at a real daemon."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.running import gang, has_listed, node, nodes_of
from tests.support.serving import serving
from tests.support.waiting import until
from vsched.client.daemon import DaemonClient
from vsched.client.target import DaemonTarget
from vsched.sim.cluster import Cluster

pytestmark = pytest.mark.real_time
PAGE = Path(__file__).parents[2] / "vsched" / "client" / "README.md"


async def test_the_example_says_why_jobs_wait() -> None:
    [text] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(text, str(PAGE), "exec", dont_inherit=True), names)
    objects = [*gang("runs", 2), *gang("waits", 9)]
    async with Cluster([node("n1")], manifests=objects) as cluster, serving(cluster.url) as (daemon, url):
        await until(lambda: has_listed(daemon) and len(nodes_of(cluster, "runs")) == 2)
        [(key, says)] = (await names["why_jobs_wait"](url)).items()
        async with DaemonClient(DaemonTarget(url)) as client:
            assert [*await client.nodes()] == ["n1"]
            assert (await client.explain_queue("default", changes=False)).kind == "Queue"
    assert key == "default/waits"
    assert says.startswith("the gang needs 9")


def test_every_method_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    methods = {name for name in vars(DaemonClient) if not name.startswith("_")}
    assert {name for name in methods if f"`{name}`" not in page} == set()
