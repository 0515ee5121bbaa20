"""The bench of growth: its points, its figures, what it draws, and that its clusters are what they say."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from vsched import api
from vsched.cli import cli
from vsched.kube.watch.framing import decode_page
from vsched.lab.bench.grow.objects import ClusterSize, lists, new_gang, room
from vsched.lab.bench.grow.plots import draw
from vsched.lab.bench.grow.point import NEW_GANG, GrownDaemon, GrowPoint, measure
from vsched.lab.bench.grow.run import Growth
from vsched.lab.bench.grow.view import as_tables
from vsched.lab.bench.growth import capacity_policy
from vsched.lab.bench.words import grow as words
from vsched.lab.bench.words.core import OUT_WITHOUT_GROW
from vsched.model.pods.status import Status

SMALL = ClusterSize(nodes=8, pods=200, queues=8, namespaces=6, waiting=40)


def bench(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["bench", "--grow", *arguments])


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    """A small point, measured in this process."""
    return measure(GrowPoint(cluster=SMALL, repeats=2), lambda text: None)


def test_every_kind_is_listed_with_as_many_objects_as_were_asked_for() -> None:
    counts: Counter[str] = Counter()
    uids: set[str] = set()
    for kind, data in lists(SMALL):
        for part in decode_page(data).items or ():
            found = api.decode(kind, bytes(part))
            counts[kind] += 1
            if kind == "Pod":
                uids.add(found.metadata.uid)
    assert (counts["Node"], counts["Pod"]) == (SMALL.nodes, SMALL.pods + SMALL.waiting)
    assert counts["Namespace"] == SMALL.namespaces
    assert counts["Queue"] == 8 + 2 + 4  # leaves, and two levels of branches with two children each
    assert counts["PodGroup"] == 7 + 2  # 65 % of the pods in gangs of 20, and those that wait
    assert len(uids) == counts["Pod"]


def test_pods_are_ours_and_of_others_and_have_the_usual_size() -> None:
    pods = [bytes(part) for kind, data in lists(SMALL) if kind == "Pod" for part in decode_page(data).items or ()]
    running = [pod for pod in map(msgspec.json.decode, pods) if pod["spec"].get("nodeName")]
    schedulers = Counter(pod["spec"]["schedulerName"] for pod in running)
    assert schedulers == {"vsched": 140, "default-scheduler": 60}
    assert 2_000 < sum(map(len, pods)) / len(pods) < 4_000


def test_a_new_gang_asks_for_what_no_other_asks_for() -> None:
    daemon = GrownDaemon(SMALL, capacity_policy(in_a_tree=True))
    daemon.list(lambda text: None)
    shapes = set()
    for number in (0, 1):
        daemon.new_shape(number)
        for kind, data in new_gang(SMALL, number, NEW_GANG):
            task = daemon.mirror.task(api.decode(kind, data).metadata.uid) if kind == "Pod" else None
            shapes |= {task.shape} if task is not None else set()
    assert len(shapes) == 2


def test_the_cluster_is_listed_decided_on_and_filled(figures: dict[str, Any]) -> None:
    assert figures["placed_first"] == SMALL.waiting
    assert figures["new_shape_placed"] == NEW_GANG
    assert figures["restart_seconds"] >= figures["listed_seconds"]


def test_all_that_is_told_of_a_point_is_there(figures: dict[str, Any]) -> None:
    assert figures.keys() >= {"idle_ms", "new_shape_ms", "snapshot_ms", "peak_mb"}
    assert set(figures["memory"]) == {"resident_mb", "pod_kb"}
    assert figures["metrics"]["series"] > 100
    assert figures["page"]["bytes"] > figures["page"]["gzip_bytes"] > 1_000


def test_running_pods_run_and_waiting_ones_wait_until_the_first_session() -> None:
    daemon = GrownDaemon(SMALL, capacity_policy(in_a_tree=True))
    daemon.list(lambda text: None)
    snapshot = daemon.mirror.snapshot(0.0)
    counts = Counter(
        task.status for node in snapshot.nodes.statics.names for task in daemon.mirror.tasks_on(node) or ()
    )
    counts.update(task.status for job in snapshot.jobs.values() for task in job.pending.values())
    assert counts[Status.RUNNING] == SMALL.pods
    assert counts[Status.PENDING] == SMALL.waiting


def growth(*nodes: int, pods: tuple[int, ...]) -> Growth:
    return Growth(nodes, pods, queues=8, namespaces=6, gang=20, config="", out=None, draws=False)


def test_points_without_room_are_left_out_and_small_ones_come_first() -> None:
    sizes = [(point.cluster.nodes, point.cluster.pods) for point in growth(20, 10, pods=(4_000, 100)).points()]
    assert sizes == [(10, 100), (20, 100), (20, 4_000)]
    assert room(10) < 4_000 <= room(20)


def test_a_point_is_measured_in_a_process_of_its_own() -> None:
    found = bench("--nodes", "8", "--pods", "100", "--queues", "8", "--namespaces", "6", "--json")
    assert found.exit_code == 0, found.output
    (point,) = json.loads(found.stdout)["points"]
    assert (point["nodes"], point["pods"], point["placed_first"]) == (8, 100, 1_000)
    assert "1/1 8 nodes, 100 pods" in found.stderr
    assert f"{words.NEW_SHAPE}: " in found.stderr


def test_points_are_drawn(figures: dict[str, Any], tmp_path: Path) -> None:
    points = [figures, {**figures, "nodes": 16}, {**figures, "pods": 400}]
    for suffix in ("png", "svg"):
        draw(points, tmp_path / f"growth.{suffix}")
    drawn = (tmp_path / "growth.svg").read_text(encoding="utf-8")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
    assert drawn.count("<!-- 400 pods -->") == 1  # the legend has each number of pods once


LARGE: dict[str, Any] = {
    "nodes": 10_000,
    "pods": 140_000,
    "queues": 500,
    "namespaces": 200,
    "new_shape_ms": 123.4,
    "snapshot_ms": 12.34,
    "idle_ms": 1.23,
    "restart_seconds": 34.5,
    "memory": {"resident_mb": 4321.0, "pod_kb": 12.34},
    "peak_mb": 5678,
    "metrics": {"bytes": 2_345_678, "ms": 456.0, "series": 30_000},
    "page": {"bytes": 8_765_432, "gzip_bytes": 987_654, "freeze_ms": 11.0, "draw_ms": 222.0, "encode_ms": 33.0},
}
"""What a large point may come to."""


def test_the_tables_have_a_line_for_each_point_and_fit_a_usual_screen() -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(*as_tables([LARGE, {**LARGE, "nodes": 16, "pods": 100}]))
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]
    for size in ("10,000 140,000", "16 100"):
        assert f"{size} 123.4 12.34 1.23 34.5 4,321 5,678" in lines
        assert f"{size} 2,346 456 8,765 988 266" in lines
    assert words.size(500, 200) in lines


def test_the_tables_take_what_is_measured(figures: dict[str, Any]) -> None:
    assert [table.row_count for table in as_tables([figures, figures])] == [2, 2]


REFUSED = [
    ("pods that fit on no number of nodes", ("--nodes", "1", "--pods", "9000"), words.too_many_pods(9000, 250)),
    ("an option of the other bench", ("--shapes", "4"), words.not_with_grow("--shapes")),
    ("a size that is no number", ("--nodes", "5,many"), "'many' is not a valid integer"),
    ("a size out of range", ("--nodes", "5,0"), "0 is not in the range"),
    ("a policy that is not there", ("--config", "/nowhere.yaml"), "/nowhere.yaml"),
]


@pytest.mark.parametrize(("arguments", "said"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_bad_arguments_are_refused_before_anything_is_measured(arguments: tuple[str, ...], said: str) -> None:
    found = bench(*arguments)
    assert found.exit_code
    assert said in found.output + str(found.exception)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--nodes", "4,5"), words.several_sizes("nodes", "4,5")), (("--out", "x"), OUT_WITHOUT_GROW)],
    ids=["several sizes", "a folder"],
)
def test_the_other_benches_refuse_what_only_growth_takes(arguments: tuple[str, ...], said: str) -> None:
    found = CliRunner().invoke(cli, ["bench", *arguments])
    assert found.exit_code == 2
    assert said in found.output
