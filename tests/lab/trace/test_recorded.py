"""Work traces as traces to replay, what is said of what nobody knows, and how well a replay of them matches."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from tests.support.traces import small_trace
from vsched.cli import cli
from vsched.errors import BadInput
from vsched.lab.trace import words
from vsched.lab.trace.as_recorded import as_recorded, match, waits_really
from vsched.lab.trace.checks import Checks
from vsched.lab.trace.files import ClusterTrace, RealRun, TraceGang, TraceNode
from vsched.lab.trace.formats import TraceFormat, format_of
from vsched.lab.trace.recorded import read_work, work_of
from vsched.lab.trace.run import replay, weights_of
from vsched.record.folder import write_file
from vsched.record.history import History
from vsched.record.lines import (
    DELETED,
    SUCCEEDED,
    AnyLine,
    Began,
    Complete,
    Ended,
    JobThere,
    NodeGone,
    NodeThere,
    PodBound,
    PodEnded,
    PodThere,
    QueueThere,
)
from vsched.record.names import TraceNames
from vsched.record.observer import WorkObserver
from vsched.web.snapshots import FrozenSnapshot

GIB = 1 << 30
NODE = {"cpu": 8000, "memory": 64 * GIB, "nvidia.com/gpu": 8000, "pods": 110}
PATH = Path("work")


def a_job(at: float, id: str, least: int = 1, **more: Any) -> JobThere:
    said = {"namespace": "vision", "name": f"train-{id}", "queue": "research", **more}
    return JobThere(at=at, id=id, created=at, min_member=least, **said)


def a_pod(at: float, id: str, job: str, gpus: int = 1, **more: Any) -> PodThere:
    asks = {"cpu": 1000, "memory": 2 * GIB, "nvidia.com/gpu": 1000 * gpus}
    return PodThere(at=at, id=id, job=job, created=at, asks=asks, **more)


def a_trace(*lines: AnyLine, end: float = 1000.0) -> ClusterTrace:
    node = NodeThere(at=0.0, name="n1", has=NODE)
    began: list[AnyLine] = [Began(at=0.0, schedulers=("volcano",)), node, Complete(at=0.0)]
    return work_of(PATH, History([*began, *lines, Ended(at=end)]))


def test_a_gang_that_ran() -> None:
    found = a_trace(
        QueueThere(at=5.0, name="research", weight=3),
        a_job(10.0, "g", 2, priority=7, expected=90.0),
        a_pod(10.0, "g-0", "g", gpus=4),
        a_pod(10.0, "g-1", "g", gpus=2),
        PodBound(at=40.0, id="g-0", node="n1"),
        PodBound(at=50.0, id="g-1", node="n1"),
        PodEnded(at=150.0, id="g-0", how=SUCCEEDED),
        PodEnded(at=160.0, id="g-1", how=SUCCEEDED),
    )
    first, second = found.pods
    assert found.nodes == (TraceNode("n1", 8000, 65536, 8, ""),)
    assert first.gang == TraceGang("train-g-g", 2, 6, 1000, 2000, 4096)
    assert (first.created, first.gpus, first.cpu_milli, first.memory_mib) == (10, 4, 1000, 2048)
    assert [pod.run_seconds for pod in (first, second)] == [100, 110], "since the whole gang had nodes"
    assert [pod.member for pod in (first, second)] == [0, 1]
    assert (first.queue, first.user, first.priority, first.declared_seconds) == ("research", "vision", 7, 90)
    assert found.really == {first.name: (RealRun(40.0, 150.0, "n1"),), second.name: (RealRun(50.0, 160.0, "n1"),)}
    assert weights_of(found, {}) == {"research": 3}
    assert found.notes == ()


def test_a_pod_that_was_evicted_and_came_again_is_one_pod() -> None:
    found = a_trace(
        a_job(10.0, "j"),
        a_pod(10.0, "one", "j"),
        PodBound(at=20.0, id="one", node="n1"),
        PodEnded(at=60.0, id="one", how=DELETED),
        a_pod(60.0, "two", "j"),
        PodBound(at=100.0, id="two", node="n1"),
        PodEnded(at=400.0, id="two", how=SUCCEEDED),
    )
    assert [(pod.created, pod.run_seconds) for pod in found.pods] == [(10, 300)]
    assert found.notes == (words.replaced(1),)
    assert waits_really(found) == {found.pods[0].name: 10.0 + 40.0}
    summary = as_recorded(found, {"research": 1})
    assert (summary["pods"]["evicted"], summary["pods"]["placed"]) == (1, 2)
    assert summary["waiting_seconds"]["all"]["max"] == 50.0
    assert summary["lost_seconds"] == {"cpu": 40.0, "gpu": 40.0}


def test_what_nobody_knows_is_taken_as_usual_and_said() -> None:
    found = a_trace(
        *(line for number in range(3) for line in _ended_after(100.0 * (number + 1), f"e{number}")),
        a_job(10.0, "runs"),
        a_pod(10.0, "r", "runs"),
        PodBound(at=500.0, id="r", node="n1"),
        a_job(20.0, "waits"),
        a_pod(20.0, "w", "waits"),
        a_job(30.0, "says", expected=77.0),
        a_pod(30.0, "s", "says"),
        a_job(40.0, "ruled"),
        PodThere(at=40.0, id="x", job="ruled", created=40.0, asks={"cpu": 1, "example.com/fpga": 1}, ruled=True),
    )
    runs = {pod.name.rpartition("-")[0]: pod.run_seconds for pod in found.pods}
    assert runs["train-runs"] == 500
    assert runs["train-waits"] == 200, "the median of those that ended"
    assert runs["train-says"] == 77
    assert found.notes == (
        words.still_ran(1),
        words.never_ran(3),
        words.ruled(1),
        words.resources_left_out("example.com/fpga"),
    )


def _ended_after(seconds: float, id: str) -> list[AnyLine]:
    return [
        a_job(0.0, id),
        a_pod(0.0, id, id),
        PodBound(at=1.0, id=id, node="n1"),
        PodEnded(at=1.0 + seconds, id=id, how=SUCCEEDED),
    ]


def test_nodes_are_those_of_most_of_the_time_without_what_belongs_to_them() -> None:
    found = a_trace(
        NodeThere(at=0.0, name="n2", has=NODE),
        NodeThere(at=800.0, name="late", has=NODE),
        a_job(0.0, "agent", least=0),
        a_pod(0.0, "a", "agent", gpus=0, returns=True),
        PodBound(at=0.0, id="a", node="n2"),
        NodeGone(at=900.0, name="n2"),
        a_job(10.0, "j"),
        a_pod(10.0, "p", "j"),
    )
    assert [(node.name, node.cpu_milli, node.memory_mib) for node in found.nodes] == [
        ("n1", 8000, 65536),
        ("n2", 7000, 63488),
    ]
    assert words.nodes_for_a_part(1) in found.notes
    assert len(found.pods) == 1, "what belongs to a node is no work"


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([], words.no_work(PATH)),
        ([NodeGone(at=100.0, name="n1"), a_job(10.0, "j"), a_pod(10.0, "p", "j")], words.no_nodes(PATH)),
    ],
    ids=["no pods", "no node for most of the time"],
)
def test_a_trace_that_cannot_be_replayed_is_refused(lines: list[AnyLine], says: str) -> None:
    with pytest.raises(BadInput) as refused:
        a_trace(*lines)
    assert str(refused.value) == says


def test_a_pod_goes_to_nodes_with_the_labels_that_it_selects_and_selectors_that_no_node_matches_are_left_out() -> None:
    zone = "topology.kubernetes.io/zone"
    found = a_trace(
        NodeThere(at=0.0, name="n2", has=NODE, labels={zone: "b"}),
        *(line for number in range(3) for line in (a_job(10.0, f"b{number}"), _selecting(f"b{number}", {zone: "b"}))),
        a_job(10.0, "c"),
        _selecting("c", {zone: "c"}),
    )
    assert found.notes == (words.never_ran(4), words.ruled(1))
    stays = replayed(found).accounts
    assert (stays.placed, [pod.selector for pod in found.pods]) == (4, [((zone, "b"),)] * 3 + [()])
    crowded = replace(found, nodes=tuple(replace(node, gpus=1) for node in found.nodes))
    waits = sorted(round(seconds, -2) for seconds in replayed(crowded).accounts.waits.values())
    assert waits == [0, 0, 600, 1200], "three share the one GPU of their zone, while another one is idle"


def _selecting(id: str, selector: dict[str, str]) -> PodThere:
    return a_pod(10.0, f"{id}-0", id, selector=selector)


class Watching(Checks):
    """Records what the sessions of a replay saw, as a recorder beside it would."""

    def __init__(self) -> None:
        super().__init__(1.0)
        self.observer = WorkObserver(TraceNames(), ("vsched",))
        self.lines: list[AnyLine] = []

    def check(self, session: FrozenSnapshot) -> None:
        self.lines += self.observer.look(session.snapshot)


def replayed(trace: ClusterTrace, checks: Checks | None = None) -> Any:
    return asyncio.run(replay(trace, None, weights_of(trace, {}), 1, lambda progress: None, checks=checks))


def test_a_replay_that_was_recorded_is_matched_by_a_replay_of_what_was_recorded() -> None:
    trace = small_trace(nodes=6, pods=60, every_seconds=40)
    whole = [pod for pod in trace.pods if pod.takes_whole_gpus or not pod.gpus]
    watching = Watching()
    original = replayed(ClusterTrace(trace.nodes, tuple(whole)), watching)
    found = work_of(PATH, History(watching.lines))
    again = replayed(found)
    matched = match(found, again.accounts.waits)
    assert matched["jobs"] > 0.9 * len(whole)
    assert matched["as_recorded"] > 0.95
    assert matched["difference_seconds"]["p90"] <= 1.0
    real = as_recorded(found, weights_of(found, {}))
    assert real["waiting_seconds"]["all"]["mean"] == pytest.approx(
        original.summary()["waiting_seconds"]["all"]["mean"], rel=0.05
    ), "the last session does not see what it leads to"


def test_a_folder_and_a_file_are_known_by_what_is_in_them(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl.gz"
    lines = [Began(at=0.0), NodeThere(at=0.0, name="n1", has=NODE), Complete(at=0.0), *_ended_after(50.0, "e")]
    write_file(path, lines)
    assert format_of(path) is TraceFormat.WORK
    assert format_of(tmp_path) is TraceFormat.WORK
    assert read_work(path).pods[0].run_seconds == 50
    printed = CliRunner().invoke(cli, ["replay", "--trace", str(path), "--quiet", "-o", "json"])
    found = orjson.loads(printed.stdout)
    assert found["recorded"]["pods"]["placed"] == 1
    assert found["policies"][0]["match"]["as_recorded"] == 1.0
    text = CliRunner().invoke(cli, ["replay", "--trace", str(path), "--quiet"]).stdout
    assert words.AS_RECORDED in text
    assert words.MATCH in text
    refused = CliRunner().invoke(cli, ["replay", "--trace", str(path), "--machines", "1x8", "--quiet"])
    assert str(refused.exception) == words.no_machines_with_work(path)


def test_what_is_not_as_it_was_recorded_any_more_is_not_compared_with_it(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl.gz"
    write_file(
        path,
        [Began(at=0.0), *(NodeThere(at=0.0, name=f"n{n}", has=NODE) for n in range(4)), *_ended_after(50.0, "e")],
    )
    printed = CliRunner().invoke(cli, ["replay", "--trace", str(path), "--nodes", "50%", "--quiet", "-o", "json"])
    found = orjson.loads(printed.stdout)
    assert "recorded" not in found
    assert "match" not in found["policies"][0]
