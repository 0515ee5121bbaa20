"""The table of workload kinds of this build, and tables that files of people complete or replace it with."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

import yaml

from vsched.errors import BadInput
from vsched.files import text as text_of
from vsched.mirror.ingest.workload_kinds import WorkloadTable
from vsched.mirror.ingest.workload_tables import read_table
from vsched.yamltext import KubernetesLoader, check_aliases, is_too_deep


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
        raise BadInput(f"{where}: nested too deeply to be read")
    try:
        check_aliases(text)
        document = yaml.load(text, Loader=KubernetesLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f"{where}:{mark.line + 1}" if mark is not None else where
        problem = getattr(error, "problem", None) or str(error)
        raise BadInput(f"{at}: not YAML: {problem}") from None
    return read_table(document, where, built_in)
