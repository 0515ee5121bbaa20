"""Commands of wings: found where the wing is installed; where it is not, one line says what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from vsched.cli import COMMANDS_HELP, WINGS, cli, words
from vsched.cli.wings import EXTRAS

OWN = [name for name in COMMANDS_HELP if name not in WINGS]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler without its wings."""
    for package in EXTRAS:
        monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.parametrize("name", WINGS)
def test_a_command_is_found_where_its_wing_is_installed(name: str) -> None:
    assert CliRunner().invoke(cli, [name, "--help"]).exit_code == 0


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("name", WINGS)
def test_otherwise_a_line_says_what_to_install(name: str) -> None:
    error = CliRunner().invoke(cli, [name, "--help"]).exception
    assert str(error) == words.not_installed(name, "cluster" if name == "cluster" else "lab")


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("replay --trace", ["--trace", "{}/jobs.csv"]),
        ("replay --fill", ["--trace", "{}/jobs.csv", "--fill", "1.2"]),
        ("replay --kueue", ["--kueue", "{}"]),
    ],
)
def test_flags_of_a_wing_say_so_as_well(command: str, flags: list[str], tmp_path: Path) -> None:
    error = CliRunner().invoke(cli, ["replay", *(flag.format(tmp_path) for flag in flags)]).exception
    assert str(error) == words.not_installed(command, "lab")


def test_flags_of_a_wing_are_shown_where_it_is_installed(request: pytest.FixtureRequest) -> None:
    assert "--trace" in CliRunner().invoke(cli, ["replay", "--help"]).stdout
    request.getfixturevalue("alone")
    alone = CliRunner().invoke(cli, ["replay", "--help"]).stdout
    assert ("--trace" in alone, "--cycles" in alone) == (False, True)


@pytest.mark.usefixtures("alone")
def test_only_what_is_installed_is_listed() -> None:
    shown = CliRunner().invoke(cli, ["--help"]).stdout
    listed = [line.split()[0] for line in shown.partition("Commands:")[2].splitlines() if line.startswith("  ")]
    assert [name for name in listed if name in COMMANDS_HELP] == OWN


def test_the_program_ends_with_1() -> None:
    program = (
        "import sys; sys.modules['vsched.lab'] = None; sys.argv = ['vsched', 'demo']\n"
        "from vsched.cli import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"vsched: {words.not_installed('demo', 'lab')}\n"
