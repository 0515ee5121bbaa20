"""Plugins of other packages: which are taken, and what is said of one that cannot be used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from vsched.errors import BadInput
from vsched.settings.built_in import REGISTRY
from vsched.settings.installed import GROUP, with_plugins_of
from vsched.settings.load import default_text, load_text
from vsched.settings.words import files as words

MODULE = """\
import msgspec
from vsched.framework.points.extension import JobOrder, NoArgs, Plugin


class Args(msgspec.Struct):
    by: int = msgspec.field(default=1, name="alphabet.by")


class Alphabet(Plugin[Args], JobOrder):
    name = "alphabet"
    args_type = Args

    def job_key(self, job):
        return 0


class Other(Alphabet):
    name = "other"


class Gang(Alphabet):
    name = "gang"


class Undecided(Plugin[NoArgs], JobOrder):
    name = "undecided"


class Idle(Plugin[NoArgs]):
    name = "idle"


class Numbers(Alphabet):
    name = "numbers"
    args_type = dict


class Unreadable(msgspec.Struct):
    at: "Nowhere" = None


class Riddle(Alphabet):
    name = "riddle"
    args_type = Unreadable


def function():
    pass
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with good and bad plugins, and one that cannot be imported."""
    (tmp_path / "offered.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "offered_broken.py").write_text("import nothing_of_this_name\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


def offered(*named: str) -> list[EntryPoint]:
    """Entry points, each ``name=module:attribute``."""
    pairs = (one.split("=") for one in named)
    return [EntryPoint(name, value, GROUP) for name, value in pairs]


def test_a_plugin_of_a_package_stands_beside_the_built_in_ones() -> None:
    registry = with_plugins_of(REGISTRY, offered("alphabet=offered:Alphabet", "other=offered:Other"))

    assert set(registry.plugins) == {*REGISTRY.plugins, "alphabet", "other"}
    assert registry.actions == REGISTRY.actions


def test_its_arguments_are_read_as_those_of_any_other() -> None:
    registry = with_plugins_of(REGISTRY, offered("alphabet=offered:Alphabet"))
    text = default_text() + "  - name: alphabet\n    arguments: {alphabet.by: 3}\n"

    conf = load_text(text, "policy", registry).policy.plugin("alphabet")

    assert conf is not None
    assert getattr(conf.args, "by") == 3  # noqa: B009  # the type is known where the plugin is installed
    with pytest.raises(BadInput, match=r"alphabet.bye: unknown argument; did you mean 'alphabet.by'\?"):
        load_text(text.replace("alphabet.by", "alphabet.bye"), "policy", registry)


@pytest.mark.parametrize(
    ("named", "told"),
    [
        pytest.param(
            "alphabet=offered_broken:Alphabet",
            words.cannot_be_loaded("ModuleNotFoundError: No module named 'nothing_of_this_name'"),
            id="its module cannot be imported",
        ),
        pytest.param(
            "alphabet=offered:Nothing",
            words.cannot_be_loaded("AttributeError: module 'offered' has no attribute 'Nothing'"),
            id="its module has no such class",
        ),
        pytest.param(
            "function=offered:function",
            words.CLASS_EXPECTED,
            id="it is no class",
        ),
        pytest.param(
            "args=offered:Args",
            words.CLASS_EXPECTED,
            id="it is no plugin",
        ),
        pytest.param("alfabet=offered:Alphabet", words.name_expected("alfabet", "alphabet"), id="another name"),
        pytest.param("gang=offered:Gang", words.TAKEN_BY_VSCHED, id="a built-in name"),
        pytest.param(
            "undecided=offered:Undecided",
            words.not_defined("job_key"),
            id="an answer is missing",
        ),
        pytest.param(
            "idle=offered:Idle",
            words.NO_PART,
            id="it answers nothing",
        ),
        pytest.param(
            "numbers=offered:Numbers",
            words.struct_expected(dict),
            id="arguments of no struct",
        ),
        pytest.param(
            "riddle=offered:Riddle",
            words.arguments_cannot_be_read("NameError: name 'Nowhere' is not defined"),
            id="arguments of an unknown type",
        ),
    ],
)
def test_what_is_said_of_a_plugin_that_cannot_be_used(named: str, told: str) -> None:
    name, value = named.split("=")
    with pytest.raises(BadInput) as caught:
        with_plugins_of(REGISTRY, offered(named))

    assert str(caught.value) == f"plugin '{name}' of an unknown package ({value}): {told}"


def test_two_packages_with_a_plugin_of_one_name_are_a_mistake() -> None:
    with pytest.raises(BadInput, match=re.escape(words.taken_by("an unknown package"))):
        with_plugins_of(REGISTRY, offered("alphabet=offered:Alphabet", "alphabet=offered:Other"))


def test_every_problem_is_told_on_a_line_of_its_own() -> None:
    with pytest.raises(BadInput) as caught:
        with_plugins_of(REGISTRY, offered("gang=offered:Gang", "idle=offered:Idle", "alphabet=offered:Alphabet"))

    assert [line.split(" ")[1] for line in str(caught.value).splitlines()] == ["'gang'", "'idle'"]


def test_a_plugin_that_cannot_be_used_ends_the_program_with_one_line(tmp_path: Path) -> None:
    installed = tmp_path / "broken_plugin-1.2.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1.2\n", encoding="utf-8")
    (installed / "entry_points.txt").write_text(f"[{GROUP}]\nbroken = offered_broken:Broken\n", encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(default_text(), encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "vsched", "check", "policy.yaml"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "vsched: plugin 'broken' of package broken-plugin 1.2 (offered_broken:Broken): "
        + words.cannot_be_loaded("ModuleNotFoundError: No module named 'nothing_of_this_name'")
    ]
