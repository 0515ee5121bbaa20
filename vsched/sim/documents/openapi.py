"""OpenAPI documents: the v3 index, one document for each group version, and a v2 document. Pure.

They come from the schema table and the schemas of custom kinds. Built-in fields have no descriptions.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import orjson

from vsched.apimachinery.meta.kinds import Kind, KindRegistry, Obj
from vsched.apimachinery.meta.schema import OBJECT_META, SchemaField, SchemaTable, Type, schema_table, type_name
from vsched.sim.documents.openapi_paths import paths_of

_TITLE = {"title": "Kubernetes", "version": "v1.36.2"}
_MACHINERY = "io.k8s.apimachinery.pkg"
_PACKAGES = {
    "meta": f"{_MACHINERY}.apis.meta",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
}
_SIMPLE: dict[str, Obj] = {
    "string": {"type": "string"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "uint32": {"type": "integer", "format": "int64"},
    "uint64": {"type": "integer", "format": "int64"},
    "bool": {"type": "boolean"},
    "double": {"type": "number", "format": "double"},
    "float": {"type": "number", "format": "float"},
    "bytes": {"type": "string", "format": "byte"},
    "json": {},
}
_SHARED: dict[str, tuple[str, Obj]] = {
    "quantity": (f"{_MACHINERY}.api.resource.Quantity", {"oneOf": [{"type": "string"}, {"type": "number"}]}),
    "intorstring": (
        f"{_MACHINERY}.util.intstr.IntOrString",
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    "time": (f"{_MACHINERY}.apis.meta.v1.Time", {"type": "string", "format": "date-time"}),
    "microtime": (f"{_MACHINERY}.apis.meta.v1.MicroTime", {"type": "string", "format": "date-time"}),
    "duration": (f"{_MACHINERY}.apis.meta.v1.Duration", {"type": "string"}),
    "fields": (f"{_MACHINERY}.apis.meta.v1.FieldsV1", {"type": "object"}),
    "raw": (f"{_MACHINERY}.runtime.RawExtension", {"type": "object"}),
}
"""Scalars that have a schema of their own: its name and content."""

_ALWAYS = ("meta/v1.DeleteOptions", "meta/v1.Status", "meta/v1.ListMeta", OBJECT_META)


def index(registry: KindRegistry) -> Obj:
    """/openapi/v3: where the document of each group version is; the hash changes with its content."""
    paths = {}
    for group, version in _group_versions(registry):
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        digest = _hash(registry, group, version)
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def _group_versions(registry: KindRegistry) -> list[tuple[str, str]]:
    return list(dict.fromkeys((kind.group, kind.version) for kind in registry))


def _hash(registry: KindRegistry, group: str, version: str) -> str:
    # Of built-in kinds the names are enough, because they do not change while the server runs.
    described = [
        [kind.plural, kind.kind, [sub.name for sub in kind.subresources], kind.schema]
        for kind in _kinds(registry, group, version)
    ]
    return sha256(orjson.dumps([group, version, described], option=orjson.OPT_SORT_KEYS)).hexdigest().upper()


def _kinds(registry: KindRegistry, group: str, version: str) -> list[Kind]:
    return [kind for kind in registry if kind.group == group and kind.version == version]


def document(registry: KindRegistry, group: str, version: str) -> Obj:
    """/openapi/v3/...: the paths and schemas of one group version."""
    kinds = _kinds(registry, group, version)
    writer = _Writer("#/components/schemas/")
    writer.add_kinds(kinds)
    paths = {path: operations for kind in kinds for path, operations in paths_of(kind, writer.reference_of).items()}
    return {
        "openapi": "3.0.0",
        "info": _TITLE,
        "paths": paths,
        "components": {"schemas": writer.schemas},
    }


def swagger(registry: KindRegistry) -> Obj:
    """/openapi/v2: all definitions, for clients that look up types."""
    writer = _Writer("#/definitions/")
    writer.add_kinds(registry)
    return {"swagger": "2.0", "info": _TITLE, "paths": {}, "definitions": writer.schemas}


def component_name(type_full_name: str) -> str:
    """``core/v1.Pod`` gives ``io.k8s.api.core.v1.Pod``."""
    package, _, rest = type_full_name.partition("/")
    return f"{_PACKAGES.get(package, f'io.k8s.api.{package}')}.{rest}"


def custom_component_name(kind: Kind) -> str:
    reversed_group = ".".join(reversed(kind.group.split(".")))
    return f"{reversed_group}.{kind.version}.{kind.kind}"


class _Writer:
    """Collects the schemas of kinds and of everything they refer to."""

    def __init__(self, prefix: str) -> None:
        self.schemas: dict[str, Obj] = {}
        self._prefix = prefix
        self._table: SchemaTable = schema_table()

    def add_kinds(self, kinds: Iterable[Kind]) -> None:
        for name in _ALWAYS:
            self._add(self._table[name])
        for kind in kinds:
            one = self._table.of_kind(kind)
            if kind.custom or one is None:
                self._add_custom(kind)
            else:
                self._add(one)
                self._mark(component_name(one.name), kind)
            if "list" in kind.verbs:
                self._add_list(kind)
            for sub in kind.subresources:
                name = type_name(sub.group, sub.version, sub.kind)
                if sub.version and self._table.get(name):
                    self._add(self._table[name])

    def reference_of(self, kind: Kind) -> Obj:
        return {"$ref": self._prefix + self._name_of(kind)}

    def _name_of(self, kind: Kind) -> str:
        one = self._table.of_kind(kind)
        return custom_component_name(kind) if one is None else component_name(one.name)

    def _mark(self, name: str, kind: Kind) -> None:
        """Adds the kind of a schema, and the fields apiVersion and kind."""
        schema = self.schemas[name]
        schema.setdefault("properties", {}).update({"apiVersion": {"type": "string"}, "kind": {"type": "string"}})
        schema["x-kubernetes-group-version-kind"] = [{"group": kind.group, "kind": kind.kind, "version": kind.version}]

    def _add_list(self, kind: Kind) -> None:
        name = self._name_of(kind) + "List"
        self.schemas[name] = {
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": self._reference(component_name("meta/v1.ListMeta")),
                "items": {"type": "array", "items": self._reference(self._name_of(kind))},
            },
            "x-kubernetes-group-version-kind": [{"group": kind.group, "kind": kind.list_kind, "version": kind.version}],
        }

    def _add_custom(self, kind: Kind) -> None:
        schema = dict(kind.schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
        schema["properties"] = {
            **(schema.get("properties") or {}),
            "metadata": self._reference(component_name(OBJECT_META)),
        }
        name = custom_component_name(kind)
        self.schemas[name] = schema
        self._mark(name, kind)

    def _reference(self, name: str) -> Obj:
        return {"allOf": [{"$ref": self._prefix + name}]}

    def _add(self, one: Type) -> None:
        name = component_name(one.name)
        if name in self.schemas:
            return
        schema: Obj = {"type": "object"}
        self.schemas[name] = schema
        required = sorted(item.name for item in one.fields.values() if item.required)
        if required:
            schema["required"] = required
        schema["properties"] = {item.name: self._property(item) for item in one.fields.values()}
        if one.atomic:
            schema["x-kubernetes-map-type"] = "atomic"

    def _property(self, item: SchemaField) -> Obj:
        value = self._value(item.of)
        if item.wrapped:
            value = {"type": "array", "items": value}
        if item.shape == "{}":
            schema: Obj = {"type": "object", "additionalProperties": value}
            return {**schema, "x-kubernetes-map-type": "atomic"} if item.atomic else schema
        if item.shape == "[]":
            return {"type": "array", "items": value, **_list_rules(item)}
        strategies = [name for name, on in (("retainKeys", item.retain), ("replace", item.replace)) if on]
        return {**value, "x-kubernetes-patch-strategy": ",".join(strategies)} if strategies else value

    def _value(self, of: str) -> Obj:
        if of in _SIMPLE:
            return _SIMPLE[of]
        if of in _SHARED:
            name, schema = _SHARED[of]
            self.schemas.setdefault(name, schema)
            return self._reference(name)
        self._add(self._table[of])
        return self._reference(component_name(of))


def _list_rules(item: SchemaField) -> Obj:
    """The extensions that say how patches and server-side apply treat a list."""
    rules: Obj = {}
    if item.map_keys:
        rules["x-kubernetes-list-type"] = "map"
        rules["x-kubernetes-list-map-keys"] = list(item.map_keys)
    else:
        rules["x-kubernetes-list-type"] = "set" if item.is_set else "atomic"
    if item.merge_key is not None:
        rules["x-kubernetes-patch-strategy"] = "merge,retainKeys" if item.retain else "merge"
        if item.merge_key:
            rules["x-kubernetes-patch-merge-key"] = item.merge_key
    return rules
