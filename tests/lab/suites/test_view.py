"""What is shown of workloads that were measured over HTTP."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from tests.support.suites import workload_of
from vsched.lab.suites.run import Measurement, Result
from vsched.lab.suites.view import document, line, tables


def test_the_processor_time_of_each_process_is_told_for_each_pod(tmp_path: Path) -> None:
    workload = workload_of(tmp_path, "- {opcode: createPods, count: 10, collectMetrics: true}")
    spent = {"server": 0.005, "daemon": 0.0125}
    slow = Measurement(name="slow", pods=10, seconds=2.0, cpu_seconds=spent)
    none = Measurement(name="none", pods=0, seconds=0.0, cpu_seconds=spent)
    fast = Measurement(name="fast", pods=10, seconds=1.0, cpu_seconds={"server": 1.0, "daemon": 1.0})
    result = Result(workload=workload, measured=(fast, none, slow))
    assert line(result) == "5 pods/s; CPU ms a pod: server 0.50, daemon 1.25"
    told = [each["cpu_ms_per_pod"] for each in document([result], "here")["workloads"][0]["measured"]]
    assert told == [{"server": 100.0, "daemon": 100.0}, {}, {"server": 0.5, "daemon": 1.25}]
    console = Console(width=90)
    with console.capture() as shown:
        console.print(tables([result], "here"))
    assert "CPU ms/pod: server, daemon" in shown.get()
    [row] = [text for text in shown.get().splitlines() if workload.full_name in text]
    assert row.split("│")[-1].strip() == "0.50, 1.25"
