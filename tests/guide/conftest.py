"""One cluster and one daemon for all commands of the guide, and a folder with the files that they name."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

import pytest
import structlog

from tests.guide.examples import world, write_files
from tests.support.running import scheduling
from tests.support.waiting import until
from vsched.kube.lease.record import LeaseSettings
from vsched.sim.cluster import Cluster

PATIENCE_SECONDS = 120.0


class Guided(NamedTuple):
    """Where the commands of the guide are run."""

    folder: Path
    kubeconfig: Path
    daemon: str
    """The address of the daemon."""


class Serving(NamedTuple):
    """A cluster and a daemon at work, and how they are ended."""

    guided: Guided
    end: Callable[[], object]


@pytest.fixture(scope="module")
def guided(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guided]:
    """The cluster and the daemon, in a thread of their own while commands run in the test's."""
    folder = tmp_path_factory.mktemp("guide")
    write_files(folder)
    started: Future[Serving] = Future()
    before = structlog.get_config()
    # What the daemon logs must not get into what commands print.
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory(), cache_logger_on_first_use=False)
    thread = threading.Thread(target=lambda: asyncio.run(_serve(folder, started)), daemon=True)
    thread.start()
    try:
        serving = started.result(timeout=PATIENCE_SECONDS)
        yield serving.guided
        serving.end()
        thread.join(timeout=PATIENCE_SECONDS)
        assert not thread.is_alive()
    finally:
        structlog.configure(**before)


async def _serve(folder: Path, started: Future[Serving]) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    try:
        async with (
            Cluster(8, manifests=world()) as cluster,
            scheduling(
                cluster.url,
                listen_address="127.0.0.1:0",
                arbitrate=True,
                lease=LeaseSettings(namespace="vsched"),  # without an election, this is where the usage history is
                history_period_seconds=0.2,
            ) as daemon,
        ):
            kubeconfig = folder / "kubeconfig"
            cluster.write_kubeconfig(kubeconfig)
            await until(lambda: sum("nodeName" in pod["spec"] for pod in cluster.client.list("pods", "team-a")) == 2)
            await until(lambda: cluster.client.get("configmaps", "vsched", "vsched-usage-history"))
            guided = Guided(folder, kubeconfig, f"127.0.0.1:{daemon.ports['--listen-address']}")
            started.set_result(Serving(guided, lambda: loop.call_soon_threadsafe(ended.set)))
            await ended.wait()
    except BaseException as error:
        if not started.done():
            started.set_exception(error)
        raise
