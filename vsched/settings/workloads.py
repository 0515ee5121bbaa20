"""The table of workload kinds of this build, and tables that files of people complete or replace it with."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from vsched.errors import BadInput
from vsched.files import text as text_of
from vsched.mirror.ingest.workload_kinds import WorkloadTable
from vsched.mirror.ingest.workload_tables import read_table
from vsched.settings.words import files as words
from vsched.yamltext import KubernetesLoader, check_aliases, is_too_deep

_PLACE = re.compile(r": (workloads(?:\[\d+\]|\.[A-Za-z]+)*)")
_STEP = re.compile(r"([A-Za-z]+)|\[(\d+)\]")


def built_in_text() -> str:
    """The file of the built-in table."""
    return resources.files("vsched.settings").joinpath("workloads.yaml").read_text(encoding="utf-8")


@cache
def built_in_table() -> WorkloadTable:
    """The kinds that are known without a file."""
    return table_of(built_in_text(), "workloads.yaml", WorkloadTable())


def load_table(path: Path | None) -> WorkloadTable:
    """The built-in table, completed by a file where there is one; raises BadInput."""
    if path is None:
        return built_in_table()
    return table_of(text_of(path), str(path), built_in_table())


def table_of(text: str, where: str, built_in: WorkloadTable) -> WorkloadTable:
    """The table of a text; raises BadInput."""
    if is_too_deep(text):
        raise BadInput(words.nested_too_deeply(where))
    try:
        check_aliases(text)
        document = yaml.load(text, Loader=KubernetesLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f"{where}:{mark.line + 1}" if mark is not None else where
        problem = getattr(error, "problem", None) or str(error)
        raise BadInput(f"{at}: not YAML: {problem}") from None
    try:
        return read_table(document, where, built_in)
    except BadInput as error:
        raise BadInput(_with_line(str(error), where, text)) from None


def _with_line(message: str, where: str, text: str) -> str:
    """The message with the line of what it is about, as ``table.yaml:7: workloads[0].kind: ...``."""
    named = _PLACE.match(message, len(where))
    if named is None:
        return message
    node: Any = yaml.compose(text, Loader=KubernetesLoader)
    for name, index in _STEP.findall(named[1]):
        found = _below(node, name or int(index))
        if found is None:
            break
        node = found
    return f"{where}:{node.start_mark.line + 1}{message[len(where) :]}"


def _below(node: Any, step: str | int) -> Any:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step]
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    return None
