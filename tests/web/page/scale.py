"""What the page costs a browser at 5,000 nodes and 5,000 jobs: ``python -m tests.web.page.scale [--nodes N --jobs N]``.

Generated pictures, one a second, go through the daemon's own stream to a real Chromium. Frames are timed with
requestAnimationFrame while the page scrolls its jobs, so that a late one is one that somebody would see.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

from tests.support.browser import chromium, sitting
from tests.web.page.pictured import Going, pictured
from vsched.web.pages.static import read_files

TIMED = """async (milliseconds) => {
  const host = document.getElementById("jobs-grid");
  const frames = [], long = [];
  new PerformanceObserver((found) => long.push(...found.getEntries().map((entry) => entry.duration)))
    .observe({ type: "longtask" });
  const end = performance.now() + milliseconds;
  for (let before = performance.now(); before < end; ) {
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - before);
    before = now;
    host.scrollTop = (host.scrollTop + 40) % (host.scrollHeight - host.clientHeight);
  }
  return { frames: frames.slice(1), long };
}"""
FIRST = "() => performance.getEntriesByType('navigation')[0].responseStart && performance.now()"
SETTLED = (
    "() => document.body.classList.contains('seen') && document.querySelectorAll('#jobs-grid tbody td').length > 20"
)


async def main_thread(page: Any, seconds: float) -> float:
    """Milliseconds of a core that the page takes each second while nobody touches it, whoever else uses the machine."""
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})

    async def spent() -> float:
        metrics = (await session.send("Performance.getMetrics"))["metrics"]
        return next(float(found["value"]) for found in metrics if found["name"] == "TaskDuration")

    await asyncio.sleep(2)
    before = await spent()
    await asyncio.sleep(seconds)
    return round((await spent() - before) / seconds * 1000, 1)


async def measure(nodes: int, jobs: int, seconds: float) -> dict[str, Any]:
    """Figures of one visit."""
    going = Going(nodes, jobs)
    async with chromium() as browser, pictured(going) as url, sitting(browser, url) as visit:
        await visit.page.wait_for_function(SETTLED, timeout=60_000)
        interactive = await visit.page.evaluate(FIRST)
        busy = await main_thread(visit.page, seconds)
        found = await visit.page.evaluate(TIMED, seconds * 1000)
        if visit.trouble:
            raise SystemExit("\n".join(visit.trouble))
    frames = sorted(found["frames"])
    files = Path(__file__).parents[3] / "vsched/web/page"
    zipped = sum(len(file.zipped) for file in read_files().values())
    return {
        "interactive ms": round(interactive),
        "main thread ms/s": busy,
        "frames": len(frames),
        "frame p50 ms": round(frames[len(frames) // 2], 1),
        "frame p99 ms": round(frames[len(frames) * 99 // 100], 1),
        "frame most ms": round(frames[-1], 1),
        "tasks over 50 ms": [round(task) for task in found["long"]],
        "files bytes": sum(file.stat().st_size for file in files.iterdir()),
        "files gzip bytes": zipped,
        "picture bytes": going.plain,
        "picture gzip bytes": going.whole,
        "update gzip bytes": sorted(going.updates)[len(going.updates) // 2],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=20)
    given = parser.parse_args()
    for name, value in asyncio.run(measure(given.nodes, given.jobs, given.seconds)).items():
        print(f"{name:20} {value}")


if __name__ == "__main__":
    main()
