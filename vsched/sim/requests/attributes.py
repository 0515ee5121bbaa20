"""The attributes of a request, for permissions and faults: verb, group, resource, name.

They come from the path and the query alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from vsched.apimachinery.meta.name_formats import path_segment_problems
from vsched.sim.requests.request import ApiRequest, parse_path

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMED = "metadata.name="


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of a request; a request that is not for a resource has the verb and ``path`` only."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def combined(self) -> str:
        """The resource with its subresource, as in rules: ``pods`` or ``pods/binding``."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def attributes_of(call: ApiRequest) -> Attributes:
    """The attributes of a request."""
    path = parse_path(call.path)
    if path is None or not path.plural:
        return Attributes(call.method.lower(), path=unquote(call.path))
    verb, name, namespace = _VERBS.get(call.method, call.method.lower()), path.name, path.namespace
    if path.plural == "namespaces" and not path.group and not namespace:
        # The namespace of a namespace is itself, so that a role in it can allow it.
        namespace = name
    if path.watch:
        verb = "watch"
    elif verb == "get" and not name:
        verb = "watch" if call.flag("watch") else "list"
        name = _named_by_selector(call)
    elif verb == "delete" and not name:
        verb = "deletecollection"
    return Attributes(verb, path.group, path.plural, path.subresource, namespace, name)


def _named_by_selector(call: ApiRequest) -> str:
    """The name in the field selector of a list or watch."""
    for term in call.query.get("fieldSelector", "").split(","):
        if term.startswith(_NAMED):
            name = term.removeprefix(_NAMED).removeprefix("=")
            return "" if path_segment_problems(name) else name
    return ""
