"""The template of a plugin in a package of its own: copied, built and installed, it decides as a built-in one does."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from vsched.api.manifests import Origin, decode_manifests
from vsched.explain.changes import changes
from vsched.explain.words.edits import argument
from vsched.framework.cycle import run_cycle
from vsched.framework.registry import Registry
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.settings import load_file
from vsched.settings.built_in import REGISTRY

TEMPLATE = Path(__file__).parents[2] / "config" / "plugin-template"
NOW = "2026-03-01T12:00:00Z"


class Installed(NamedTuple):
    """A copy of the template under another name, installed in a folder of its own."""

    project: Path
    packages: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A Python program that finds the package."""
        env = {
            **os.environ,
            "PYTHONPATH": str(self.packages),
            "PYTHONSAFEPATH": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # its tests need none, and plugins take a second to load
        }
        return subprocess.run(
            [sys.executable, *words], cwd=self.packages, env=env, capture_output=True, text=True, timeout=240
        )

    def vsched(self, *words: str) -> Any:
        """What a command prints as JSON."""
        done = self.run("-m", "vsched", *words, "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The template with every name in it changed, as its README says, built as a wheel and installed."""
    project = tmp_path_factory.mktemp("project")
    for file in TEMPLATE.iterdir():
        if file.is_file():
            text = file.read_text(encoding="utf-8").replace("seniority", "elders").replace("Seniority", "Elders")
            (project / file.name.replace("seniority", "elders")).write_text(text, encoding="utf-8")
    wheels, packages = project / "dist", tmp_path_factory.mktemp("packages")
    _ran(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(wheels), cwd=project)
    (wheel,) = wheels.glob("*.whl")
    pip = ["uv", "pip"] if shutil.which("uv") else [sys.executable, "-m", "pip"]
    _ran(*pip, "install", "--quiet", "--no-deps", "--target", str(packages), str(wheel), cwd=project)
    return Installed(project, packages)


def _ran(*words: str, cwd: Path) -> None:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_a_policy_may_name_it(installed: Installed) -> None:
    described = installed.vsched("check", str(installed.project / "policy.yaml"))

    assert described["tiers"][0]["plugins"][0] == {
        "name": "elders",
        "points": {"JobOrder": True, "Preemptable": True, "Reclaimable": True},
        "hierarchy": False,
        "arguments": {"elders.patience": "300s", "elders.tenure": "3600s"},
    }


def test_its_arguments_are_checked_as_those_of_built_in_plugins_are(installed: Installed, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    text = (installed.project / "policy.yaml").read_text(encoding="utf-8")
    policy.write_text(text.replace("patience: 5m", "patience: soon").replace("elders.tenure", "elders.tenur"), "utf-8")

    done = installed.run("-m", "vsched", "check", str(policy))

    assert done.returncode == 1
    assert [line.partition(".arguments.")[2] for line in done.stderr.splitlines()] == [
        "elders.patience: expected a duration such as 30s or 1m30s >= 0s, got 'soon'",
        "elders.tenur: unknown argument; did you mean 'elders.tenure'?",
    ]


def test_its_own_tests_pass_and_fail_without_it(installed: Installed) -> None:
    passing = installed.run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(installed.project))
    policy = installed.project / "policy.yaml"
    text = policy.read_text(encoding="utf-8")
    argued = "  - name: elders\n    arguments:\n      elders.patience: 5m\n      elders.tenure: 1h\n"
    assert argued in text
    try:
        policy.write_text(text.replace(argued, ""), encoding="utf-8")
        failing = installed.run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(installed.project))
    finally:
        policy.write_text(text, encoding="utf-8")

    assert passing.stdout.splitlines()[-1].startswith("3 passed"), passing.stdout
    # Without its order the urgent job goes first; without its vote the pod that has run for long leaves, too.
    assert failing.stdout.splitlines()[-1].startswith("2 failed, 1 passed"), failing.stdout


def test_an_argument_is_told_where_another_value_would_let_a_job_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(TEMPLATE)
    plugin, own = (importlib.import_module(name) for name in ("vsched_seniority", "test_seniority"))
    registry = Registry.of((*REGISTRY.plugins.values(), plugin.Seniority), REGISTRY.actions.values())
    started = "2026-03-01T08:00:00Z"
    runs = own.job("runs", started, started=started)
    urgent = own.job("urgent", "2026-03-01T11:59:00Z", priority_class="urgent")
    cache = Mirror(MirrorSettings(frozenset({"vsched"}), open_without_state=True))
    objects = [(Origin("here", 1), one) for one in (own.node(1), own.URGENT, *runs, *urgent)]
    for kind, found in decode_manifests(objects).objects.items():
        cache.intake.replace(kind, found)
    snapshot = cache.snapshot(datetime.fromisoformat(NOW).timestamp())
    policy = load_file(TEMPLATE / "policy.yaml", registry).policy

    report = run_cycle(snapshot, policy, registry)
    found = changes(snapshot, policy, registry, report, "team/urgent", most=20).changes

    assert argument("seniority.tenure", "14400s", "seniority") in [change.message for change in found]
