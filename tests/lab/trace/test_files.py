"""Traces are read whole, or every line that cannot be is named."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from vsched.errors import BadInput
from vsched.lab.trace import words
from vsched.lab.trace.files import ClusterTrace, TraceNode, TracePod, read_trace

OPENB = Path(__file__).parents[3] / "config" / "samples" / "openb"
NODES = "sn,cpu_milli,memory_mib,gpu,model\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
NODE = "n1,32000,1024,2,T4\n"
POD = "p1,4000,512,1,500,,LS,Running,10,30,12\n"


def read(folder: Path, nodes: str, pods: str) -> ClusterTrace:
    (folder / "nodes.csv").write_text(nodes, encoding="utf-8")
    (folder / "pods.csv").write_text(pods, encoding="utf-8")
    return read_trace(folder / "nodes.csv", folder / "pods.csv")


def test_a_node_and_a_pod_are_read_with_all_that_they_say(tmp_path: Path) -> None:
    trace = read(tmp_path, NODES + NODE, PODS + "p1,4000,512,1,500,V100M16|T4,LS,Running,10,30,12\n")
    assert trace.nodes == (TraceNode("n1", 32000, 1024, 2, "T4"),)
    assert trace.pods == (TracePod("p1", 4000, 512, 1, 500, ("V100M16", "T4"), "LS", 10, 18),)


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        pytest.param("p1,1,1,0,0,,LS,Running,10,30,12", 18, id="from when it was scheduled"),
        pytest.param("p1,1,1,0,0,,LS,Pending,10,30,", 20, id="from its creation where it never was"),
        pytest.param("p1,1,1,0,0,,LS,Failed,10,10,10", 0, id="not at all where it ended at once"),
        pytest.param("p1,1.0,1.0,0,0,,LS,Running,10.0,30.0,12.0", 18, id="the same where numbers have a .0"),
    ],
)
def test_a_pod_runs(tmp_path: Path, line: str, seconds: int) -> None:
    assert read(tmp_path, NODES + NODE, f"{PODS}{line}\n").pods[0].run_seconds == seconds


def test_columns_are_found_by_name_in_any_order_and_others_are_passed_over(tmp_path: Path) -> None:
    nodes = "gpu,rack,sn,memory_mib,cpu_milli\n1,r7,n1,1024,32000\n"
    pods = "deletion_time,creation_time,gpu_milli,num_gpu,memory_mib,cpu_milli,name\n9,2,0,0,64,500,p1\n"
    trace = read(tmp_path, nodes, pods)
    assert trace.nodes == (TraceNode("n1", 32000, 1024, 1),)
    assert trace.pods == (TracePod("p1", 500, 64, 0, 0, (), "", 2, 7),)


def test_a_list_may_say_what_pods_ask_for_alone_and_keeps_its_order(tmp_path: Path) -> None:
    trace = read(tmp_path, NODES + NODE, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nb,1,1,1,460\na,500,64,0,0\n")
    assert not trace.timed
    assert trace.pods == (TracePod("b", 1, 1, 1, 460, (), "", 0, 0), TracePod("a", 500, 64, 0, 0, (), "", 0, 0))
    assert read(tmp_path, NODES + NODE, PODS + POD).timed


def test_pods_come_in_the_order_of_their_creation(tmp_path: Path) -> None:
    lines = "b,1,1,0,0,,,,20,30,\na,1,1,0,0,,,,20,30,\nc,1,1,0,0,,,,10,30,\n"
    assert [pod.name for pod in read(tmp_path, NODES + NODE, PODS + lines).pods] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("nodes", "pods", "document"),
    [
        pytest.param("sn,gpu\nn1,0\n", PODS + POD, "nodes.csv:1: no column cpu_milli, memory_mib", id="no column"),
        pytest.param(
            NODES + NODE,
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time\np,1,1,0,0,7\n",
            "pods.csv:1: no column deletion_time (expected at least name,",
            id="when pods come but not how long they run",
        ),
        pytest.param(NODES, PODS + POD, "nodes.csv: no line after the first", id="no node"),
        pytest.param("", PODS + POD, "nodes.csv:1: no column sn,", id="an empty file"),
        pytest.param(NODES + NODE, PODS, "pods.csv: no line after the first", id="no pod"),
        pytest.param(NODES + "n1,many,1,0,\n", PODS + POD, "nodes.csv:2: cpu_milli: 'many'", id="no number"),
        pytest.param(NODES + "n1,-1,1,0,\n", PODS + POD, "nodes.csv:2: cpu_milli: '-1'", id="below nothing"),
        pytest.param(NODES + "n1,0,1,0,\n", PODS + POD, "(expected a whole number from 1", id="a node of nothing"),
        pytest.param(NODES + "n1,1\n", PODS + POD, "nodes.csv:2: gpu: ''", id="too few fields"),
        pytest.param(NODES + "n1,1,1,0,,,7\n", PODS + POD, "nodes.csv:2: more fields than", id="too many fields"),
        pytest.param(NODES + "N_1,1,1,0,\n", PODS + POD, "nodes.csv:2: sn: 'N_1'", id="no name for a node"),
        pytest.param(NODES + "n1,1,1,1,T 4\n", PODS + POD, "nodes.csv:2: model: 'T 4'", id="no label"),
        pytest.param(NODES + f"{64 * 'n'},1,1,0,\n", PODS + POD, "'-' and '.', at most 63)", id="no label of a node"),
        pytest.param(NODES + NODE, PODS + "a..b,1,1,0,0,,,,1,2,\n", "pods.csv:2: name: 'a..b'", id="no name for a pod"),
        pytest.param(
            NODES + NODE, PODS + "p,1,1,0,0,,A._B,,1,2,\n", "pods.csv:2: qos: 'A._B'", id="no name of a queue"
        ),
        pytest.param(
            NODES + f"n,{5000 * '9'},1,0,\n", PODS + POD, "nodes.csv:2: cpu_milli: '9", id="digits without end"
        ),
        pytest.param(NODES + NODE + NODE, PODS + POD, f"nodes.csv:3: {words.twice('n1', 2)}", id="a name twice"),
        pytest.param(
            NODES + NODE,
            PODS + "p1,1,1,1,1001,,,,1,2,\n",
            f"pods.csv:2: {words.no_number('gpu_milli', '1001', 0, 1000)}",
            id="more than a GPU of one",
        ),
        pytest.param(NODES + NODE, PODS + "p1,1,1,2,0,,,,1,2,\n", "pods.csv:2: gpu_milli: 0 of 2", id="none of two"),
        pytest.param(
            NODES + NODE, PODS + "p1,1,1,0,0,,,,9,2,\n", "pods.csv:2: deletion_time: 2 is before", id="gone too soon"
        ),
        pytest.param(
            NODES + NODE,
            PODS + "p1,1,1,0,0,,,,9,20,3\n",
            "pods.csv:2: scheduled_time: 3 is before",
            id="placed too soon",
        ),
        pytest.param(NODES + NODE, PODS + POD + "p2,1,1,1\n", "pods.csv:3: gpu_milli: ''", id="cut off"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(tmp_path: Path, nodes: str, pods: str, document: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path, nodes, pods)
    assert document in str(caught.value)


def test_all_wrong_lines_are_named_together_up_to_a_bound(tmp_path: Path) -> None:
    lines = "".join(f"p{number},x,1,0,0,,,,1,2,\n" for number in range(50))
    with pytest.raises(BadInput) as caught:
        read(tmp_path, NODES + NODE, PODS + lines)
    assert len(str(caught.value).splitlines()) == 20


@pytest.mark.parametrize(
    ("content", "document"),
    [
        pytest.param(b"\xff\xfe", "not UTF-8", id="bytes that are no text"),
        pytest.param(None, "cannot be read: No such file or directory", id="no file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, document: str) -> None:
    path = tmp_path / "nodes.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput, match=r"nodes\.csv: ") as caught:
        read_trace(path, path)
    assert document in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"sn,cpu_milli", id="no gzip"),
        pytest.param(gzip.compress(NODES.encode())[:-9], id="cut off"),
        pytest.param(gzip.compress(NODES.encode())[:11] + b"\xff" * 40, id="spoilt"),
    ],
)
def test_what_only_calls_itself_packed_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "nodes.csv.gz"
    path.write_bytes(content)
    with pytest.raises(BadInput, match="cannot be read"):
        read_trace(path, path)


def test_packed_files_are_unpacked_whatever_they_are_called(tmp_path: Path) -> None:
    for name, text in (("nodes.csv.gz", NODES + NODE), ("pods.csv", PODS + POD)):
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    assert len(read_trace(tmp_path / "nodes.csv.gz", tmp_path / "pods.csv").pods) == 1


def test_tables_are_read_as_other_programs_write_them(tmp_path: Path) -> None:
    """With a byte order mark, the line ends of Windows, spaces after commas, and quotes."""
    nodes, pods = "\ufeff" + (NODES + NODE).replace("\n", "\r\n"), (PODS + POD).replace(",", ", ").replace("p1", '"p1"')
    assert read(tmp_path, nodes, pods) == read(tmp_path, NODES + NODE, PODS + POD)


def test_openb_is_all_there() -> None:
    trace = read_trace(OPENB / "nodes.csv.gz", OPENB / "pods.csv.gz")
    assert (len(trace.nodes), len(trace.pods), sum(node.gpus for node in trace.nodes)) == (1523, 8152, 6212)
