"""Places in files of YAML, for messages about what is wrong there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from vsched import files
from vsched.apimachinery.manifests.documents import Manifest
from vsched.errors import BadInput, why_unreadable
from vsched.yamltext import KubernetesLoader

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file: the document, and the steps below it."""

    path: Path
    document: Manifest
    steps: tuple[str | int, ...] = ()

    def bad(self, why: str, *more: str | int) -> BadInput:
        steps = (*self.steps, *more)
        line = _line_of(self.path, self.document, steps)
        shown = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
        return BadInput(f"{self.path}, line {line}: {f'{shown}: ' if shown else ''}{why}")

    @property
    def line(self) -> int:
        """Where it begins."""
        return _line_of(self.path, self.document, self.steps)

    def convert(self, entry: Any, kind: type[T]) -> T:
        """What stands here, as a typed value; raises BadInput with the place of what is wrong."""
        try:
            return msgspec.convert(entry, kind)
        except msgspec.ValidationError as error:
            why, _, place = why_unreadable(error).partition(" - at `$")
            raise self.bad(why, *_steps(place.rstrip("`"))) from None


def _line_of(path: Path, document: Manifest, steps: tuple[str | int, ...]) -> int:
    """The line where a place begins, or what is nearest to it above."""
    number = int(document.where.rpartition(" ")[2])
    nodes = list(yaml.compose_all(files.text(path), Loader=KubernetesLoader))
    node = nodes[number - 1]
    line = node.start_mark.line
    for step in steps:
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line
        elif isinstance(node, yaml.MappingNode):
            pairs = {key.value: (key, value) for key, value in node.value}
            if step not in pairs:
                break
            key, node = pairs[step]
            line = key.start_mark.line
        else:
            break
    return int(line) + 1


def _steps(place: str) -> Iterator[str | int]:
    """``.devices[0].name`` as steps."""
    for part in place.replace("[", ".[").split("."):
        if part.startswith("[") and part[1:-1].isdecimal():
            yield int(part[1:-1])
        elif part and not part.startswith("["):
            yield part
