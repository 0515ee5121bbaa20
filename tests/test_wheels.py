"""The packages: what each holds and needs, and that the scheduler works without its wings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from vsched import __version__
from vsched.cli import WINGS, words

TOP = Path(__file__).parents[1]
FOLDERS = {"vsched": ".", "vsched_cluster": "vsched/sim", "vsched_lab": "vsched/lab"}
HOME = "https://example.com/team/vsched"
SAMPLE = TOP / "config/samples/fair-share-1.yaml"


def ran(*command: str | Path, where: Path) -> subprocess.CompletedProcess[str]:
    """A Python that finds vsched in a folder, and nothing of the checkout."""
    line = [sys.executable, *map(str, command)]
    environment = {**os.environ, "PYTHONPATH": str(where)}
    return subprocess.run(line, cwd=where, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The wheels by their packages' names, built as ``make wheels`` does."""
    out = tmp_path_factory.mktemp("dist")
    for folder in FOLDERS.values():
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out]
        env = {**os.environ, "VSCHED_REPOSITORY": HOME}
        done = subprocess.run(command, cwd=TOP / folder, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    return {path.name.partition("-")[0]: path for path in out.iterdir()}


@pytest.fixture(scope="module")
def alone(wheels: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the scheduler is installed, and nothing else of ours."""
    return unpacked(tmp_path_factory.mktemp("alone"), wheels["vsched"])


def unpacked(folder: Path, *found: Path) -> Path:
    """A folder with what is in the wheels."""
    for wheel in found:
        zipfile.ZipFile(wheel).extractall(folder)
    return folder


def modules(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("vsched/")}


def metadata(wheel: Path) -> Message:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    return message_from_bytes(archive.read(name))


def test_each_wheel_holds_its_wing_and_together_they_hold_all(wheels: Mapping[str, Path]) -> None:
    assert set(wheels) == set(FOLDERS)
    scheduler, cluster, lab = (modules(wheels[name]) for name in FOLDERS)
    assert not [name for name in scheduler if name.startswith(("vsched/sim/", "vsched/lab/"))]
    assert all(name.startswith("vsched/sim/") for name in cluster)
    assert all(name.startswith("vsched/lab/") for name in lab)
    sources = {str(path.relative_to(TOP)) for path in (TOP / "vsched").rglob("*.py")}
    assert sources - scheduler - cluster - lab == set()


def test_packages_need_each_other_in_one_version(wheels: Mapping[str, Path]) -> None:
    found = {name: metadata(wheel) for name, wheel in wheels.items()}
    assert {each["Version"] for each in found.values()} == {__version__}
    needed = {name: each.get_all("Requires-Dist") or [] for name, each in found.items()}
    assert f"vsched=={__version__}" in needed["vsched_cluster"]
    assert f"vsched-cluster=={__version__}" in needed["vsched_lab"]
    extras = [line for line in needed["vsched"] if "extra ==" in line]
    assert [line for line in extras if line.startswith("vsched-")] == [
        f"vsched-cluster=={__version__}; extra == 'cluster'",
        f"vsched-lab=={__version__}; extra == 'lab'",
        f"vsched-lab[plots]=={__version__}; extra == 'plots'",
        f"vsched-lab[tune]=={__version__}; extra == 'tune'",
    ]
    others = [line for line in extras if not line.startswith("vsched-")]
    assert {line.partition("; ")[2] for line in others} == {"extra == 'otel'"}
    assert not any("opentelemetry" in line for line in needed["vsched"] if line not in others)


def test_packages_lead_to_the_repository_from_wherever_they_are_described(wheels: Mapping[str, Path]) -> None:
    for name, folder in FOLDERS.items():
        found = metadata(wheels[name])
        assert f"Source, {HOME}" in (found.get_all("Project-URL") or [])
        described = found.get_payload()
        assert f"]({HOME}/blob/v{__version__}/{'' if folder == '.' else f'{folder}/'}" in described
        assert re.search(r"\]\((?!https://)", described) is None


def test_the_version_stands_in_one_place() -> None:
    for folder in FOLDERS.values():
        project = tomllib.loads((TOP / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert "version" in project["dynamic"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["version"], f"vsched {__version__}", id="version"),
        pytest.param(["check", TOP / "config/scheduler.yaml"], "binpack", id="check"),
        pytest.param(["plan", "-f", SAMPLE, "-o", "json"], '"node": "node-1"', id="plan of objects"),
        pytest.param(["plan", "-f", "jobs.yaml", "-o", "json"], '"node": "n1"', id="plan of a workload"),
    ],
)
def test_the_scheduler_alone_works(arguments: list[str | Path], says: str, alone: Path) -> None:
    (alone / "jobs.yaml").write_text(JOBS, encoding="utf-8")
    done = ran("-m", "vsched", *arguments, where=alone)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout


JOBS = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      schedulerName: vsched
      containers: [{name: main, image: web, resources: {requests: {cpu: "1"}}}]
"""


@pytest.mark.parametrize(
    ("needed", "rooms", "others"),
    [
        pytest.param(
            "vsched.daemon.app, vsched.daemon.serving, vsched.cli.run.command",
            ("vsched.sim", "vsched.lab", "vsched.apimachinery"),
            {"cel", "vsched.cel.expressions", "vsched.cel.functions", "httptools", "trustme"},
            id="a daemon",
        ),
        pytest.param(
            "vsched.sim.cluster, vsched.sim.command.command",
            ("vsched.daemon", "vsched.kube", "vsched.lab"),
            {"cel", "numpy", "aiohttp", "watchfiles"},
            id="an embedded cluster",
        ),
    ],
)
def test_nothing_is_loaded_that_is_not_used(needed: str, rooms: tuple[str, ...], others: set[str]) -> None:
    loaded = ran("-c", f"import sys, {needed}; print(*sys.modules)", where=TOP).stdout.split()
    assert set(needed.split(", ")) <= set(loaded)
    assert [name for name in loaded if name.startswith(rooms)] == []
    assert others & set(loaded) == set()


def test_without_the_wings_their_commands_say_what_to_install(alone: Path) -> None:
    done = ran("-m", "vsched", "demo", where=alone)
    assert (done.returncode, done.stderr) == (1, f"vsched: {words.not_installed('demo', 'lab')}\n")


def test_with_the_wings_their_commands_are_there(wheels: Mapping[str, Path], tmp_path: Path) -> None:
    everything = unpacked(tmp_path, *wheels.values())
    listed = ran("-m", "vsched", "--help", where=everything).stdout
    assert [name for name in WINGS if f"\n  {name} " not in listed] == []
    done = ran("-m", "vsched", "cluster", "--help", where=everything)
    assert (done.returncode, done.stdout[:21]) == (0, "Usage: vsched cluster")
