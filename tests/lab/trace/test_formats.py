"""Which format a file is in, and which machines there are where no file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.traces import small_trace, write_trace
from vsched.errors import BadInput
from vsched.lab.trace.files import TraceNode, TracePod
from vsched.lab.trace.fleet import MachineKind, nodes_for
from vsched.lab.trace.formats import TraceFormat, format_of, read_files

PHILLY = Path(__file__).parent / "data" / "philly.csv"


def write(folder: Path, text: str, name: str = "jobs.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("header", "format"),
    [
        pytest.param("arrival,duration", TraceFormat.PLAIN, id="ours"),
        pytest.param("name,cpu_milli,memory_mib,num_gpu,gpu_milli", TraceFormat.OPENB, id="OpenB"),
        pytest.param("timestamp,duration,num_gpus,gpu_time,cluster", TraceFormat.PHILLY, id="Philly"),
        pytest.param("\ufeff cluster, timestamp", TraceFormat.PHILLY, id="with a byte order mark and blanks"),
    ],
)
def test_the_header_says_the_format(tmp_path: Path, header: str, format: TraceFormat) -> None:
    assert format_of(write(tmp_path, f"{header}\n")) is format


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        pytest.param("when,what", "jobs.csv:1: of no known format (expected a column arrival for plain,", id="none"),
        pytest.param("", "jobs.csv:1: of no known format", id="an empty file"),
        pytest.param("arrival,timestamp", "columns arrival and timestamp are of different formats", id="two"),
    ],
)
def test_a_header_that_does_not_decide_is_refused_unless_the_format_is_given(
    tmp_path: Path, header: str, problem: str
) -> None:
    path = write(tmp_path, header)
    with pytest.raises(BadInput) as caught:
        format_of(path)
    assert problem in str(caught.value)
    assert "--trace-format" in str(caught.value)
    assert format_of(path, TraceFormat.PLAIN) is TraceFormat.PLAIN


def test_nodes_and_jobs_may_be_in_different_formats(tmp_path: Path) -> None:
    openb, _ = write_trace(small_trace(nodes=4, pods=2), tmp_path)
    ours = write(tmp_path, "name,count,cpu,memory,gpus\nbox,3,8,16Gi,4\n", "ours.csv")
    jobs = write(tmp_path, "arrival,duration\n0,60\n")
    assert [node.name for node in read_files(openb, jobs).nodes] == [f"node-{number:03}" for number in range(4)]
    on_ours = read_files(ours, PHILLY)
    assert [node.gpus for node in on_ours.nodes] == [4, 4, 4]
    assert max(pod.gpus for pod in on_ours.pods) == 4, "larger jobs are gangs"


def test_pods_of_openb_need_no_nodes(tmp_path: Path) -> None:
    pods = write(tmp_path, "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\na,1,1,1,500,0,5\n")
    assert [node.gpus for node in read_files(None, pods, [MachineKind(1, 2), MachineKind(1, 4)]).nodes] == [2, 4]


@pytest.mark.parametrize(
    ("nodes", "jobs", "machines", "problem"),
    [
        pytest.param(
            "name,cpu,memory\na,8,1Gi\n",
            "timestamp,duration,num_gpus,cluster\n2026-03-02,60,1,q\n",
            (),
            "its jobs ask for GPUs, and no node has one",
            id="jobs of Philly on nodes without GPUs",
        ),
        pytest.param(
            "", "arrival,duration,gpus,gpu_model\n0,60,1,T4\n", (), "job-000001 asks for GPUs of model T4", id="models"
        ),
        pytest.param(
            "name,cpu,memory\na,8,1Gi\n", "arrival,duration\n0,60\n", (MachineKind(1, 8),), "--machines: ", id="both"
        ),
        pytest.param("name,cpu\na,8\n", "arrival,duration\n0,60\n", (), "nodes.csv:1: no column memory", id="nodes"),
    ],
)
def test_files_that_do_not_go_together_are_refused(
    tmp_path: Path, nodes: str, jobs: str, machines: tuple[MachineKind, ...], problem: str
) -> None:
    with pytest.raises(BadInput) as caught:
        read_files(write(tmp_path, nodes, "nodes.csv") if nodes else None, write(tmp_path, jobs), machines)
    assert problem in str(caught.value)


def a_pod(name: str, created: int, cpu: int = 0, memory: int = 0, gpus: int = 0, milli: int = 1000) -> TracePod:
    return TracePod(name, cpu, memory, gpus, milli if gpus else 0, (), "", created, 60)


@pytest.mark.parametrize(
    ("pods", "machines"),
    [
        pytest.param([a_pod("a", 0)], [TraceNode("machine-0001", 64_000, 524_288)], id="one, for pods of nothing"),
        pytest.param(
            [a_pod("a", 0, gpus=1, milli=500), a_pod("b", 0, gpus=8)],
            [TraceNode(f"machine-000{number}", 64_000, 524_288, 8) for number in (1, 2)],
            id="for the GPUs that are held at a time",
        ),
        pytest.param(
            [a_pod("a", 0, gpus=8), a_pod("b", 60, gpus=8)],
            [TraceNode("machine-0001", 64_000, 524_288, 8)],
            id="and no more, where one begins as the other ends",
        ),
        pytest.param(
            [a_pod("a", 0, cpu=40_000), a_pod("b", 0, cpu=40_000)],
            [TraceNode(f"machine-000{number}", 64_000, 524_288) for number in (1, 2)],
            id="for their cpu",
        ),
        pytest.param(
            [a_pod("a", 0, cpu=96_000, memory=1 << 20)],
            [TraceNode("machine-0001", 96_000, 1 << 20)],
            id="as large as the largest pod",
        ),
    ],
)
def test_machines_are_enough_for_the_peak(pods: list[TracePod], machines: list[TraceNode]) -> None:
    assert list(nodes_for(pods)) == machines
