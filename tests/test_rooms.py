"""Tests of one room are written with what is in that room, and with what all share in ``tests/support``."""

from __future__ import annotations

import ast
import re
from pathlib import Path

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


def test_one_name_is_one_type() -> None:
    classes: dict[str, list[str]] = {}
    for path in sorted((HERE.parent / "vsched").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes.setdefault(node.name, []).append(str(path.relative_to(HERE.parent)))
    assert {name: paths for name, paths in classes.items() if len(paths) > 1 and name not in OF_THE_WIRE} == {}


SETS_HANDLER = re.compile(r"\s+([\w.]+)\.on_\w+ = ")
MOST_METHODS = 25
MOST_PARAMETERS = 8
WIDE = {"ClusterEditor", "EditableMirror", "PluginDecisions", "PluginSet"}
"""A cluster on paper with its edits, and what the engine asks of plugins: still one class, as a file was split."""
LONG = {"Cluster", "JobStart", "NodeSelection", "NodeTable", "_Round", "_Search"}
"""The embedded cluster, and tables and searches of arrays."""
Classes = dict[str, ast.ClassDef]


def all_classes() -> list[ast.ClassDef]:
    return [
        node
        for path in sorted((HERE.parent / "vsched").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]


def methods_of(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]


def public_methods(node: ast.ClassDef, classes: Classes) -> set[str]:
    """With those that it inherits, but for extension points: a plugin has those of the engine."""
    found = {one.name for one in methods_of(node) if not one.name.startswith("_")}
    for base in node.bases:
        name = ast.unparse(base).partition("[")[0].rpartition(".")[2]
        if name in classes and name != node.name and not points(classes[name], classes):
            found |= public_methods(classes[name], classes)
    return found


def points(node: ast.ClassDef, classes: Classes) -> bool:
    """Whether a class is an extension point, or a plugin."""
    names = [ast.unparse(base).partition("[")[0] for base in node.bases]
    return node.name in ("Point", "Levers") or any(name in classes and points(classes[name], classes) for name in names)


def test_no_class_has_more_public_methods_than_one_can_keep_in_mind() -> None:
    classes = {node.name: node for node in all_classes()}
    wide = {name for name, node in classes.items() if len(public_methods(node, classes)) > MOST_METHODS}
    assert wide == WIDE


def test_no_constructor_takes_more_parameters_than_one_can_keep_in_mind() -> None:
    """Records (dataclasses, NamedTuples and Structs) name their fields where they are made: they may have more."""
    inits = (
        (node.name, method.args) for node in all_classes() for method in methods_of(node) if method.name == "__init__"
    )
    long = {name for name, args in inits if len(args.args) + len(args.kwonlyargs) - 1 > MOST_PARAMETERS}
    assert long == LONG


def test_nobody_sets_the_handler_of_another_part() -> None:
    """Who wants to hear of something is added to its ``Handlers``; what a part needs, it is given when it is made."""
    wrong = [
        f"{path.relative_to(HERE.parent)}: {line.strip()}"
        for path in sorted((HERE.parent / "vsched").rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if (found := SETS_HANDLER.match(line)) and found[1] != "self"
    ]
    assert wrong == []
