"""Pages that are made: the reference of the kinds, of their definitions, and the table of figures, of its data.

``make reference`` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from tests.support.pages import TOP
from vsched.apimachinery.objects.crds import shipped_definitions

FOLDER = TOP / "config" / "reference"
DATA = FOLDER / "figures.yaml"
HEAD = """\
# Kinds

Every field of the kinds that vsched brings. `kubectl explain podgroup.spec` says the same in a cluster.
[Concepts](../README.md) says how they work together. `make reference` makes this page from
`vsched/apimachinery/objects/definitions`.

"""
FIGURES = """\
# Figures

Measured on {machine}; {unless}.
Such machines are noisy: read the ratios, and run the command on yours. `make reference` makes this page from
`config/reference/figures.yaml`. [Measuring](../../vsched/lab/README.md) explains the commands."""
ORDER = (
    *("PodGroup", "Queue", "Job", "CronJob", "JobFlow", "JobTemplate", "Command"),
    *("HyperNode", "Consumer", "Bucket", "Allocation"),
)
OF_EVERY_OBJECT = ("apiVersion", "kind", "metadata")
FEW = 3
"""Fields of another place that are told again, instead of leading there."""

Schema = dict[str, Any]


class Field(NamedTuple):
    """A row of a table."""

    path: str
    type: str
    default: str
    says: str

    def __str__(self) -> str:
        default = f" `{self.default}`" if self.default else ""
        return f"| `{self.path}` | {self.type} |{default} | {escaped(self.says)} |"


def escaped(text: str) -> str:
    """A sentence in a cell of a table."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def type_of(schema: Schema) -> str:
    """A type in short, such as ``[]string`` or ``map of quantity``, with what the value may be."""
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity" if "pattern" in schema else "integer or string"
    if schema["type"] == "array":
        return f"[]{type_of(schema['items'])}"
    if schema["type"] == "object" and "additionalProperties" in schema:
        return f"map of {type_of(schema['additionalProperties'])}"
    if schema.get("format") == "date-time":
        return "time"
    allowed = schema.get("enum") or ()
    if allowed:
        return ", ".join(f"`{value}`" for value in allowed)
    least, most = schema.get("minimum"), schema.get("maximum")
    bounds = f", {least} to {most}" if most is not None else f", at least {least}" if least else ""
    return f"{schema['type']}{bounds}"


class Tables:
    """The tables of a page. What was told before is not told again."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        """Where the fields of an object were told, by its schema."""

    def of(self, kind: str, schema: Schema) -> list[Field]:
        """The fields of a kind."""
        properties = {name: each for name, each in schema["properties"].items() if name not in OF_EVERY_OBJECT}
        return [*self._fields(kind, {**schema, "properties": properties}, "")]

    def _fields(self, kind: str, schema: Schema, path: str) -> Iterator[Field]:
        required = schema.get("required", ())
        for name, each in schema.get("properties", {}).items():
            at = f"{path}.{name}" if path else name
            inner, inside = each, at
            while "properties" not in inner and (
                "items" in inner or isinstance(inner.get("additionalProperties"), dict)
            ):
                inside += "[]" if "items" in inner else ".NAME"
                inner = inner["items"] if "items" in inner else inner["additionalProperties"]
            before = self._told.get(str(inner.get("properties")))
            says = each["description"]
            if before is not None:
                of_kind, _, place = before.partition(" ")
                where = "" if of_kind == kind else f" of [{of_kind}](#{of_kind.lower()})"
                says = f"{says} Its fields are those of `{place}`{where}."
            default = each.get("default", "")
            shown = (
                "" if isinstance(default, dict) else str(default).lower() if isinstance(default, bool) else str(default)
            )
            yield Field(at, f"{type_of(each)}{', required' if name in required else ''}", shown, says)
            if before is None:
                if len(inner.get("properties", {})) >= FEW:
                    self._told[str(inner["properties"])] = f"{kind} {inside}"
                yield from self._fields(kind, inner, inside)


def reference() -> str:
    """The page."""
    found = {each["spec"]["names"]["kind"]: each["spec"] for each in shipped_definitions()}
    assert set(found) == set(ORDER)
    tables, parts = Tables(), [HEAD + "\n".join(f"- [{kind}](#{kind.lower()})" for kind in ORDER)]
    for kind in ORDER:
        spec = found[kind]
        (version,) = (each for each in spec["versions"] if each["served"])
        schema = version["schema"]["openAPIV3Schema"]
        scope = "in a namespace" if spec["scope"] == "Namespaced" else "of the whole cluster"
        names = ", ".join(f"`{name}`" for name in (spec["names"]["plural"], *spec["names"].get("shortNames", ())))
        table = ["| field | type | default | meaning |", "|---|---|---|---|", *map(str, tables.of(kind, schema))]
        about = f"`{spec['group']}/{version['name']}`, {scope}; to kubectl {names}. {schema['description']}"
        parts.append("\n".join([f"## {kind}", "", about, "", *table]))
    return "\n\n".join(parts) + "\n"


def figures() -> str:
    """The table of figures."""
    data = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    parts = [FIGURES.format(**data)]
    for group in data["figures"]:
        rows = [
            f"| {row['what']} | {row['figure']} | `{row['command']}` | {row['date']:%-d %B %Y} |"
            for row in group["rows"]
        ]
        head = ["| what | figure | command | measured |", "|---|---|---|---|"]
        parts.append("\n".join([f"## {group['of']}", "", *head, *rows]))
    return "\n\n".join(parts) + "\n"


PAGES = {FOLDER / "README.md": reference, FOLDER / "figures.md": figures}
"""Each page, and what makes it."""


if __name__ == "__main__":
    for path, make in PAGES.items():
        path.write_text(make(), encoding="utf-8")
