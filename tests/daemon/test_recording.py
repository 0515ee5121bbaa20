"""What is recorded of a cluster, against what the cluster itself says happened there."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.builders import merged
from tests.support.fault_proxy import faulty
from tests.support.running import gang, node, nodes_of, pod, scheduling
from tests.support.waiting import until
from vsched.apimachinery.meta.times import parse_time
from vsched.daemon.observe.work_trace import KEY_FILE
from vsched.daemon.recording import RecordSettings, WorkRecording
from vsched.errors import BadInput
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.record.folder import last_seen, read_all, segments_of
from vsched.record.history import History, RecordedPod
from vsched.record.lines import DELETED, FAILED, SUCCEEDED, UNSEEN
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
SEEN_WITHIN = 2.0
"""The API server's times are whole seconds, and a change is seen a little later."""


@asynccontextmanager
async def recording(url: str, folder: Path, *, ends: bool = True, **settings: Any) -> AsyncIterator[WorkRecording]:
    """A recorder at this API server; with ``ends``, it is stopped in order, else killed."""
    asked = {"most_bytes": 1 << 30, "schedulers": ("vsched", "default-scheduler"), **settings}
    async with ApiClient(Connection(url)) as client:
        recorder = WorkRecording(RecordSettings(folder=folder, **asked), client, REGISTRY)
        begun = asyncio.Event()
        running = asyncio.create_task(recorder.run(lambda sizes: begun.set()))
        try:
            await begun.wait()
            yield recorder
        finally:
            if ends:
                recorder.stop()
            else:
                await recorder.trace.flush()
                running.cancel()
            await asyncio.wait((running,))
    if ends:
        running.result()


def lasting(objects: list[Obj], duration: str, exit_code: int = 0) -> list[Obj]:
    """The same objects, whose pods end by themselves."""
    script = {"vsched.io/duration": duration, "vsched.io/exit-code": str(exit_code)}
    return [
        merged(each, {"metadata": {"annotations": script}, "spec": {"restartPolicy": "Never"}})
        if each["kind"] == "Pod"
        else each
        for each in objects
    ]


def history(folder: Path) -> History:
    return History(read_all([folder]))


def pods_by_name(found: History, cluster_pods: Mapping[str, Obj]) -> dict[str, RecordedPod]:
    """The recorded pods by the name of those that the cluster had."""
    ids = {id_of(each): name for name, each in cluster_pods.items()}
    return {ids[id]: each for id, each in found.pods.items()}


def id_of(found: Obj) -> str:
    from vsched.record.names import TraceNames

    return TraceNames().id(found["metadata"]["uid"])


async def test_each_time_and_node_in_a_trace_is_what_the_cluster_says(tmp_path: Path) -> None:
    nodes = [node("n1"), node("n2")]
    async with Cluster(nodes) as cluster, recording(cluster.url, tmp_path), scheduling(cluster.url):
        cluster.apply(lasting(gang("g", 4), "20s"))
        cluster.apply(lasting(gang("later", 8), "30s"))  # it waits until the first gang has ended
        cluster.apply(lasting([pod("bad")], "5s", exit_code=3))
        await until(lambda: len(nodes_of(cluster, "later")) == 8)
        ended = ("Succeeded", "Failed")
        await until(
            lambda: all(each["status"]["phase"] in ended for each in cluster.client.list("pods", "default")),
            seconds=200,
        )
        there = {each["metadata"]["name"]: each for each in cluster.client.list("pods", "default")}
    found = pods_by_name(history(tmp_path), there)
    assert found.keys() == there.keys()
    for name, real in there.items():
        recorded, status = found[name], real["status"]
        assert recorded.node == real["spec"]["nodeName"]
        assert recorded.by == "vsched"
        assert recorded.how == (FAILED if name == "bad" else SUCCEEDED)
        terminated = status["containerStatuses"][0]["state"]["terminated"]
        bound = next(each for each in status["conditions"] if each["type"] == "PodScheduled")["lastTransitionTime"]
        for told, written in (
            (recorded.came, real["metadata"]["creationTimestamp"]),
            (recorded.placed, bound),
            (recorded.started, status["startTime"]),
            (recorded.ended, terminated["finishedAt"]),
        ):
            assert abs(told - parse_time(written).timestamp()) <= SEEN_WITHIN
        assert recorded.seen.asks["cpu"] == 1000
    jobs = {job.seen.name: job for job in history(tmp_path).jobs.values()}
    assert {name: (len(jobs[name].pods), jobs[name].seen.min_member) for name in ("g", "later")} == {
        "g": (4, 4),
        "later": (8, 8),
    }


async def test_a_recorder_only_reads(tmp_path: Path) -> None:
    async with Cluster([node("n1")]) as cluster, faulty(cluster.url) as proxy, scheduling(cluster.url):
        async with recording(proxy.url, tmp_path):
            cluster.apply(lasting(gang("g", 2), "3s"))
            await until(lambda: len(nodes_of(cluster, "g")) == 2)
        assert proxy.seen
        assert proxy.writes() == 0


