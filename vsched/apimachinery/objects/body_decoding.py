"""Decodes the body of a request to an object of its kind: checks the type and the fields, and handles unknown fields.

The same error is a 400 for a whole object and a 422 for a patched one, with different messages.
"""

from __future__ import annotations

import json

import orjson

from vsched.apimachinery.meta.api_errors import Failure, FieldCause, bad_request, invalid, invalid_named
from vsched.apimachinery.meta.field_errors import invalid_value
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.schema import schema_table, type_name
from vsched.apimachinery.objects import crds, request_bodies
from vsched.apimachinery.objects.field_decoding import cannot_decode, conform, decode
from vsched.apimachinery.objects.json_errors import summary
from vsched.apimachinery.objects.scalar_decoding import DecodingError, json_type

_SCHEME = "pkg/api/legacyscheme/scheme.go:30"


def decoded(kind: Kind, body: Obj, field_validation: str, warnings: list[str], *, new: bool = False) -> Obj:
    """The object of a whole body; unknown fields are dropped, with a warning or an error.

    Equal specs of ``new`` pods become one object.
    """
    if kind.custom:
        obj, unknown = _custom(kind, body)
    else:
        obj, unknown = conform(kind, typed(kind, body), new=new)
    if unknown and field_validation != "Ignore":
        texts = _texts(unknown)
        if field_validation == "Strict":
            why = f"strict decoding error: {', '.join(texts)}"
            raise bad_request(why) if kind.custom else cannot_decode(kind, why)
        warnings.extend(texts)
    return obj


def decoded_patch(kind: Kind, body: Obj, field_validation: str, warnings: list[str], patch: object = None) -> Obj:
    """The object that a patch made; errors repeat the patch if it is given, else the patched object."""
    if kind.custom:
        obj, unknown = _custom(kind, body)
    else:
        try:
            obj, unknown = decode(kind, _typed_patch(kind, body))
        except DecodingError as error:
            raise _bad_patch(body, patch, str(error)) from None
    if unknown and field_validation != "Ignore":
        texts = _texts(unknown)
        if field_validation == "Strict":
            raise _bad_patch(body, patch, f"strict decoding error: {', '.join(texts)}")
        warnings.extend(texts)
    return obj


def typed(kind: Kind, body: Obj) -> Obj:
    """The body with kind and apiVersion, which bodies of built-in kinds may leave out."""
    given_kind, given_version = body.get("kind"), body.get("apiVersion")
    if given_kind == kind.kind and given_version == kind.api_version:
        return body
    for field, given in (("apiVersion", given_version), ("kind", given_kind)):
        if given is not None and not isinstance(given, str):
            text = orjson.dumps(body)
            why = f"json: cannot unmarshal {json_type(given)} into Go struct field .{field} of type string"
            raise unrecognized(text, kind.kind, why)
    why = _conversion_problem(kind, given_kind or kind.kind, given_version or kind.api_version)
    if why:
        version = (given_version or kind.api_version).rpartition("/")[2]
        raise bad_request(f'{given_kind or kind.kind} in version "{version}" cannot be handled as a {kind.kind}: {why}')
    if (given_version or kind.api_version) != kind.api_version:
        raise bad_request(
            f"the API version in the data ({given_version}) does not match the expected API version"
            f" ({kind.api_version})"
        )
    return {**body, "kind": kind.kind, "apiVersion": kind.api_version}


def unrecognized(body: bytes, expected: str, why: str) -> Failure:
    """The error for a body without a kind."""
    return bad_request(
        f"the object provided is unrecognized (must be of type {expected}): couldn't get version/kind;"
        f" json parse error: {why} ({summary(body)})"
    )


def show_as_go(value: object) -> str:
    """A JSON value as Go prints maps and lists."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{show_as_go(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(show_as_go, value)) + "]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _custom(kind: Kind, body: Obj) -> tuple[Obj, list[str]]:
    given_kind, given_version = body.get("kind"), body.get("apiVersion") or ""
    if not given_kind or not isinstance(given_kind, str):
        text = orjson.dumps(body)
        why = f"Object 'Kind' is missing in '{text.decode()}'"
        raise bad_request(f"the object provided is unrecognized (must be of type {kind.kind}): {why} ({summary(text)})")
    if given_version != kind.api_version:
        raise bad_request(
            f"the API version in the data ({given_version}) does not match the expected API version"
            f" ({kind.api_version})"
        )
    if given_kind != kind.kind:
        metadata = body.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else ""
        raise invalid(kind, str(name or ""), [invalid_value("kind", given_kind, f"must be {kind.kind}")])
    obj, unknown = request_bodies.with_metadata(kind, body)
    obj, pruned = crds.conform(kind, obj)
    return obj, [*unknown, *pruned]


def _typed_patch(kind: Kind, body: Obj) -> Obj:
    given_kind, given_version = body.get("kind") or kind.kind, body.get("apiVersion") or kind.api_version
    if given_kind == kind.kind and given_version == kind.api_version:
        return body if body.get("kind") and body.get("apiVersion") else typed(kind, body)
    why = _conversion_problem(kind, str(given_kind), str(given_version))
    if why:
        raise DecodingError(why)
    return {**body, "kind": kind.kind, "apiVersion": kind.api_version}


def _conversion_problem(kind: Kind, given_kind: str, given_version: str) -> str:
    """Why an object of another type cannot be converted to this kind; empty for another version of the same kind."""
    group, _, version = given_version.rpartition("/")
    if given_kind == kind.kind and (group, version) == (kind.group, kind.version):
        return ""
    known = schema_table().get(type_name(group, version, given_kind))
    if known is None and not (group == "policy" and given_kind == "Eviction"):
        return f'no kind "{given_kind}" is registered for version "{given_version}" in scheme "{_SCHEME}"'
    if given_kind == kind.kind:
        return ""
    internal = kind.group.partition(".")[0] or "core"
    return f"converting ({version}.{given_kind}) to ({internal}.{kind.kind}): unknown conversion"


def _texts(unknown: list[str]) -> list[str]:
    return [f'unknown field "{path}"' for path in unknown]


def _bad_patch(body: Obj, patch: object, why: str) -> Failure:
    shown = orjson.dumps(body).decode() if patch is None else show_as_go(patch)
    quoted = json.dumps(shown, ensure_ascii=False)
    return invalid_named("", "", "", "", [FieldCause("FieldValueInvalid", f"Invalid value: {quoted}: {why}", "patch")])
