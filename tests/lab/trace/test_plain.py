"""Traces in the tables of our own: what each column means, and what is wrong in which line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import page, rows, words_in
from vsched.errors import BadInput
from vsched.lab.trace import words
from vsched.lab.trace.files import TraceGang, TraceNode, TracePod
from vsched.lab.trace.formats import read_files
from vsched.lab.trace.plain import read_plain_jobs, read_plain_nodes

SAMPLES = Path(__file__).parents[3] / "config" / "samples" / "trace"


def jobs(folder: Path, *lines: str) -> tuple[TracePod, ...]:
    path = folder / "jobs.csv"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return read_plain_jobs(path)[0]


def nodes(folder: Path, *lines: str) -> tuple[TraceNode, ...]:
    path = folder / "nodes.csv"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return read_plain_nodes(path)


def test_a_job_may_say_only_when_it_comes_and_how_long_it_runs(tmp_path: Path) -> None:
    assert jobs(tmp_path, "duration,arrival", "60,5") == (TracePod("job-000001", 0, 0, 0, 0, (), "", 5, 60),)


def test_a_job_is_read_with_all_that_it_says(tmp_path: Path) -> None:
    (pod,) = jobs(
        tmp_path,
        "name,queue,user,arrival,duration,cpu,memory,gpus,gpu_part,gpu_model,priority,declared,team colour",
        "fit,research,ada,5,60,500m,1.5Gi,2,0.25,T4|A100,100,90,blue",
    )
    assert pod == TracePod(
        name="fit",
        cpu_milli=500,
        memory_mib=1536,
        gpus=2,
        gpu_milli=250,
        models=("T4", "A100"),
        qos="",
        created=5,
        run_seconds=60,
        queue="research",
        declared_seconds=90,
        user="ada",
        priority=100,
    )


def test_the_page_has_all_columns() -> None:
    told = [words_in(row[0])[0] for row in rows(page("vsched/lab/README.md").section("Tables of your own"))]
    header = (SAMPLES / "jobs.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    of_nodes = (SAMPLES / "nodes.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert told == [*header, *of_nodes]


@pytest.mark.parametrize(
    ("line", "names", "gang"),
    [
        pytest.param("a,3,,2", ["a-0", "a-1", "a-2"], TraceGang("a", 3, 6, 1000, 3000, 3072), id="that start together"),
        pytest.param(
            "a,3,3,2", ["a-0", "a-1", "a-2"], TraceGang("a", 3, 6, 1000, 3000, 3072), id="all of them at once"
        ),
        pytest.param("a,2,1,2", ["a-0", "a-1"], None, id="that start by themselves"),
        pytest.param("a,1,1,2", ["a"], None, id="or one pod"),
    ],
)
def test_a_job_has_pods(tmp_path: Path, line: str, names: list[str], gang: TraceGang | None) -> None:
    found = jobs(tmp_path, "name,pods,min_pods,gpus,cpu,memory,arrival,duration", f"{line},1,1Gi,0,10")
    assert [pod.name for pod in found] == names
    assert {pod.gang for pod in found} == {gang}
    assert [pod.is_first_of_job for pod in found] == [gang is None or number == 0 for number in range(len(names))]


def test_jobs_with_dates_come_so_long_after_the_first(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("arrival,duration\n2026-03-02T09:01:00,5\n2026-03-02 10:00:30+01:00,5\n", encoding="utf-8")
    pods, epoch = read_plain_jobs(path)
    assert [(pod.name, pod.created) for pod in pods] == [("job-000002", 0), ("job-000001", 30)]
    assert epoch == 1772442030


def test_equal_nodes_share_a_line(tmp_path: Path) -> None:
    found = nodes(tmp_path, "name,count,cpu,memory,gpus,gpu_model", "a,2,1.5,1Gi,8,A100", "b,,64,2Ti,,")
    assert found == (
        TraceNode("a-0", 1500, 1024, 8, "A100"),
        TraceNode("a-1", 1500, 1024, 8, "A100"),
        TraceNode("b", 64000, 2 << 20),
    )


@pytest.mark.parametrize(
    ("header", "line", "problem"),
    [
        pytest.param("arrival", "5", words.no_columns("jobs.csv", "duration", "arrival,duration"), id="column"),
        pytest.param("", "soon,5", "jobs.csv:2: arrival: 'soon' (expected whole seconds since the beg", id="no time"),
        pytest.param("", "2026-03-99,5", "jobs.csv:2: arrival: '2026-03-99' (expected a date", id="no date"),
        pytest.param("", "5,-1", "jobs.csv:2: duration: '-1' (expected a whole number", id="no duration"),
        pytest.param("cpu", "5,5,lots", "jobs.csv:2: cpu: 'lots' is not a quantity (expected a number", id="no amount"),
        pytest.param("cpu", "5,5,-1", "jobs.csv:2: cpu: '-1' (expected a quantity, 0 or more", id="less than nothing"),
        pytest.param("memory", "5,5,16", "jobs.csv:2: memory: '16' is less than 1Mi (expected a unit", id="no unit"),
        pytest.param("gpus", "5,5,129", f"jobs.csv:2: {words.no_number('gpus', '129', 0, 128)}", id="GPUs"),
        pytest.param("gpus,gpu_part", "5,5,1,0", "gpu_part: '0' (expected more than 0 and at most 1", id="no part"),
        pytest.param("gpus,gpu_part", "5,5,1,1.5", "gpu_part: '1.5' (expected more than 0", id="more than a GPU"),
        pytest.param("gpus,gpu_part", "5,5,1,half", "gpu_part: 'half' (expected more than 0", id="no number"),
        pytest.param("gpu_part", "5,5,0.5", "gpu_part: '0.5' of no GPU (expected gpus to be 1", id="a part of none"),
        pytest.param("gpu_model", "5,5,T4", "gpu_model: 'T4' of no GPU (expected gpus to be 1", id="a model of none"),
        pytest.param("gpus,gpu_model", "5,5,1,T 4", "gpu_model: 'T 4' (expected letters", id="no model"),
        pytest.param("pods", "5,5,0", "pods: '0' (expected a whole number from 1", id="no pods"),
        pytest.param("pods,min_pods", "5,5,4,2", "min_pods: 2 of 4 (expected 1, each pod by itself, or 4", id="half"),
        pytest.param("queue", "5,5,a.b", "queue: 'a.b' (expected a queue's name", id="no queue"),
        pytest.param("user", "5,5,Ada", "user: 'Ada' (expected lower-case letters", id="no user"),
        pytest.param("priority", "5,5,high", "priority: 'high' (expected a whole number from 0", id="no priority"),
        pytest.param("declared", "5,5,0", "declared: '0' (expected a whole number from 1", id="no declared time"),
        pytest.param("name", "5,5,A", "jobs.csv:2: name: 'A' (expected lower-case letters", id="no name"),
    ],
)
def test_what_is_wrong_is_named_with_file_line_and_column(tmp_path: Path, header: str, line: str, problem: str) -> None:
    columns = header if header == "arrival" else ",".join(["arrival,duration", *header.split(",")]).rstrip(",")
    with pytest.raises(BadInput) as caught:
        jobs(tmp_path, columns, line)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        pytest.param(
            ["x,0,1,1", "y,2026-03-02,1,1"],
            words.mixed_arrivals("jobs.csv", 3, "a date", 2, "seconds"),
            id="seconds and dates",
        ),
        pytest.param(["x,0,1,1", "x,5,1,1"], f"jobs.csv:3: {words.twice('x', 2)}", id="a name twice"),
        pytest.param(["x,0,1,2", "x-1,5,1,1"], "two lines lead to the name 'x-1'", id="the name of another's pod"),
    ],
)
def test_lines_that_do_not_go_together_are_refused(tmp_path: Path, lines: list[str], problem: str) -> None:
    with pytest.raises(BadInput) as caught:
        jobs(tmp_path, "name,arrival,duration,pods", *lines)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param("a,1,0,1Gi,,", "nodes.csv:2: cpu: '0' (expected a quantity, more than 0", id="no cpu"),
        pytest.param("a,1,1,,,", "nodes.csv:2: memory: '' (expected a quantity, more than 0", id="no memory"),
        pytest.param("a,0,1,1Gi,,", "nodes.csv:2: count: '0' (expected a whole number from 1", id="none of them"),
        pytest.param("a,1,1,1Gi,0,T4", "nodes.csv:2: gpu_model: 'T4' of no GPU", id="a model of no GPU"),
        pytest.param("A,1,1,1Gi,,", "nodes.csv:2: name: 'A' (expected lower-case letters", id="no name"),
    ],
)
def test_what_is_wrong_with_a_node_is_named(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(BadInput) as caught:
        nodes(tmp_path, "name,count,cpu,memory,gpus,gpu_model", line)
    assert problem in str(caught.value)


def test_the_sample_is_read_whole_and_fits_its_nodes() -> None:
    trace = read_files(SAMPLES / "nodes.csv", SAMPLES / "jobs.csv")
    assert (len(trace.nodes), sum(node.gpus for node in trace.nodes)) == (10, 48)
    assert len({pod.queue for pod in trace.pods}) == 2
    assert trace.epoch is not None
    assert trace.shares_gpus
    assert any(pod.gang for pod in trace.pods)
