"""Runs the points of ``vsched bench --grow``, one process after another, and prints and writes what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec
import orjson

from vsched.errors import BadInput, Unavailable
from vsched.lab.bench.grow.objects import ClusterSize, room
from vsched.lab.bench.grow.point import GrowPoint
from vsched.lab.bench.grow.view import as_line, as_tables
from vsched.lab.bench.report import print_result
from vsched.lab.bench.words import grow as words
from vsched.lab.charts import Charts, make_folder, write_results
from vsched.settings import load_file
from vsched.settings.installed import registry

Document = dict[str, Any]


class Growth(NamedTuple):
    """The arguments of the command."""

    nodes: tuple[int, ...]
    pods: tuple[int, ...]
    queues: int
    namespaces: int
    gang: int
    config: str
    out: Path | None
    draws: bool

    def points(self) -> list[GrowPoint]:
        """Every number of nodes with every number of pods that has room there; the smallest first."""
        made = [
            ClusterSize(nodes=nodes, pods=pods, queues=self.queues, namespaces=self.namespaces, gang=self.gang)
            for nodes in sorted(set(self.nodes))
            for pods in sorted(set(self.pods))
            if pods <= room(nodes)
        ]
        return [GrowPoint(cluster=cluster, config=self.config) for cluster in made]


def measure_growth(growth: Growth, *, as_json: bool) -> None:
    """Measure all points, print them, and write them into a folder where there is one."""
    points = growth.points()
    if not points:
        raise BadInput(words.too_many_pods(min(growth.pods), room(max(growth.nodes))))
    if growth.config:
        load_file(growth.config, registry())  # to refuse it before anything is measured
    if growth.out is not None:
        make_folder(growth.out)
    document = {"points": [_measured(point, at, len(points)) for at, point in enumerate(points)]}
    if growth.out is not None:
        write_results(growth.out, "growth", document, _charts() if growth.draws else {})
    print_result(document, as_json, lambda found: as_tables(found["points"]))


def _measured(point: GrowPoint, at: int, count: int) -> Document:
    """The figures of a point, from a process of its own: memory that once was used is not given back."""
    cluster = point.cluster
    click.echo(f"{at + 1}/{count} {cluster.nodes:,} nodes, {cluster.pods:,} pods …", err=True)
    command = [sys.executable, "-m", "vsched.lab.bench.grow.point", msgspec.json.encode(point).decode()]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if ended.returncode:
        killed = words.OUT_OF_MEMORY if ended.returncode == -9 else ""
        raise Unavailable(words.process_ended(cluster.nodes, cluster.pods, ended.returncode, killed))
    found: Document = orjson.loads(ended.stdout)
    click.echo(f"    {as_line(found)}", err=True)
    return found


def _charts() -> Charts:
    from vsched.lab.bench.grow.plots import draw

    return {"growth": lambda document, path: draw(document["points"], path)}
