"""Objects as tables for ``kubectl get``: column definitions, cells, and the metadata of each row.

The columns of built-in kinds are in ``columns``; custom kinds have columns with JSON paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson

from vsched.apimachinery.meta.kinds import Kind, Obj, PrinterColumn
from vsched.sim.tables import jsonpath
from vsched.sim.tables.ages import age_of
from vsched.sim.tables.columns import layout_of

NAME = PrinterColumn("Name", "string", "name", "Name must be unique within a namespace.")
AGE = PrinterColumn("Age", "date", json_path=".metadata.creationTimestamp")


def table(kind: Kind, items: Sequence[Obj], include_object: str, now: datetime, with_columns: bool = True) -> Obj:
    """A Table of the items; ``include_object`` is None, Metadata (or empty) or Object."""
    if kind.custom:
        columns = kind.columns or (AGE,)
        definitions = [_definition(NAME), *(_definition(column) for column in columns)]
        rows = [[obj["metadata"].get("name", ""), *_custom_cells(columns, obj, now)] for obj in items]
    else:
        layout = layout_of(kind)
        definitions = [_definition(column) for column in layout.columns]
        rows = [layout.cells(obj, now) for obj in items]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": definitions if with_columns else None,
        "rows": [
            {"cells": cells, "object": _shown(obj, include_object)} for cells, obj in zip(rows, items, strict=True)
        ],
    }


def partial(obj: Obj) -> Obj:
    """The metadata of an object."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def _shown(obj: Obj, include_object: str) -> Obj | None:
    if include_object == "None":
        return None
    return obj if include_object == "Object" else partial(obj)


def _definition(column: PrinterColumn) -> Obj:
    description = column.description
    if not description and column.json_path:
        description = f"Custom resource definition column (in JSONPath format): {column.json_path}"
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": description,
        "priority": column.priority,
    }


def _custom_cells(columns: Sequence[PrinterColumn], obj: Obj, now: datetime) -> list[Any]:
    return [_custom_cell(column, jsonpath.find(obj, column.json_path), now) for column in columns]


def _custom_cell(column: PrinterColumn, found: list[Any], now: datetime) -> Any:
    if not found or found[0] is None:
        return None
    value = found[0]
    if column.type == "date":
        return age_of(value, now) if isinstance(value, str) else "<invalid>"
    if column.type == "string":
        return " ".join(_text(one) for one in found) if len(found) > 1 else _text(value)
    if column.type == "integer":
        return int(value) if isinstance(value, (int, float)) else None
    if column.type == "number":
        return value if isinstance(value, (int, float)) else None
    return value if isinstance(value, bool) or column.type != "boolean" else None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return orjson.dumps(value).decode()
