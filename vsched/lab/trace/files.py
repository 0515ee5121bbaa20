"""Traces of clusters: nodes and pods from two CSV files, in the format of OpenB.

OpenB is the production cluster of Alibaba's cluster-trace-gpu-v2023 (https://github.com/alibaba/clusterdata). Columns
are found by their names in the first line; others are ignored. Times are seconds since the beginning of the trace.
``gpu_milli`` is what a pod requests of each of its GPUs, 1000 for a whole one.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from vsched.errors import BadInput

T = TypeVar("T")

WHOLE_GPU = 1000
"""Thousandths in a whole GPU."""
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu")
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time", "deletion_time")
MOST_ROWS = 1_000_000
MOST_BYTES = 1 << 30
"""The largest file, unpacked."""
MOST_PROBLEMS = 20
"""Errors shown at once."""
_GZIP = b"\x1f\x8b"
"""The first bytes of gzipped files."""
_DIGITS = re.compile(r"[0-9]{1,16}")
_PART = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = re.compile(rf"{_PART}(\.{_PART})*")
NODE_LETTERS, POD_LETTERS = 63, 240
"""The longest names: a node's is also a label, and restarted pods get a suffix."""
_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class TraceNode:
    """A machine of the trace."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int = 0
    model: str = ""
    """The model of its GPUs, one for all of them."""


@dataclass(frozen=True, slots=True)
class TracePod:
    """A pod of the trace."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    gpu_milli: int
    """Thousandths of each of its GPUs."""
    models: tuple[str, ...]
    """Accepted models of GPUs; empty for all."""
    qos: str
    created: int
    """Seconds since the beginning of the trace."""
    run_seconds: int
    """How long it runs once it is bound."""

    @property
    def gpu_amount(self) -> int:
        """Thousandths of all its GPUs together."""
        return self.gpus * self.gpu_milli

    @property
    def takes_whole_gpus(self) -> bool:
        """Whether it shares its GPUs with no other pod."""
        return self.gpus > 0 and self.gpu_milli == WHOLE_GPU


@dataclass(frozen=True, slots=True)
class ClusterTrace:
    """A cluster and its pods, in the order of their creation."""

    nodes: tuple[TraceNode, ...]
    pods: tuple[TracePod, ...]


def read_trace(nodes: Path, pods: Path) -> ClusterTrace:
    """The trace in two files, ``.csv`` or ``.csv.gz``; raises BadInput with file and line of all errors."""
    read_nodes = _read(nodes, NODE_COLUMNS, _node, lambda node: node.name)
    read_pods = _read(pods, POD_COLUMNS, _pod, lambda pod: pod.name)
    return ClusterTrace(tuple(read_nodes), tuple(sorted(read_pods, key=lambda pod: (pod.created, pod.name))))


class _Row:
    """The fields of one line by column; raises BadInput with the column."""

    def __init__(self, fields: Mapping[str, str | None]) -> None:
        self._fields = fields

    def text(self, column: str) -> str:
        return (self._fields.get(column) or "").strip()

    def name(self, column: str, most: int) -> str:
        found = self.text(column)
        if len(found) > most or not _NAME.fullmatch(found):
            raise BadInput(f"{column}: {found!r} (expected lower-case letters, digits, '-' and '.', at most {most})")
        return found

    def label(self, column: str, found: str) -> str:
        if not _LABEL.fullmatch(found):
            raise BadInput(f"{column}: {found!r} (expected letters, digits, '-', '_' and '.', at most 63)")
        return found

    def service(self, column: str, found: str) -> str:
        """A class of service, after which a queue is named."""
        if not _NAME.fullmatch(found.lower().replace("_", "-")):
            raise BadInput(f"{column}: {found!r} (expected a word for a queue's name, such as LS or best-effort)")
        return self.label(column, found)

    def number(self, column: str, most: int = 10**15, least: int = 0) -> int:
        found = self.text(column)
        # Some programs write 12.0 for 12.
        digits = found.removesuffix(".0")
        if not _DIGITS.fullmatch(digits) or not least <= int(digits) <= most:
            raise BadInput(f"{column}: {found[:40]!r} (expected a whole number from {least} to {most})")
        return int(digits)


