"""Explanations ask plugins, whichever there are: no plugin is named in the room, and none is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import vsched.explain
from vsched.settings.built_in import REGISTRY

ROOM = Path(vsched.explain.__file__).parent
FILES = sorted(ROOM.rglob("*.py"))
OTHER_MEANINGS = {
    ("namespaces.py", "resourcequota"),  # the kind, as kubectl writes it
    ("jobs.py", "priority"),  # of a job, whatever the plugins
    ("policy.py", "usage"),  # these two edits are about arguments of these plugins
    ("policy.py", "overcommit"),
    ("order.py", "priority"),  # jobs across queues are ordered by their priority, whatever the plugins
}


def names_in(file: Path) -> Iterator[str]:
    """The strings in a file that are names of plugins."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and node.value in REGISTRY.plugins:
            yield node.value


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_string_is_the_name_of_a_plugin(file: Path) -> None:
    assert {(file.name, name) for name in names_in(file)} <= OTHER_MEANINGS


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_plugin_is_imported(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [name.name for name in node.names] if isinstance(node, ast.Import) else []
        assert not [module for module in modules if f"{module}.".startswith("vsched.plugins.")]


def test_names_would_be_found(tmp_path: Path) -> None:
    file = tmp_path / "telling.py"
    file.write_text('policy.plugin("gang")\nSAYS = {"drf": "holds less"}\n', encoding="utf-8")
    assert list(names_in(file)) == ["gang", "drf"]