async def test_after_a_kill_a_recorder_goes_on_and_says_what_it_did_not_see(tmp_path: Path) -> None:
    async with Cluster([node("n1")]) as cluster, scheduling(cluster.url):
        async with recording(cluster.url, tmp_path, ends=False):
            cluster.apply([*lasting(gang("ends", 1), "30s"), *gang("leaves", 1), *gang("stays", 1)])
            await until(lambda: len(nodes_of(cluster)) == 3)
            await asyncio.sleep(1)
        there = {each["metadata"]["name"]: each for each in cluster.client.list("pods", "default")}
        seen = last_seen(tmp_path)
        cluster.client.delete("pods", "default", "leaves-0", grace_seconds=0)
        await asyncio.sleep(60)
        async with recording(cluster.url, tmp_path):
            await until(lambda: len(segments_of(tmp_path)) == 2, seconds=30)
    found = history(tmp_path)
    assert [(gap.begin, gap.end - gap.begin > 50) for gap in found.gaps] == [(seen, True)]
    pods = pods_by_name(found, there)
    assert {name: each.how for name, each in pods.items()} == {
        "ends-0": SUCCEEDED,
        "leaves-0": UNSEEN,
        "stays-0": "",
    }
    assert pods["ends-0"].ended < found.gaps[0].end - 20, "its object says when it ended"


async def test_a_pod_that_is_deleted_and_one_that_comes_in_its_place_are_two(tmp_path: Path) -> None:
    async with Cluster([node("n1")]) as cluster, scheduling(cluster.url), recording(cluster.url, tmp_path):
        for _ in range(2):
            cluster.apply(gang("g", 1))
            await until(lambda: nodes_of(cluster, "g-0"))
            await asyncio.sleep(2)
            cluster.client.delete("pods", "default", "g-0", grace_seconds=0)
            await until(lambda: cluster.client.get("pods", "default", "g-0") is None)
            await asyncio.sleep(2)
    found = history(tmp_path)
    assert [(pod.how, pod.node) for pod in found.pods.values()] == [(DELETED, "n1")] * 2
    assert [len(job.pods) for job in found.jobs.values()] == [2]


async def test_made_up_names_stay_the_same_and_the_real_ones_are_nowhere(tmp_path: Path) -> None:
    async with Cluster([node("secret-node")]) as cluster, scheduling(cluster.url):
        cluster.apply(gang("secret-gang", 1))
        await until(lambda: nodes_of(cluster, "secret"))
        for _ in range(2):
            async with recording(cluster.url, tmp_path, anonymous=True):
                pass
    text = b"".join(gzip.decompress(path.read_bytes()) for path in segments_of(tmp_path))
    assert b"secret" not in text
    found = history(tmp_path)
    assert (len(found.nodes), len(found.pods), found.anonymous) == (1, 1, True)
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o077 == 0


async def test_a_disk_that_is_full_loses_lines_and_says_so_and_what_follows_is_whole(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    async with Cluster([node("n1")]) as cluster, scheduling(cluster.url):
        async with recording(cluster.url, folder) as recorder:
            await until(lambda: recorder.trace.written > 0, seconds=30)
            for path in segments_of(folder):
                path.unlink()
            folder.rename(tmp_path / "aside")
            folder.write_text("no folder any more")
            recorder.trace._folder.close()  # the next segment cannot begin
            cluster.apply(gang("g", 2))
            await until(lambda: recorder.trace.lost > 0, seconds=30)
            folder.unlink()
            lost = recorder.trace.lost
            cluster.apply(gang("h", 1))
            await until(lambda: len(nodes_of(cluster)) == 3)
        assert recorder.trace.lost == lost
    found = history(folder)
    assert len(found.pods) == 3
    assert [gap.begin > 0 for gap in found.gaps] == [True]


async def test_a_daemon_records_by_itself(tmp_path: Path) -> None:
    async with Cluster([node("n1")]) as cluster, scheduling(cluster.url, record_work=tmp_path):
        cluster.apply(lasting(gang("g", 3), "5s"))
        await until(lambda: len(nodes_of(cluster, "g")) == 3)
        await asyncio.sleep(20)
    found = history(tmp_path)
    assert [pod.how for pod in found.pods.values()] == [SUCCEEDED] * 3
    assert found.schedulers == {"vsched"}


@pytest.mark.parametrize("spoil", ["a file", "a key that is none"], ids=lambda spoil: f"where there is {spoil}")
async def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path, spoil: str) -> None:
    folder = tmp_path / "work"
    if spoil == "a file":
        folder.write_text("")
    else:
        folder.mkdir()
        (folder / KEY_FILE).write_bytes(b"short")
    async with ApiClient(Connection("http://127.0.0.1:1")) as client:
        settings = RecordSettings(folder=folder, most_bytes=1 << 30, schedulers=("vsched",), anonymous=True)
        with pytest.raises(BadInput, match=str(folder)):
            WorkRecording(settings, client, REGISTRY)
