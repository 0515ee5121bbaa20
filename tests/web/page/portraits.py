"""The pictures of the page in the guide: ``python -m tests.web.page.portraits`` takes them of a daemon at work.

Three hundred nodes in four pools, queues in a tree by what they deserve, and gangs of three teams that come and go for
half a minute; then ``config/images`` has the whole page light and dark, and one job that waits.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.browser import chromium, sitting
from tests.support.running import scheduling
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

ROOT = Path(__file__).parents[3]
IMAGES = ROOT / "config" / "images"
POOLS = {"p5.48xlarge": (40, 96, 1024, 8), "g6.12xlarge": (60, 48, 192, 4), "m7i.16xlarge": (140, 64, 256, 0)}
SPOT = {"c7i.8xlarge": (60, 32, 64, 0)}
TEAMS = ("vision-lab", "speech-lab", "platform")
SECONDS = 30
Obj = dict[str, Any]


def pool(kind: str, many: int, cpu: int, memory: int, gpus: int) -> Iterator[Obj]:
    """Nodes of one type; a few are cordoned, a few tainted."""
    amounts = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110"} | (
        {"nvidia.com/gpu": str(gpus)} if gpus else {}
    )
    for number in range(many):
        spec: Obj = {"unschedulable": True} if number % 37 == 11 else {}
        if number % 23 == 7:
            spec["taints"] = [{"key": "maintenance", "value": "disk", "effect": "NoSchedule"}]
        labels = {"node.kubernetes.io/instance-type": kind}
        metadata = {"name": f"{kind.partition('.')[0]}-{number:03}", "labels": labels}
        status = {"allocatable": amounts, "capacity": amounts}
        yield {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def queue(name: str, parent: str = "root", **spec: Any) -> Obj:
    about = {"weight": 1, "parent": parent, **spec}
    version = "scheduling.volcano.sh/v1beta1"
    return {"apiVersion": version, "kind": "Queue", "metadata": {"name": name}, "spec": about}


def amounts(cpu: int, memory: int, gpus: int) -> Obj:
    return {"cpu": str(cpu), "memory": f"{memory}Ti", "nvidia.com/gpu": str(gpus)}


QUEUES = (
    queue("research", deserved=amounts(6000, 32, 420), capability=amounts(9000, 60, 500)),
    queue("vision", "research", deserved=amounts(3500, 18, 260), guarantee={"resource": amounts(800, 4, 64)}),
    queue("speech", "research", deserved=amounts(2500, 14, 160), capability=amounts(3000, 20, 180)),
    queue("production", deserved=amounts(7000, 24, 120), guarantee={"resource": amounts(2000, 8, 32)}),
    queue("batch", deserved=amounts(2000, 8, 20), capability=amounts(8000, 40, 20)),
)


def gang(random: Random, number: int) -> list[Obj]:
    """A PodGroup and its pods, of one of the teams, for a minute or so."""
    where = random.choice(("vision", "vision", "speech", "production", "production", "batch"))
    gpus = random.choice((2, 4, 8)) if where in ("vision", "speech") else 0
    size = random.choice((1, 4, 8, 16, 32))
    name, team = f"{random.choice(('train', 'tune', 'eval', 'render'))}-{number}", random.choice(TEAMS)
    asked = {"cpu": str(random.choice((4, 8, 12))), "memory": f"{random.choice((16, 32, 64))}Gi"}
    asked |= {"nvidia.com/gpu": str(gpus)} if gpus else {}
    about = {"name": name, "namespace": team}
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": about,
        "spec": {"minMember": size, "queue": where},
    }
    container = {"name": "main", "image": "busybox", "resources": {"requests": asked, "limits": asked}}
    return [
        group,
        *(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"{name}-{member}",
                    "namespace": team,
                    "annotations": {"scheduling.k8s.io/group-name": name},
                },
                "spec": {"schedulerName": "vsched", "containers": [container]},
            }
            for member in range(size)
        ),
    ]


async def come_and_go(cluster: Cluster) -> None:
    """Gangs arrive, a few a second, and the oldest leave."""
    random, there = Random(7), list[list[Obj]]()
    for number in count():
        there.append(gang(random, number))
        cluster.apply(there[-1])
        if number > 210 and random.random() < 0.8:
            for found in there.pop(random.randrange(60)):
                resource = "pods" if found["kind"] == "Pod" else "scheduling.volcano.sh/podgroups"
                cluster.client.delete(resource, found["metadata"]["namespace"], found["metadata"]["name"])
        await asyncio.sleep(0.02 if number < 200 else 0.25)


async def open_one_that_a_change_would_admit(page: Any) -> None:
    """Open jobs until the panel has a change for one of them."""
    rows = page.get_by_role("grid", name="Jobs").get_by_role("row", name=re.compile("QueueCap|Gang|Resources"))
    for number in range(12):
        await rows.nth(number).click()
        for _ in range(8):
            await asyncio.sleep(1)
            if await page.locator("#panel .changes").count():
                return


async def portray(url: str) -> None:
    """Take the three."""
    IMAGES.mkdir(exist_ok=True)
    async with chromium() as browser:
        for theme in ("light", "dark"):
            size = {"width": 1440, "height": 1000}
            async with sitting(browser, url, viewport=size, color_scheme=theme) as visit:
                await visit.page.wait_for_selector("body.seen")
                await visit.page.evaluate("scrollTo(0, 0)")
                await asyncio.sleep(2)
                await visit.page.screenshot(path=IMAGES / f"page-{theme}.png")
                if theme == "dark":
                    continue
                await open_one_that_a_change_would_admit(visit.page)
                await visit.page.evaluate("document.getElementById('jobs').scrollIntoView()")
                await asyncio.sleep(2)
                await visit.page.screenshot(path=IMAGES / "page-job.png")


def tree_policy(folder: Path) -> Path:
    """The policy of capacities, with queues in a tree."""
    flat = (ROOT / "config/policies/capacity.yaml").read_text(encoding="utf-8")
    path = folder / "capacity-tree.yaml"
    path.write_text(flat.replace("- name: capacity ", "- name: capacity\n    enableHierarchy: true "), encoding="utf-8")
    return path


async def main() -> None:
    teams = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in TEAMS]
    nodes = [node for kind, about in (POOLS | SPOT).items() for node in pool(kind, *about)]
    with TemporaryDirectory() as folder:
        async with (
            Cluster(nodes, manifests=[*teams, *QUEUES]) as cluster,
            scheduling(cluster.url, policy_file=tree_policy(Path(folder)), listen_address="127.0.0.1:0") as daemon,
        ):
            await until(lambda: daemon.ports and daemon.health.ready().ok, 60.0)
            traffic = asyncio.create_task(come_and_go(cluster))
            await asyncio.sleep(SECONDS)
            await portray(f"http://127.0.0.1:{daemon.ports['--listen-address']}/")
            traffic.cancel()


if __name__ == "__main__":
    asyncio.run(main())
