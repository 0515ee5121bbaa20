"""What a request asks for: its path, query, wanted form of the answer and body, read once and typed.

Nothing is looked up or decided here beyond what the words of the request mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson
import yaml

from vsched.sim import bodies, protobuf
from vsched.sim.deletion import DeleteOptions
from vsched.sim.kinds import Obj
from vsched.sim.status import bad_request, not_acceptable, unsupported_media_type
from vsched.sim.writes import WriteOptions

MAX_BODY_BYTES = 3 * 1024 * 1024
ACCEPTED = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_SERVED = frozenset({"application/json", "application/yaml", "application/*", "*/*"})
_FALSE = frozenset({"", "0", "false"})
_INTEGER = re.compile(r"[-+]?[0-9]+")
_INT64 = 1 << 63


@dataclass(frozen=True, slots=True)
class Form:
    """The form an answer is wanted in; ``kind`` is Table, PartialObjectMetadata or empty for the object itself."""

    kind: str = ""
    version: str = ""
    yaml: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """A resource path, taken apart."""

    group: str
    version: str
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watch: bool = False


@dataclass(slots=True)
class Call:
    """One request: what the path, the query and the headers say."""

    method: str
    path: str
    query: dict[str, str]
    accept: str
    content_type: str
    user_agent: str = ""
    body: bytes = b""
    warnings: list[str] = field(default_factory=list)

    def flag(self, name: str) -> bool:
        """A boolean of the query: anything but empty, 0 and false is true."""
        return self.query.get(name, "").lower() not in _FALSE

    @property
    def dry_run(self) -> bool:
        given = self.query.get("dryRun", "")
        if given not in ("", "All"):
            raise bad_request(f'dryRun: Unsupported value: "{given}": supported values: "All"')
        return given == "All"

    @property
    def form(self) -> Form:
        return wanted_form(self.accept)

    @property
    def manager(self) -> str:
        """Who the fields of this write belong to."""
        return self.query.get("fieldManager") or self.user_agent.partition("/")[0] or "unknown"

    def write_options(self) -> WriteOptions:
        validation = self.query.get("fieldValidation") or "Warn"
        if validation not in ("Ignore", "Warn", "Strict"):
            raise bad_request(
                f'fieldValidation: Unsupported value: "{validation}": supported values: "Ignore", "Strict", "Warn"'
            )
        return WriteOptions(
            dry_run=self.dry_run,
            field_validation=validation,
            field_manager=self.manager,
            force=self.flag("force"),
            warnings=self.warnings,
        )

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
    parts = [unquote(part) if "%" in part else part for part in path.split("/")[1:]]
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
    # /namespaces/x and its subresources are the namespace itself, anything longer lies inside it.
    if len(rest) >= 3 and rest[0] == "namespaces" and not (rest[2] in ("status", "finalize") and len(rest) == 3):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        return None
    plural, name, subresource = (*rest, "", "", "")[:3]
    return Path(group, version, plural, namespace, name, subresource, watch)


@lru_cache(maxsize=256)
def wanted_form(accept: str) -> Form:
    """The first form of an Accept header that is served; protobuf is never, JSON always comes with it."""
    if not accept:
        return Form()
    for clause in accept.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        if media not in _SERVED:
            continue
        values = dict(part.partition("=")[::2] for part in parameters)
        shape = values.get("as", "")
        if shape and values.get("g", "meta.k8s.io") != "meta.k8s.io":
            continue
        if shape not in ("", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"):
            continue
        return Form(shape.removesuffix("List"), values.get("v", "v1"), media == "application/yaml")
    raise not_acceptable(ACCEPTED)


@lru_cache(maxsize=64)
def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def read_body(call: Call, *, custom: bool = False) -> Obj:
    """The body as an object: JSON, YAML or, but not for custom kinds, protobuf by its content type."""
    value = _decoded(call, custom)
    if not isinstance(value, dict):
        raise bad_request(
            "couldn't get version/kind; json parse error: json: cannot unmarshal the body into Go value of type struct"
        )
    return value


def read_patch(call: Call) -> Any:
    """The body of a PATCH; apply patches may be YAML."""
    try:
        return orjson.loads(call.body)
    except orjson.JSONDecodeError as error:
        if media_type(call.content_type) != "application/apply-patch+yaml":
            raise bad_request(f"error decoding patch: {error}") from None
    return _read_yaml(call.body)


def _decoded(call: Call, custom: bool) -> Any:
    media = media_type(call.content_type)
    if media in ("", "application/json"):
        try:
            return orjson.loads(call.body)
        except orjson.JSONDecodeError as error:
            raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if media == "application/yaml":
        return _read_yaml(call.body)
    if not custom and protobuf.is_protobuf(media):
        return protobuf.decode(call.body)
    raise unsupported_media_type(ACCEPTED[:2] if custom else ACCEPTED)


def _read_yaml(body: bytes) -> Any:
    """YAML as the JSON it stands for, which has string keys and no numbers beyond 64 bits."""
    try:
        value = yaml.load(body, Loader=_YAML_LOADER)
        return orjson.loads(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise bad_request(f"error converting YAML to JSON: {error}".replace("\n", " ")) from None


class _YamlLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as the API reads it: times stay strings."""


_YamlLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_YAML_LOADER = _YamlLoader


def read_delete_options(call: Call) -> DeleteOptions:
    """Delete options from the body, or from the query where there is none."""
    body = bodies.delete_options(read_body(call)) if call.body else {}
    preconditions = body.get("preconditions") or {}
    grace = body.get("gracePeriodSeconds", call.integer("gracePeriodSeconds"))
    orphan = body.get("orphanDependents")
    if orphan is None and "orphanDependents" in call.query:
        orphan = call.flag("orphanDependents")
    return DeleteOptions(
        grace_seconds=grace,
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        propagation=body.get("propagationPolicy") or call.query.get("propagationPolicy", ""),
        orphan_dependents=orphan,
        dry_run=call.dry_run or bool(body.get("dryRun")),
    )
