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
