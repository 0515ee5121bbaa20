"""A daemon that finds no history in the cluster asks the Prometheus that its policy names."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.support.prometheus import prometheus, steady
from tests.support.running import node, scheduling, sessions
from tests.support.waiting import until
from vsched.daemon.words import files as files_words
from vsched.daemon.words import log as words
from vsched.model.history.records import CLUSTER, HOUR_SECONDS, Decay, Holder
from vsched.sim.cluster import Cluster

WHOLE = Decay(float("inf"))
POLICY = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
metrics: {{address: {address}, interval: 3600s}}
"""


def samples(end: float) -> str:
    """Once a minute, of two daemons: three hours of one queue and of the root, half an hour of another queue."""
    lines = ["# TYPE volcano_queue_allocated_milli_cpu gauge"]
    for instance in ("one", "two"):
        for queue, amount, begin, minutes in (("a", 2000, 3, 180), ("root", 3000, 3, 180), ("half", 1000, 1, 30)):
            series = f'volcano_queue_allocated_milli_cpu{{queue_name="{queue}",instance="{instance}"}}'
            times = (end - begin * HOUR_SECONDS + 60 * (minute + 1) for minute in range(minutes))
            lines += [f"{series} {amount} {at:.0f}" for at in times]
    return "\n".join([*lines, ""])


@pytest.mark.real_time
async def test_what_queues_held_is_worked_out(tmp_path: Path) -> None:
    end = time.time() // HOUR_SECONDS * HOUR_SECONDS
    path = tmp_path / "policy.yaml"
    async with prometheus({"n1": steady(10)}, more=samples(end)) as address, Cluster([node("n1")]) as cluster:
        path.write_text(POLICY.format(address=address), encoding="utf-8")
        async with scheduling(
            cluster.url, policy_file=path, history_from_prometheus=True, period_seconds=0.05
        ) as daemon:
            await until(lambda: Holder("a") in daemon.mirror.history.publish().holders)
            history = daemon.mirror.history.publish()
        used = dict(zip(history.holders, (history.used(WHOLE)[:, 0] / HOUR_SECONDS).tolist(), strict=True))
        assert history.resources[0] == "cpu"
        assert history.since == end - 3 * HOUR_SECONDS
        assert used[CLUSTER] == pytest.approx(3 * 4000, rel=0.02)
        assert used[Holder("a")] == pytest.approx(3 * 2000, rel=0.02)
        assert 500 * 0.95 <= used[Holder("half")] <= 500 * 1.2, "Prometheus takes a sample to hold for five minutes"
        assert Holder("root") not in used, "it is the sum of the others"


@pytest.mark.parametrize(
    ("metrics", "why"),
    [
        pytest.param("", files_words.NO_PROMETHEUS, id="the policy names none"),
        pytest.param("metrics: {address: 'http://127.0.0.1:1'}", "127.0.0.1:1", id="it does not answer"),
    ],
)
async def test_without_an_answer_the_history_begins_anew(tmp_path: Path, metrics: str, why: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f"{POLICY.partition('metrics')[0]}{metrics}\n", encoding="utf-8")
    began = time.time()
    with capture_logs() as lines:
        async with (
            Cluster([node("n1")]) as cluster,
            scheduling(cluster.url, policy_file=path, history_from_prometheus=True) as daemon,
        ):
            await sessions(daemon, 1)
            assert daemon.mirror.history.publish().since >= began - 1
    (line,) = [line for line in lines if line["event"] == words.HISTORY_NOT_IN_PROMETHEUS]
    assert why in line["problem"]