def _node(row: _Row) -> TraceNode:
    gpus = row.number("gpu", 128)
    model = row.text("model")
    return TraceNode(
        name=row.name("sn", NODE_LETTERS),
        cpu_milli=row.number("cpu_milli", least=1),
        memory_mib=row.number("memory_mib", least=1),
        gpus=gpus,
        model=row.label("model", model) if model and gpus else "",
    )


def _pod(row: _Row) -> TracePod:
    gpus = row.number("num_gpu", 128)
    milli = row.number("gpu_milli", WHOLE_GPU) if gpus else 0
    if gpus and not milli:
        raise BadInput(f"gpu_milli: 0 of {gpus} GPUs (expected 1 to {WHOLE_GPU})")
    created, deleted = row.number("creation_time"), row.number("deletion_time")
    began = row.number("scheduled_time") if row.text("scheduled_time") else created
    if began < created:
        raise BadInput(f"scheduled_time: {began} is before creation_time {created}")
    if deleted < began:
        raise BadInput(f"deletion_time: {deleted} is before the pod was there, at {began}")
    qos = row.text("qos")
    return TracePod(
        name=row.name("name", POD_LETTERS),
        cpu_milli=row.number("cpu_milli"),
        memory_mib=row.number("memory_mib"),
        gpus=gpus,
        gpu_milli=milli,
        models=tuple(row.label("gpu_spec", model) for model in row.text("gpu_spec").split("|") if model),
        qos=row.service("qos", qos) if qos else "",
        created=created,
        run_seconds=deleted - began,
    )


def _read(path: Path, columns: Sequence[str], make: Callable[[_Row], T], name_of: Callable[[T], str]) -> list[T]:
    """The records of a file; raises BadInput with all errors, up to a limit."""
    text = io.StringIO(_text_of(path), newline="")
    reader = csv.DictReader(text, restkey="", skipinitialspace=True)
    found: list[T] = []
    problems: list[str] = []
    seen: dict[str, int] = {}
    for line, fields in _lines(path, reader, columns):
        try:
            if "" in fields:
                raise BadInput("more fields than the first line names")
            made = make(_Row(fields))
            first = seen.setdefault(name_of(made), line)
            if first != line:
                raise BadInput(f"{name_of(made)!r} was in line {first} already")
            found.append(made)
        except BadInput as error:
            problems.append(f"{path}:{line}: {error}")
            if len(problems) == MOST_PROBLEMS:
                break
    if problems:
        raise BadInput("\n".join(problems))
    if not found:
        raise BadInput(f"{path}: no line after the first (expected one for each)")
    return found


def _lines(
    path: Path, reader: csv.DictReader[str], columns: Sequence[str]
) -> Iterator[tuple[int, Mapping[str, str | None]]]:
    """The lines after the first, with their numbers."""
    try:
        missing = [column for column in columns if column not in (reader.fieldnames or ())]
        if missing:
            raise BadInput(f"{path}:1: no column {', '.join(missing)} (expected at least {','.join(columns)})")
        for count, fields in enumerate(reader):
            if count == MOST_ROWS:
                raise BadInput(f"{path}:{reader.line_num}: more than {MOST_ROWS} lines")
            yield reader.line_num, fields
    except csv.Error as error:
        raise BadInput(f"{path}:{reader.line_num}: {error}") from None


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            zipped = path.suffix == ".gz" or file.read(len(_GZIP)) == _GZIP
        with gzip.open(path) if zipped else path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(raw) > MOST_BYTES:
        raise BadInput(f"{path}: larger than {MOST_BYTES >> 20} MiB")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8: {error.reason} at byte {error.start}") from None
