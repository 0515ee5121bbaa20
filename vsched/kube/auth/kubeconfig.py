"""Kubeconfig files: read, merged, and reduced to the one context in use.

Syntax and references only; what the chosen entries mean for a connection is decided in ``config``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import yaml

from vsched.errors import BadInput, why_unreadable
from vsched.kube.errors import one_line
from vsched.kube.words import auth as words
from vsched.yamltext import check_aliases, is_too_deep

T = TypeVar("T")

MOST_BYTES = 4 << 20
DEEPEST = 64
"""The deepest nesting of a kubeconfig, with room for extensions of tools."""


class KubeconfigCluster(msgspec.Struct, frozen=True, rename="kebab"):
    """A cluster: the address of its API server, and how to verify it."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class User(msgspec.Struct, frozen=True, rename="kebab"):
    """A user: the credentials for an API server."""

    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    username: str = ""
    password: str = ""
    act_as: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    exec: dict[str, Any] | None = None
    auth_provider: dict[str, Any] | None = None


class Context(msgspec.Struct, frozen=True, rename="kebab"):
    """A context: a user, a cluster and a namespace."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: KubeconfigCluster = KubeconfigCluster()


class NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: User | None = None


class NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: Context = Context()


class KubeconfigFile(msgspec.Struct, frozen=True, rename="kebab"):
    """The content of one file."""

    clusters: tuple[NamedCluster, ...] | None = None
    users: tuple[NamedUser, ...] | None = None
    contexts: tuple[NamedContext, ...] | None = None
    current_context: str = ""


@dataclass(frozen=True)
class KubeconfigEntry(Generic[T]):
    """A cluster, user or context, and the file it stands in: relative paths start there."""

    value: T
    file: Path

    def beside(self, path: str) -> Path | None:
        """A path of this entry; None where it is empty."""
        return self.file.parent / Path(path).expanduser() if path else None


@dataclass(frozen=True)
class Kubeconfig:
    """One or several files merged; the first entry of a name wins."""

    files: tuple[Path, ...]
    current_context: str
    clusters: dict[str, KubeconfigEntry[KubeconfigCluster]] = field(default_factory=dict)
    users: dict[str, KubeconfigEntry[User]] = field(default_factory=dict)
    contexts: dict[str, KubeconfigEntry[Context]] = field(default_factory=dict)

    @property
    def named(self) -> str:
        return "kubeconfig " + ":".join(map(str, self.files))


@dataclass(frozen=True)
class Chosen:
    """The entries of one context."""

    where: str
    """For messages: the files and the context."""
    context: Context
    cluster: KubeconfigEntry[KubeconfigCluster]
    user: KubeconfigEntry[User]


def read_files(files: Sequence[Path]) -> Kubeconfig:
    """Read and merge files that exist."""
    loaded = [(file, _read(file)) for file in files]
    current = next((content.current_context for _, content in loaded if content.current_context), "")
    merged = Kubeconfig(tuple(files), current)
    for file, content in loaded:
        _merge(merged.clusters, ((named.name, named.cluster) for named in content.clusters or ()), file)
        _merge(merged.users, ((named.name, named.user or User()) for named in content.users or ()), file)
        _merge(merged.contexts, ((named.name, named.context) for named in content.contexts or ()), file)
    return merged


def _merge(into: dict[str, KubeconfigEntry[T]], entries: Iterable[tuple[str, T]], file: Path) -> None:
    for name, value in entries:
        into.setdefault(name, KubeconfigEntry(value, file))


def _read(file: Path) -> KubeconfigFile:
    try:
        with file.open("rb") as opened:
            raw = opened.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise BadInput(words.too_large(file, MOST_BYTES >> 20))
        text = raw.decode("utf-8")
        if is_too_deep(text, DEEPEST):
            raise BadInput(words.nested_too_deeply(file))
        check_aliases(text)
        content = yaml.safe_load(text)
    except OSError as error:
        raise BadInput(words.cannot_be_read(file, error.strerror)) from error
    except UnicodeDecodeError as error:
        raise BadInput(words.not_utf_8(file)) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        problem = one_line(error.problem or "unreadable")
        if problem == words.ANOTHER_DOCUMENT:
            raise BadInput(words.second_document(file, place)) from error
        raise BadInput(words.not_yaml(file, place, problem)) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadInput(words.not_yaml(file, "", one_line(str(error)))) from error
    if not isinstance(content, dict):
        raise BadInput(words.not_a_kubeconfig(file, _kind_of(content)))
    try:
        return msgspec.convert(_without_nulls(content), KubeconfigFile)
    except msgspec.ValidationError as error:
        raise BadInput(f"kubeconfig {file}: {one_line(why_unreadable(error))}") from error


def _without_nulls(value: Any) -> Any:
    """The same content without empty keys: ``users:`` and ``token:`` with nothing behind them mean nothing."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _kind_of(content: object) -> str:
    return "empty" if content is None else f"a {type(content).__name__}"


def choose(config: Kubeconfig, context: str | None) -> Chosen:
    """The entries of the requested context, or of the current one."""
    name = context or config.current_context
    if not name:
        raise BadInput(words.no_context_set(config.named, _among(config.contexts)))
    found = config.contexts.get(name)
    if found is None:
        origin = "" if context else " (its current-context)"
        raise BadInput(words.no_context(config.named, name, origin, _among(config.contexts)))
    where = f"{config.named}: context {name!r}"
    cluster = config.clusters.get(found.value.cluster)
    if cluster is None:
        raise BadInput(words.no_cluster(where, found.value.cluster, _among(config.clusters)))
    if not found.value.user:
        return Chosen(where, found.value, cluster, KubeconfigEntry(User(), found.file))
    user = config.users.get(found.value.user)
    if user is None:
        raise BadInput(words.no_user(where, found.value.user, _among(config.users)))
    return Chosen(where, found.value, cluster, user)


def _among(names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return words.there_is(listed) if listed else words.THERE_IS_NONE
