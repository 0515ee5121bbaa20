"""A request: its path, query, accepted forms of the answer, and body."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

import orjson
import yaml

from vsched.apimachinery.meta.api_errors import (
    Failure,
    FieldCause,
    bad_request,
    invalid_options,
    not_acceptable,
    unsupported_media_type,
)
from vsched.apimachinery.meta.field_errors import forbidden, not_supported
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.objects import request_bodies
from vsched.apimachinery.objects.body_decoding import unrecognized
from vsched.apimachinery.objects.json_errors import syntax_error
from vsched.apimachinery.objects.scalar_decoding import json_type
from vsched.sim.authentication import UserInfo
from vsched.sim.requests import protobuf
from vsched.sim.store.deletion import DeleteOptions, check_options
from vsched.sim.webhooks.validating import Reviews
from vsched.sim.writer import WriteOptions
from vsched.yamltext import KubernetesLoader, check_aliases, is_too_deep

MAX_BODY_BYTES = 3 * 1024 * 1024
ACCEPTED = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_SERVED = frozenset({"application/json", "application/yaml", "application/*", "*/*"})
_OPTIONS = {"PUT": "UpdateOptions", "PATCH": "PatchOptions", "DELETE": "DeleteOptions"}
"""The options that the query of a write stands for, if they are not CreateOptions."""
_FALSE = frozenset({"", "0", "false"})
_SHAPES = frozenset({("meta.k8s.io", "v1"), ("meta.k8s.io", "v1beta1")})
_ALL = "All"
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_INT64 = 1 << 63


@dataclass(frozen=True, slots=True)
class Form:
    """The form of the answer; ``kind`` is Table, PartialObjectMetadata or empty for the object itself."""

    kind: str = ""
    version: str = ""
    yaml: bool = False


class Path(NamedTuple):
    """The parts of a resource path."""

    group: str
    version: str
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watch: bool = False


@dataclass(slots=True)
class ApiRequest:
    """One request, from its path, query, headers and body."""

    method: str
    path: str
    query: dict[str, str]
    accept: str
    content_type: str
    user_agent: str = ""
    body: bytes = b""
    warnings: list[str] = field(default_factory=list)
    reviews: Reviews = field(default_factory=Reviews)
    user: UserInfo | None = None
    """The user, if the server has authentication."""
    permits: Callable[[Obj, Obj], None] | None = None
    """Asks for the rights that depend on what an update changes, if the server has access control."""

    def flag(self, name: str) -> bool:
        """A boolean of the query; everything but empty, 0 and false is true."""
        return self.query.get(name, "").lower() not in _FALSE

    @property
    def dry_run(self) -> bool:
        return self.query.get("dryRun", "") == _ALL

    @property
    def form(self) -> Form:
        return wanted_form(self.accept)

    @property
    def manager(self) -> str:
        """The field manager of this write."""
        return self.query.get("fieldManager") or self.user_agent.partition("/")[0] or "unknown"

    def write_options(self) -> WriteOptions:
        if not self.query:
            return WriteOptions(
                field_manager=self.manager, permits=self.permits, reviews=self.reviews, warnings=self.warnings
            )
        validation = self.query.get("fieldValidation") or "Warn"
        causes = dry_run_causes([self.query["dryRun"]] if self.query.get("dryRun") else [])
        if validation not in _VALIDATIONS:
            causes.append(not_supported("fieldValidation", validation, _VALIDATIONS))
        if causes:
            raise self._invalid_options(causes)
        return WriteOptions(
            dry_run=self.dry_run,
            field_validation=validation,
            field_manager=self.manager,
            force=self.flag("force"),
            permits=self.permits,
            reviews=self.reviews,
            warnings=self.warnings,
        )

    def refuse_force(self) -> None:
        """Raises a Failure if ``force`` is given, which only server-side apply has."""
        if "force" in self.query:
            raise self._invalid_options([forbidden("force", "may not be specified for non-apply patch")])

    def _invalid_options(self, causes: list[FieldCause]) -> Failure:
        return invalid_options(_OPTIONS.get(self.method, "CreateOptions"), causes)

    def integer(self, name: str) -> int | None:
        given = self.query.get(name)
        if given is None:
            return None
        if not _INTEGER.fullmatch(given):
            raise bad_request(f'strconv.ParseInt: parsing "{given}": invalid syntax')
        if not -_INT64 <= int(given) < _INT64:
            raise bad_request(f'strconv.ParseInt: parsing "{given}": value out of range')
        return int(given)


def parse_query(text: str) -> dict[str, str]:
    """The first value of each parameter."""
    query: dict[str, str] = {}
    for key, value in parse_qsl(text, keep_blank_values=True):
        query.setdefault(key, value)
    return query


def parse_path(path: str) -> Path | None:
    """A path below /api or /apis; None for anything else."""
    parts = path.split("/")[1:]
    if "%" in path:
        parts = [unquote(part) for part in parts]
    if parts and parts[-1] == "":
        parts.pop()
    if len(parts) >= 2 and parts[0] == "api":
        return _resource_path("", parts[1], parts[2:])
    if len(parts) >= 3 and parts[0] == "apis":
        return _resource_path(parts[1], parts[2], parts[3:])
    return None


def _resource_path(group: str, version: str, rest: list[str]) -> Path | None:
    watch = bool(rest) and rest[0] == "watch"
    if watch:
        rest = rest[1:]
    namespace = ""
    # /namespaces/x and its subresources are the namespace itself; longer paths are inside it.
    if len(rest) >= 3 and rest[0] == "namespaces" and not (rest[2] in ("status", "finalize") and len(rest) == 3):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        return None
    plural, name, subresource = (*rest, "", "", "")[:3]
    return Path(group, version, plural, namespace, name, subresource, watch)


@lru_cache(maxsize=256)
def wanted_form(accept: str) -> Form:
    """The first form of an Accept header that is served. Protobuf is not; its clients accept JSON as well."""
    if not accept:
        return Form()
    for clause in accept.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        if media not in _SERVED:
            continue
        values = dict(part.partition("=")[::2] for part in parameters)
        shape = values.get("as", "")
        if shape and (values.get("g", "meta.k8s.io"), values.get("v", "v1")) not in _SHAPES:
            continue
        if shape not in ("", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"):
            continue
        return Form(shape.removesuffix("List"), values.get("v", "v1"), media == "application/yaml")
    raise not_acceptable(ACCEPTED)


def include_object(call: ApiRequest) -> str:
    """What the rows of a table contain of their objects."""
    given = call.query.get("includeObject", "")
    if given not in ("", "None", "Metadata", "Object"):
        why = "must be 'Metadata', 'Object', 'None', or empty"
        raise bad_request(f'Unable to convert to Table as requested: includeObject: Invalid value: "{given}": {why}')
    return given


@lru_cache(maxsize=64)
def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def read_body(call: ApiRequest, expected: str, *, custom: bool = False) -> Obj:
    """The body as an object of the expected kind: JSON, YAML or, for built-in kinds, protobuf."""
    value = _decoded(call, expected, custom)
    if value.__class__ is not dict:
        raise unrecognized(call.body, expected, f"json: cannot unmarshal {json_type(value)} into {_KIND_TYPE}")
    body: Obj = value
    return body


_KIND_TYPE = (
    r'Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\"";'
    r' Kind string "json:\"kind,omitempty\"" }'
)


def read_patch(call: ApiRequest) -> Any:
    """The body of a PATCH; apply patches may be YAML."""
    try:
        return orjson.loads(call.body)
    except orjson.JSONDecodeError:
        media = media_type(call.content_type)
        if media != "application/apply-patch+yaml":
            why = syntax_error(call.body)
            named = why if media.startswith("application/strategic") else f"error decoding patch: {why}"
            raise bad_request(named) from None
    return _read_yaml(call.body)


def _decoded(call: ApiRequest, expected: str, custom: bool) -> Any:
    media = media_type(call.content_type)
    if media in ("", "application/json"):
        try:
            return orjson.loads(call.body)
        except orjson.JSONDecodeError:
            raise unrecognized(call.body, expected, syntax_error(call.body)) from None
    if media == "application/yaml":
        return _read_yaml(call.body)
    if not custom and protobuf.is_protobuf(media):
        return protobuf.decode(call.body)
    raise unsupported_media_type(ACCEPTED[:2] if custom else ACCEPTED)


def _read_yaml(body: bytes) -> Any:
    """YAML as JSON, which has string keys and no numbers beyond 64 bits."""
    try:
        if is_too_deep(body.decode("utf-8", "replace")):
            raise ValueError("nested too deeply")
        check_aliases(body.decode("utf-8", "replace"))
        value = yaml.load(body, Loader=KubernetesLoader)
        return orjson.loads(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise bad_request(f"error converting YAML to JSON: {error}".replace("\n", " ")) from None


def dry_run_causes(given: list[str]) -> list[FieldCause]:
    if all(one == _ALL for one in given):
        return []
    return [not_supported("dryRun", given, (_ALL,))]


def read_delete_options(call: ApiRequest) -> DeleteOptions:
    """The delete options of the body, or of the query if there is no body."""
    body = (
        request_bodies.delete_options(read_body(call, "DeleteOptions")) if call.body else _queried_delete_options(call)
    )
    options = DeleteOptions.of(body)
    check_options(options, dry_run_causes(body.get("dryRun") or []))
    return options


def _queried_delete_options(call: ApiRequest) -> Obj:
    given = {name: call.query[name] for name in ("propagationPolicy",) if call.query.get(name)}
    options: Obj = {**given, "gracePeriodSeconds": call.integer("gracePeriodSeconds")}
    if "orphanDependents" in call.query:
        options["orphanDependents"] = call.flag("orphanDependents")
    if call.query.get("dryRun"):
        options["dryRun"] = [call.query["dryRun"]]
    return options
