"""Tests of one room are written with what is in that room, and with what all share in ``tests/support``."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
IMPORT = re.compile(r"^\s*from tests\.([\w.]+) import (\(?[\w, ]*)", re.MULTILINE)


def test_no_room_imports_the_helpers_of_another_and_nobody_imports_tests() -> None:
    wrong, seen = [], 0
    for path in HERE.rglob("*.py"):
        room = path.relative_to(HERE).parts[0]
        for module, names in IMPORT.findall(path.read_text(encoding="utf-8")):
            seen += 1
            first, *_, last = module.split(".") if "." in module else (module, module)
            if first not in (room, "support") or last.startswith("test_") or names.startswith("test_"):
                wrong.append(f"{path.relative_to(HERE)}: {module}")
    assert seen > 300
    assert wrong == [], "expected helpers of the same room, or tests.support"


OF_THE_WIRE = {"Bucket", "CSIDriver", "DeviceClass", "HyperNode", "Job", "Namespace", "NodePool", "PriorityClass"}
OF_THE_WIRE |= {"Queue", "StorageClass", "Allocation", "ResourceQuota"}
"""Kinds of Kubernetes and Volcano: as the wire has them, and as the model has them or a plugin is called."""


SETS_HANDLER = re.compile(r"\s+([\w.]+)\.on_\w+ = ")
MOST_METHODS = 25
MOST_PARAMETERS = 8
WIDE = {"ClusterEditor", "EditableMirror", "PluginDecisions", "PluginSet"}
"""A cluster on paper with its edits, and what the engine asks of plugins: still one class, as a file was split."""
LONG = {"Cluster", "JobStart", "NodeSelection", "NodeTable", "_Round", "_Search"}
"""The embedded cluster, and tables and searches of arrays."""


class Kind(NamedTuple):
    """A class of the package, as far as these tests ask."""

    name: str
    path: str
    bases: list[str]
    methods: list[str]
    parameters: int
    """Of its constructor."""
    is_inner: bool


Kinds = dict[str, Kind]


@pytest.fixture(scope="module")
def all_kinds() -> list[Kind]:
    """All of the package: to read them takes some seconds."""
    found = []
    for path in sorted((HERE.parent / "vsched").rglob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        at_the_top = set(module.body)
        found += [
            _kind(node, str(path.relative_to(HERE.parent)), is_inner=node not in at_the_top)
            for node in ast.walk(module)
            if isinstance(node, ast.ClassDef)
        ]
    return found


def _kind(node: ast.ClassDef, path: str, *, is_inner: bool) -> Kind:
    methods = {one.name: one.args for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    init = methods.get("__init__")
    parameters = len(init.args) + len(init.kwonlyargs) - 1 if init else 0
    bases = [ast.unparse(base).partition("[")[0] for base in node.bases]
    return Kind(node.name, path, bases, list(methods), parameters, is_inner)


def public_methods(kind: Kind, kinds: Kinds) -> set[str]:
    """With those that it inherits, but for extension points: a plugin has those of the engine."""
    found = {name for name in kind.methods if not name.startswith("_")}
    for name in (base.rpartition(".")[2] for base in kind.bases):
        if name in kinds and name != kind.name and not points(kinds[name], kinds):
            found |= public_methods(kinds[name], kinds)
    return found


def points(kind: Kind, kinds: Kinds) -> bool:
    """Whether a class is an extension point, or a plugin."""
    return kind.name in ("Point", "Levers") or any(base in kinds and points(kinds[base], kinds) for base in kind.bases)


def test_one_name_is_one_type(all_kinds: list[Kind]) -> None:
    paths: dict[str, list[str]] = {}
    for kind in all_kinds:
        if not kind.is_inner and not kind.name.startswith("_"):
            paths.setdefault(kind.name, []).append(kind.path)
    assert {name: found for name, found in paths.items() if len(found) > 1 and name not in OF_THE_WIRE} == {}


def test_no_class_has_more_public_methods_than_one_can_keep_in_mind(all_kinds: list[Kind]) -> None:
    kinds = {kind.name: kind for kind in all_kinds}
    assert {name for name, kind in kinds.items() if len(public_methods(kind, kinds)) > MOST_METHODS} == WIDE


def test_no_constructor_takes_more_parameters_than_one_can_keep_in_mind(all_kinds: list[Kind]) -> None:
    """Records (dataclasses, NamedTuples and Structs) name their fields where they are made: they may have more."""
    assert {kind.name for kind in all_kinds if kind.parameters > MOST_PARAMETERS} == LONG


def test_nobody_sets_the_handler_of_another_part() -> None:
    """Who wants to hear of something is added to its ``Handlers``; what a part needs, it is given when it is made."""
    wrong = [
        f"{path.relative_to(HERE.parent)}: {line.strip()}"
        for path in sorted((HERE.parent / "vsched").rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if (found := SETS_HANDLER.match(line)) and found[1] != "self"
    ]
    assert wrong == []
