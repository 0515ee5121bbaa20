"""Paths on an API server, built from group, version, plural, namespace, name and subresource.

This module knows the layout of URLs, not which kinds exist.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote, urlencode

import msgspec

from vsched.errors import BadInput
from vsched.kube.words import answers as words

Params = dict[str, str]


class ApiResource(msgspec.Struct, frozen=True):
    """A kind as the API server serves it."""

    group: str
    """Empty for the core group."""
    version: str
    plural: str
    namespaced: bool = True

    @property
    def root(self) -> str:
        """The path of the group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of a collection, an object or its subresource; no namespace means all of them."""
        if namespace and not self.namespaced:
            raise BadInput(words.no_namespace(self.plural, namespace))
        if name and self.namespaced and not namespace:
            raise BadInput(words.namespace_missing(self.plural, name))
        if subresource and not name:
            raise BadInput(words.name_missing(self.plural, subresource))
        path = (
            f"{self.root}/namespaces/{segment(namespace)}/{self.plural}" if namespace else f"{self.root}/{self.plural}"
        )
        if name:
            path = f"{path}/{segment(name)}"
        return f"{path}/{subresource}" if subresource else path

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


_SAFE = "._~:-"
_NAMESPACED = re.compile(r"/apis?/(?:[^/]+/)?[^/]+/namespaces/([^/]+)/")
NAME_LIMIT = 253
"""The longest name of an object, in characters."""
NAMES_KNOWN_MAX = 4096
"""So many names are remembered as checked: those of objects that change at present."""
_NAME = re.compile(rf"[A-Za-z0-9{_SAFE}]{{1,{NAME_LIMIT}}}")


def is_name(text: str) -> bool:
    """Whether an object can have this name: it stands in a URL as it is. API servers let in still fewer."""
    return len(text) <= NAME_LIMIT and _is_name(text)


@lru_cache(maxsize=NAMES_KNOWN_MAX)  # the same names come again and again, in every change of an object
def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and text not in {".", ".."}


def segment(text: str) -> str:
    """One path segment, quoted; segments that would lead to another path are refused."""
    if is_name(text):
        return text
    if text in {"", ".", ".."}:
        raise BadInput(words.no_name(text))
    return quote(text, safe=_SAFE)


def target(path: str, params: Params | None = None) -> str:
    """A path with its query."""
    return f"{path}?{urlencode(params)}" if params else path


def verb_of(method: str, path: str) -> str:
    """The verb of a request in API server metrics: the method, but LIST for a GET of a collection."""
    if method != "GET":
        return method
    parts = path.partition("?")[0].strip("/").split("/")
    named = parts[{"api": 2, "apis": 3}.get(parts[0], len(parts)) :]
    if len(named) > 2 and named[0] == "namespaces":
        named = named[2:]
    return "LIST" if len(named) == 1 else "GET"


def namespace_and_name(flag: str, text: str) -> tuple[str, str]:
    """The two parts of ``NAMESPACE/NAME``, as a flag has it; raises BadInput."""
    namespace, _, name = text.partition("/")
    if not namespace or not name or "/" in name:
        raise BadInput(f"{flag}: {text!r} (expected NAMESPACE/NAME)")
    return namespace, name


def namespace_of(path: str) -> str:
    """The namespace in a path of this module; empty where there is none."""
    found = _NAMESPACED.match(path)
    return "" if found is None else found[1]
