"""Custom resource definitions: checks them, reads their kinds, and checks custom objects by their schemas. Pure."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import resources

import orjson
import yaml

from vsched.apimachinery.cel import validation_rules
from vsched.apimachinery.cel.rule_compilation import rule_causes
from vsched.apimachinery.meta.api_errors import FieldCause
from vsched.apimachinery.meta.kinds import Kind, Obj, PrinterColumn, Subresource
from vsched.apimachinery.objects import structural_schema
from vsched.yamltext import KubernetesLoader

APPROVAL = "api-approved.kubernetes.io"
_PROTECTED_GROUPS = ("k8s.io", "kubernetes.io")
_READ_WRITE = ("get", "patch", "update")
_AGE = PrinterColumn("Age", "date", json_path=".metadata.creationTimestamp")
_PULL_REQUEST = "https://github.com/kubernetes/enhancements/pull/1111"


def shipped_definitions() -> list[Obj]:
    """The definitions of this project, which every embedded cluster starts with."""
    return [orjson.loads(definition) for definition in _definitions("definitions")]


def foreign_definitions() -> list[Obj]:
    """Definitions of other projects that every embedded cluster starts with."""
    return [orjson.loads(definition) for definition in _definitions("foreign")]


@cache
def _definitions(name: str) -> tuple[bytes, ...]:
    """The definitions as JSON: each cluster has copies of its own, and reading YAML takes longer."""
    folder = resources.files(f"vsched.apimachinery.objects.{name}")
    files = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    texts = ((folder / name).read_text(encoding="utf-8") for name in files)
    return tuple(orjson.dumps(yaml.load(text, Loader=KubernetesLoader)) for text in texts)


def is_definition(kind: Kind) -> bool:
    return kind.storage == "apiextensions.k8s.io/customresourcedefinitions"


def conform(kind: Kind, obj: Obj) -> tuple[Obj, list[str]]:
    """The object pruned and defaulted by its kind's schema, and the paths of the fields that were dropped."""
    return structural_schema.prune_and_default(kind.schema, obj) if kind.schema else (obj, [])


def validate(kind: Kind, obj: Obj, old: Obj | None = None) -> list[FieldCause]:
    """The errors of an object that replaces ``old``, by the schema and the rules of its custom kind."""
    if not kind.schema:
        return []
    causes, tree = structural_schema.validate(kind.schema, obj), _rules_of(kind)
    return causes if tree is None else causes + validation_rules.check(tree, obj, old, causes)


@lru_cache(maxsize=512)
def _rules_of(kind: Kind) -> validation_rules.RuleTree | None:
    return validation_rules.rule_tree(kind.schema, root=True) if kind.schema else None


def prepare_definition(obj: Obj, old: Obj | None = None) -> Obj:
    """A definition with the defaults of its names, and the status of a new one."""
    spec = obj.get("spec") or {}
    names = dict(spec.get("names") or {})
    kind = names.get("kind", "")
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    conversion = spec.get("conversion") or {"strategy": "None"}
    prepared = {**obj, "spec": {**spec, "names": names, "conversion": conversion}}
    if old is not None:
        return prepared
    stored = [version["name"] for version in spec.get("versions") or () if version.get("storage")]
    accepted = {"plural": "", "kind": ""}
    status = {"conditions": None, "acceptedNames": accepted, "storedVersions": stored}
    return {**prepared, "status": status}


def definition_causes(obj: Obj) -> list[FieldCause]:
    """The errors of a definition."""
    spec = obj["spec"]
    causes = [
        FieldCause("FieldValueRequired", "Required value", path)
        for path, given in (
            ("spec.group", spec.get("group")),
            ("spec.names.kind", spec["names"].get("kind")),
            ("spec.names.plural", spec["names"].get("plural")),
            *((f"spec.versions[{i}].name", each.get("name")) for i, each in enumerate(spec.get("versions") or ())),
        )
        if not given
    ]
    group, plural = spec.get("group", ""), spec["names"].get("plural", "")
    name = obj["metadata"]["name"]
    if name != f"{plural}.{group}":
        text = f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group'
        causes.append(FieldCause("FieldValueInvalid", text, "metadata.name"))
    versions = spec.get("versions") or []
    if sum(bool(version.get("storage")) for version in versions) != 1:
        text = 'Invalid value: "array": must have exactly one version marked as storage version'
        causes.append(FieldCause("FieldValueInvalid", text, "spec.versions"))
    for index, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            where = f"spec.versions[{index}].schema.openAPIV3Schema"
            causes.append(FieldCause("FieldValueRequired", "Required value: schemas are required", where))
    if spec.get("scope") not in ("Cluster", "Namespaced"):
        text = f'Unsupported value: "{spec.get("scope", "")}": supported values: "Cluster", "Namespaced"'
        causes.append(FieldCause("FieldValueNotSupported", text, "spec.scope"))
    return causes + rule_causes(spec) + _approval_causes(obj)


