"""What an operator installs: the unit and its files, the flags by environment, the build files."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from vsched.cli.flags.environment import variables
from vsched.cli.run.command import command

TOP = Path(__file__).parents[1]
SYSTEMD = TOP / "systemd"
MOST_EXPOSED = 2.0


def needs(program: str) -> pytest.MarkDecorator:
    """Skips a test where the program is not installed."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def ran(*words: str | Path) -> str:
    """What a program says, which must succeed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit, with a program that exists on this machine as well."""
    text = (SYSTEMD / "vsched.service").read_text(encoding="utf-8")
    assert "ExecStart=/usr/bin/vsched run\n" in text
    unit = tmp_path / "vsched.service"
    unit.write_text(text.replace("/usr/bin/vsched", sys.executable), encoding="utf-8")
    return unit


# -- systemd


@needs("systemd-analyze")
def test_the_unit_is_free_of_errors_and_warnings(unit: Path) -> None:
    ran("systemd-analyze", "verify", "--recursive-errors=yes", unit)


@needs("systemd-analyze")
def test_a_unit_with_a_mistake_would_be_noticed(unit: Path) -> None:
    unit.write_text(unit.read_text(encoding="utf-8").replace("WatchdogSec", "WatchdogSecs"), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", "--recursive-errors=yes", str(unit)], capture_output=True)
    assert done.returncode != 0
    assert b"WatchdogSecs" in done.stderr


@needs("systemd-analyze")
def test_the_service_is_hardly_exposed(unit: Path) -> None:
    told = ran("systemd-analyze", "security", "--offline=true", "--no-pager", "--json=short", unit)
    exposures = [float(each["exposure"]) for each in json.loads(told) if each["exposure"]]
    assert len(exposures) > 3
    # The figure on a scale to ten is what the threshold is about; it ends with an error above.
    ran("systemd-analyze", "security", "--offline=true", "--no-pager", f"--threshold={MOST_EXPOSED * 10:.0f}", unit)


@needs("systemd-sysusers")
@needs("systemd-tmpfiles")
def test_the_account_and_the_directory_are_made(tmp_path: Path) -> None:
    ran("make", "-C", TOP, "install", f"DESTDIR={tmp_path}", "PROGRAM=/bin/true")
    ran("systemd-sysusers", f"--root={tmp_path}", "vsched.conf")
    account = (tmp_path / "etc/passwd").read_text(encoding="utf-8").strip().split(":")
    assert account[0] == "vsched"
    assert account[5:] == ["/var/lib/vsched", "/usr/sbin/nologin"]
    ran("systemd-tmpfiles", "--create", f"--root={tmp_path}", "vsched.conf")
    assert (tmp_path / "etc/vsched").stat().st_mode & 0o777 == 0o750
    assert (tmp_path / "etc/vsched/environment").stat().st_mode & 0o777 == 0o640


@needs("make")
def test_installing_again_leaves_the_flags_alone(tmp_path: Path) -> None:
    install = ("make", "-C", TOP, "install", f"DESTDIR={tmp_path}", "PROGRAM=/bin/true")
    ran(*install)
    assert (tmp_path / "usr/lib/systemd/system/vsched.service").is_file()
    assert (tmp_path / "usr/bin/vsched").stat().st_mode & 0o777 == 0o755
    flags = tmp_path / "etc/vsched/environment"
    flags.write_text("VSCHED_ARBITRATE=yes\n", encoding="utf-8")
    ran(*install)
    assert flags.read_text(encoding="utf-8") == "VSCHED_ARBITRATE=yes\n"


@needs("make")
def test_kubectl_finds_what_is_installed(tmp_path: Path) -> None:
    install = (
        "make",
        "-C",
        TOP,
        "install",
        f"DESTDIR={tmp_path}",
        f"PROGRAM={Path(sys.executable).with_name('vsched')}",
    )
    ran(*install)
    ran(*install)  # again, as an upgrade does
    for name in ("kubectl-vsched", "kubectl_complete-vsched"):
        assert (tmp_path / "usr/bin" / name).readlink() == Path("vsched")
    assert ran(tmp_path / "usr/bin/kubectl-vsched", "top", "--help").startswith("Usage: kubectl vsched top")
    assert ran(tmp_path / "usr/bin/kubectl_complete-vsched", "to").startswith("top\t")


# -- flags by environment


def settings() -> dict[str, str]:
    """The variables of the environment file, as if none were commented out."""
    lines = (SYSTEMD / "environment").read_text(encoding="utf-8").splitlines()
    pairs = (line.removeprefix("#").split("=", 1) for line in lines if line.lstrip("#").startswith("VSCHED_"))
    return {name: value.strip('"') for name, value in pairs}


def test_the_environment_file_has_every_flag_commented_out() -> None:
    lines = (SYSTEMD / "environment").read_text(encoding="utf-8").splitlines()
    assert all(line.startswith("#") for line in lines if line)
    assert set(settings()) == {name for name, _ in variables(command)}


def test_what_the_environment_file_says_of_each_flag_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings()
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    with command.make_context("run", [], auto_envvar_prefix="VSCHED") as context:
        taken = {parameter: context.get_parameter_source(parameter) for parameter in context.params}
    assert len(taken) == len(found)
    assert set(taken.values()) == {click.core.ParameterSource.ENVIRONMENT}


@pytest.mark.parametrize(
    ("variable", "value", "parameter", "meant"),
    [
        pytest.param("VSCHED_SCHEDULER_CONF", "p.yaml", "policy_file", Path("p.yaml"), id="a flag by its name"),
        pytest.param("VSCHED_SCHEDULER_NAME", "a b", "scheduler_names", ("a", "b"), id="a flag that may be repeated"),
        pytest.param("VSCHED_SCHEDULE", "no", "schedule", False, id="a switch"),
    ],
)
def test_a_flag_is_set_by_the_variable_of_its_name(
    variable: str, value: str, parameter: str, meant: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with command.make_context("run", [], auto_envvar_prefix="VSCHED") as context:
        assert context.params[parameter] == meant


# -- the image


def test_the_image_has_what_the_build_makes_and_runs_as_nobody() -> None:
    lines = (TOP / "helm/image/Dockerfile").read_text(encoding="utf-8").splitlines()
    steps = dict(line.split(" ", 1) for line in lines if line and not line.startswith("#"))
    assert steps["COPY"] == "image /opt/vsched"
    assert 'COLLECT(unpacked, found.binaries, found.datas, name="image"' in (TOP / "helm/image/vsched.spec").read_text()
    user, group = map(int, steps["USER"].split(":"))
    assert min(user, group) > 0
    assert json.loads(steps["ENTRYPOINT"]) == ["/opt/vsched/vsched"]
    assert json.loads(steps["CMD"]) == ["run"]
