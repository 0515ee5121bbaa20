"""Strict decoding of bodies that are not stored: bindings, evictions, delete options, scales; and of metadata alone."""

from __future__ import annotations

from vsched.apimachinery.meta.api_errors import bad_request
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.objects.field_decoding import cannot_decode, conform, decode
from vsched.apimachinery.objects.scalar_decoding import DecodingError, json_type


def _form(group: str, version: str, kind: str) -> Kind:
    """A kind that is in no registry, only for its type."""
    return Kind(group, version, kind, plural="", singular="", namespaced=False, storage="")


BINDING = _form("", "v1", "Binding")
EVICTION = _form("policy", "v1", "Eviction")
TOKEN_REQUEST = _form("authentication.k8s.io", "v1", "TokenRequest")
_DELETE_OPTIONS = _form("meta", "v1", "DeleteOptions")
_SCALE = _form("autoscaling", "v1", "Scale")
_METADATA = _form("meta", "v1", "ObjectMeta")


def delete_options(body: Obj) -> Obj:
    """The decoded options; raises a Failure for a body of another kind."""
    named = ("kind", "apiVersion")
    kind, version = body.get("kind", _DELETE_OPTIONS.kind), body.get("apiVersion", "v1")
    if kind != _DELETE_OPTIONS.kind:
        raise bad_request(
            f'no kind "{kind}" is registered for version "{version}" in scheme '
            '"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"'
        )
    return conform(_DELETE_OPTIONS, {field: value for field, value in body.items() if field not in named})[0]


def scale(body: Obj) -> Obj:
    return conform(_SCALE, body)[0]


def with_metadata(kind: Kind, obj: Obj) -> tuple[Obj, list[str]]:
    """An object with decoded metadata, for bodies whose own schema has none; and its unknown fields."""
    given = obj.get("metadata")
    if given is None:
        return obj, []
    if not isinstance(given, dict):
        field = f"Go struct field {kind.kind}.metadata of type v1.ObjectMeta"
        raise cannot_decode(kind, f"json: cannot unmarshal {json_type(given)} into {field}")
    try:
        metadata, unknown = decode(_METADATA, given)
    except DecodingError as error:
        raise cannot_decode(kind, str(error)) from None
    decoded = obj if metadata is given else {**obj, "metadata": metadata}
    return decoded, [f"metadata.{path}" for path in unknown]
