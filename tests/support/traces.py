"""Small traces for replays, drawn on a seed, and as files."""

from __future__ import annotations

from pathlib import Path
from random import Random

from vsched.lab.trace.files import ClusterTrace, TraceNode, TracePod

SIZES = ((0, 0), (1, 250), (1, 500), (1, 810), (1, 1000), (2, 1000), (4, 1000))
"""GPUs and thousandths of each that pods ask for."""


def small_trace(nodes: int = 30, pods: int = 200, seed: int = 1, every_seconds: int = 6) -> ClusterTrace:
    """Half of the nodes with four GPUs, a third with one, the rest with none; pods of two classes of service."""
    draw = Random(seed)
    machines = []
    for number in range(nodes):
        gpus = 4 if number < nodes // 2 else 1 if number < nodes * 5 // 6 else 0
        machines.append(
            TraceNode(f"node-{number:03}", 32_000, 65_536, gpus, "T4" if gpus == 4 else "P100" * (gpus > 0))
        )
    made, now = [], 0
    for number in range(pods):
        now += draw.randrange(2 * every_seconds)
        gpus, milli = draw.choice(SIZES)
        models = ("T4",) if gpus and draw.random() < 0.2 else ()
        qos = draw.choice(("LS", "LS", "BE"))
        cpu = draw.choice((1000, 2000, 8000))
        made.append(TracePod(f"pod-{number:04}", cpu, 2048, gpus, milli, models, qos, now, draw.randrange(60, 1200)))
    return ClusterTrace(tuple(machines), tuple(made))


def write_trace(trace: ClusterTrace, folder: Path) -> tuple[Path, Path]:
    """The trace as two CSV files."""
    nodes, pods = folder / "nodes.csv", folder / "pods.csv"
    lines = [f"{node.name},{node.cpu_milli},{node.memory_mib},{node.gpus},{node.model}" for node in trace.nodes]
    nodes.write_text("\n".join(["sn,cpu_milli,memory_mib,gpu,model", *lines, ""]), encoding="utf-8")
    lines = [
        f"{pod.name},{pod.cpu_milli},{pod.memory_mib},{pod.gpus},{pod.gpu_milli},{'|'.join(pod.models)},{pod.qos},"
        f"{pod.created},{pod.created + pod.run_seconds}"
        for pod in trace.pods
    ]
    head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time"
    pods.write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    return nodes, pods