def _approval_causes(obj: Obj) -> list[FieldCause]:
    if not _is_protected(obj["spec"].get("group", "")):
        return []
    path = f"metadata.annotations[{APPROVAL}]"
    text = (obj["metadata"].get("annotations") or {}).get(APPROVAL, "")
    if not text:
        why = f'protected groups must have approval annotation "{APPROVAL}", see {_PULL_REQUEST}'
        return [FieldCause("FieldValueRequired", f"Required value: {why}", path)]
    if text.startswith("unapproved") or "://" in text:
        return []
    why = f'protected groups must have approval annotation "{APPROVAL}" with either a URL or a reason starting with'
    return [FieldCause("FieldValueInvalid", f'Invalid value: "{text}": {why} "unapproved", see {_PULL_REQUEST}', path)]


def _is_protected(group: str) -> bool:
    return any(group == suffix or group.endswith("." + suffix) for suffix in _PROTECTED_GROUPS)


def established_conditions(obj: Obj, now: str) -> list[Obj]:
    rows = [
        ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        ("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
    ]
    if _is_protected(obj["spec"]["group"]):
        text = obj["metadata"]["annotations"][APPROVAL]
        approved = not text.startswith("unapproved")
        status, reason = ("True", "ApprovedAnnotation") if approved else ("False", "UnapprovedAnnotation")
        message = f"approved in {text}" if approved else f'not approved: "{text}"'
        rows.append(("KubernetesAPIApprovalPolicyConformant", status, reason, message))
    return [
        {"type": type_, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
        for type_, status, reason, message in rows
    ]


def installing(condition: Obj) -> Obj:
    """The condition before the definition is served."""
    if condition["type"] != "Established":
        return condition
    return {**condition, "status": "False", "reason": "Installing"}


def kinds_of(obj: Obj) -> list[Kind]:
    """The kinds of a definition, the stored version first."""
    spec = obj["spec"]
    versions = [version for version in spec["versions"] if version.get("served")]
    return [_kind(spec, version) for version in sorted(versions, key=lambda each: not each.get("storage"))]


def _kind(spec: Obj, version: Obj) -> Kind:
    names = spec["names"]
    subresources = version.get("subresources") or {}
    served = []
    if "status" in subresources:
        served.append(Subresource("status", names["kind"], _READ_WRITE))
    scale = subresources.get("scale")
    if scale:
        served.append(Subresource("scale", "Scale", _READ_WRITE, "autoscaling", "v1"))
    paths = ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
    return Kind(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        namespaced=spec["scope"] == "Namespaced",
        storage=f"{spec['group']}/{names['plural']}",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(served),
        custom=True,
        columns=tuple(_column(each) for each in version.get("additionalPrinterColumns") or ()) or (_AGE,),
        list_kind=names.get("listKind", ""),
        schema=(version.get("schema") or {}).get("openAPIV3Schema"),
        counts_generation=True,
        unconditional_update=False,
        stored=bool(version.get("storage")),
        scale_paths=tuple(scale.get(path, "") for path in paths) if scale else (),
        selectable_fields=tuple(each["jsonPath"].lstrip(".") for each in version.get("selectableFields") or ()),
    )


def _column(given: Obj) -> PrinterColumn:
    return PrinterColumn(
        name=given["name"],
        type=given.get("type", "string"),
        format=given.get("format", ""),
        description=given.get("description", ""),
        priority=given.get("priority", 0),
        json_path=given["jsonPath"],
    )
