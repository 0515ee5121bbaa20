"""Traces of jobs in Philly's format: what is read, on which machines, and what is wrong in which line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from vsched.errors import BadInput
from vsched.lab.trace.files import ClusterTrace, TraceGang
from vsched.lab.trace.fleet import MachineKind, nodes_of
from vsched.lab.trace.philly import read_jobs
from vsched.settings import load_file
from vsched.settings.installed import registry

SOME_JOBS = Path(__file__).parent / "data" / "philly.csv"
POLICIES = Path(__file__).parents[3] / "config" / "samples" / "philly"
HEAD = "timestamp,duration,num_gpus,gpu_time,cluster\n"
JOB = "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"


def read(folder: Path, text: str, *machines: MachineKind) -> ClusterTrace:
    path = folder / "jobs.csv"
    path.write_text(text, encoding="utf-8")
    return read_jobs(path, nodes_of(machines))


def test_a_job_is_read_with_all_that_it_says(tmp_path: Path) -> None:
    trace = read(tmp_path, HEAD + JOB + "2017-10-09 07:02:05,30,4,120.0,ee9e8c\n")
    first, second = trace.pods
    assert trace.epoch == 1507532515
    assert (first.name, first.created, first.run_seconds, first.gpus) == ("job-000001", 0, 66, 1)
    assert (second.name, second.created, second.run_seconds, second.gpus) == ("job-000002", 10, 30, 4)
    assert (first.queue, second.queue) == ("11cb48", "ee9e8c")
    assert first.takes_whole_gpus
    assert not trace.shares_gpus
    assert (first.cpu_milli, first.memory_mib) == (0, 0), "the file says nothing of them"


def test_columns_are_found_by_name_and_the_file_may_be_packed(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv.gz"
    path.write_bytes(gzip.compress(b"cluster,num_gpus,user,duration,timestamp\nab,2,me,5,2017-10-09T07:01:55+02:00\n"))
    trace = read_jobs(path)
    assert trace.epoch == 1507525315, "a zone is taken into account"
    assert [(pod.queue, pod.gpus, pod.run_seconds) for pod in trace.pods] == [("ab", 2, 5)]


@pytest.mark.parametrize(
    ("gpus", "machines", "sizes"),
    [
        pytest.param(8, (MachineKind(4, 8),), [8], id="one pod where a machine has them all"),
        pytest.param(16, (MachineKind(4, 8),), [8, 8], id="a gang of whole machines"),
        pytest.param(12, (MachineKind(4, 8),), [8, 4], id="and one pod for the rest"),
        pytest.param(8, (MachineKind(9, 2), MachineKind(4, 4)), [4, 4], id="pods as large as the largest machine"),
    ],
)
def test_a_job_becomes(tmp_path: Path, gpus: int, machines: tuple[MachineKind, ...], sizes: list[int]) -> None:
    trace = read(tmp_path, f"{HEAD}2017-10-09 07:01:55,66,{gpus},0,q\n", *machines)
    assert [pod.gpus for pod in trace.pods] == sizes
    assert trace.jobs == 1
    gang = TraceGang("job-000001", len(sizes), gpus) if len(sizes) > 1 else None
    assert {pod.gang for pod in trace.pods} == {gang}
    assert len({pod.name for pod in trace.pods}) == len(sizes)


def test_machines_are_those_that_are_asked_for(tmp_path: Path) -> None:
    trace = read(tmp_path, HEAD + JOB, MachineKind(2, 8), MachineKind(1, 2))
    assert [(node.name, node.gpus) for node in trace.nodes] == [
        ("machine-0001", 8), ("machine-0002", 8), ("machine-0003", 2)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("jobs", "machines"),
    [
        pytest.param([("07:00:00", 60, 8)], 1, id="one for the GPUs of a machine"),
        pytest.param([("07:00:00", 60, 9)], 2, id="one more for the rest"),
        pytest.param([("07:00:00", 60, 8), ("07:00:59", 60, 8)], 2, id="for jobs that overlap"),
        pytest.param([("07:00:00", 60, 8), ("07:01:00", 60, 8)], 1, id="for one that begins as the other ends"),
    ],
)
def test_without_any_there_are_machines_for_the_peak(
    tmp_path: Path, jobs: list[tuple[str, int, int]], machines: int
) -> None:
    lines = "".join(f"2017-10-09 {at},{runs},{gpus},0,q\n" for at, runs, gpus in jobs)
    trace = read(tmp_path, HEAD + lines)
    assert [node.gpus for node in trace.nodes] == [8] * machines


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            "timestamp,duration,gpus\n", "jobs.csv:1: no column num_gpus, cluster (expected at", id="no column"
        ),
        pytest.param("sn,cpu_milli,memory_mib,gpu\nn,1,1,0\n", "jobs.csv:1: no column timestamp", id="nodes of OpenB"),
        pytest.param(HEAD, "jobs.csv: no line after the first", id="no job"),
        pytest.param(HEAD + "yesterday,1,1,1,q\n", "jobs.csv:2: timestamp: 'yesterday' (expected a date", id="no date"),
        pytest.param(HEAD + JOB + "2017-10-09 07:01:55,-1,1,1,q\n", "jobs.csv:3: duration: '-1'", id="no duration"),
        pytest.param(
            HEAD + "2017-10-09 07:01:55,1,0,0,q\n", "num_gpus: '0' (expected a whole number from 1", id="no GPU"
        ),
        pytest.param(HEAD + "2017-10-09 07:01:55,1,1,1,\n", "jobs.csv:2: cluster: ''", id="no virtual cluster"),
        pytest.param(
            HEAD + "2017-10-09 07:01:55,1,1,1,a.b\n", "cluster: 'a.b' (expected a queue's name", id="no queue"
        ),
        pytest.param(HEAD + "2017-10-09 07:01:55,1\n", "jobs.csv:2: num_gpus: ''", id="cut off"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path, text)
    assert problem in str(caught.value)


@pytest.mark.parametrize("path", sorted(POLICIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_policies_that_are_compared_are_valid_and_named_in_their_page(path: Path) -> None:
    found = load_file(path, registry())
    assert (found.warnings, found.no_effect) == ((), ())
    assert f"[{path.name}]({path.name})" in (POLICIES / "README.md").read_text(encoding="utf-8")


def test_a_part_of_the_real_one_is_read_whole() -> None:
    trace = read_jobs(SOME_JOBS)
    assert (trace.jobs, len(trace.pods)) == (249, 249 + 3 * 1 + 3)
    assert len({pod.queue for pod in trace.pods}) == 9
