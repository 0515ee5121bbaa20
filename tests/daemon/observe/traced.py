"""A daemon whose traces a collector has: one session of a gang with a volume, as the picture of the guide shows it.

``python -m tests.daemon.observe.traced`` draws that picture, ``config/images/trace.png``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support import volumes
from tests.support.claiming import machine
from tests.support.collector import CollectedSpan, Collector, collecting_spans
from tests.support.running import gang, has_listed, nodes_of
from tests.support.waiting import until
from vsched.daemon.app import Daemon, DaemonSettings
from vsched.daemon.observe.tracing import tracing_of
from vsched.daemon.options import Options
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster

SHORTEST_SECONDS = 50e-6
PICTURE = Path(__file__).parents[3] / "config" / "images" / "trace.png"


@asynccontextmanager
async def traced() -> AsyncIterator[tuple[Collector, Daemon, str]]:
    """A daemon that has bound a gang of four, one of which has a volume, and where its pages are."""
    group, first, *others = gang("train", 4)
    first = {**first, "spec": {**first["spec"], "volumes": volumes.claim_volumes("data")}}
    objects = [volumes.storage_class(), volumes.claim("data", namespace="default"), group, first, *others]
    async with (
        collecting_spans() as collector,
        Cluster([machine("n1"), machine("n2")]) as cluster,
        asyncio.TaskGroup() as tasks,
    ):
        options = Options(
            listen_address="127.0.0.1:0", healthz_address="", otlp_endpoint=collector.url, window_seconds=0.1
        )
        tracing = tracing_of(options)
        assert tracing is not None
        async with ApiClient(tracing.carrying(Connection(cluster.url))) as client:
            daemon = Daemon(options, client, REGISTRY, settings=DaemonSettings(tracing=tracing))
            running = tasks.create_task(daemon.run())
            try:
                await until(lambda: has_listed(daemon))
                cluster.apply(objects)
                await until(lambda: len(nodes_of(cluster, "train")) == 4)
                yield collector, daemon, f"http://127.0.0.1:{daemon.ports['--listen-address']}"
            finally:
                daemon.stop()
                await asyncio.wait((running,), timeout=10.0)
                running.cancel()
                await tracing.close()


def trace_of_gang(spans: list[CollectedSpan]) -> list[CollectedSpan]:
    """The trace of the session that bound pods."""
    session = next(span for span in spans if span.name == "session" and span.told["vsched.binds"])
    return [span for span in spans if span.trace == session.trace]


async def main() -> None:
    async with traced() as (collector, _, _):
        pass
    draw(trace_of_gang(collector.spans))


def draw(spans: list[CollectedSpan]) -> None:
    """A waterfall of one trace, without what takes no time to speak of."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    colours = {"write": "#d95f02", "claims": "#7570b3", "action": "#1b9e77"}
    spans = [span for span in spans if span.ended - span.began > SHORTEST_SECONDS]
    began = min(span.began for span in spans)
    depths: dict[str, int] = {}
    figure, axes = pyplot.subplots(figsize=(12, 0.27 * len(spans) + 1), layout="constrained")
    for row, span in enumerate(spans):
        depths[span.id] = depths.get(span.parent, -1) + 1
        left, width = 1e3 * (span.began - began), 1e3 * (span.ended - span.began)
        axes.barh(row, width, left=left, height=0.7, color=colours.get(span.name.split()[0], "#666666"))
        axes.text(left + width, row, f" {width:.1f} ms", va="center", fontsize=7)
    axes.set_yticks(range(len(spans)), ["   " * depths[span.id] + span.name for span in spans], fontsize=8, ha="left")
    axes.tick_params(axis="y", pad=150, length=0)
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds since the session began")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title("One session that binds a gang of four: one of its pods claims a volume", fontsize=10, loc="left")
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    asyncio.run(main())
