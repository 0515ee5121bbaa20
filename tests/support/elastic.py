"""An Elasticsearch double over real HTTP: documents as Metricbeat writes them, and the searches that are made of them.

It works out what it is asked, in the manner of version 1.5 or of version 8, and refuses what it does not know.
"""

from __future__ import annotations

import fnmatch
import re
import statistics
import time
from collections.abc import Callable
from typing import Any

import orjson
from aiohttp import web

from tests.support.answering import Answering, Reply

Json = dict[str, Any]
PRODUCT = {"X-Elastic-Product": "Elasticsearch"}


class Elastic:
    """Indices and their documents."""

    def __init__(self, version: int = 8) -> None:
        self.version = version
        self.indices: dict[str, list[Json]] = {}

    def add(self, index: str, host: str, ago: float, field: str = "host.hostname", **figures: float | None) -> None:
        """A document of so many seconds ago; ``cpu`` and ``memory`` are fractions."""
        names = {"cpu": "host.cpu.usage", "memory": "system.memory.actual.used.pct"}
        found = {names.get(name, name): value for name, value in figures.items() if value is not None}
        document = {"@timestamp": (time.time() - ago) * 1000, field: host, **found}
        self.indices.setdefault(index, []).append(document)

    def serve(self, server: Answering) -> None:
        """Answer searches on this server."""
        server.replies["*"] = self.reply

    @property
    def reply(self) -> Reply:
        async def answer(request: web.Request, body: bytes) -> web.StreamResponse:
            index = request.path.strip("/").removesuffix("/_search")
            code, told = self.search(index, body)
            headers = PRODUCT if self.version >= 7 else {}
            return web.Response(body=orjson.dumps(told), status=code, content_type="application/json", headers=headers)

        return answer

    def search(self, index: str, body: bytes) -> tuple[int, Json]:
        """Code and body of the answer."""
        matching = [name for name in self.indices if fnmatch.fnmatchcase(name, index)]
        if not matching and "*" not in index:
            return 404, self._error("index_not_found_exception", f"no such index [{index}]", 404)
        try:
            asked = orjson.loads(body)
        except orjson.JSONDecodeError:
            return 400, self._error("parse_exception", "request body is not JSON", 400)
        clauses = [_clause(clause) for clause in asked["query"]["bool"]["must"]]
        everything = (one for name in matching for one in self.indices[name])
        documents = [one for one in everything if all(holds(one) for holds in clauses)]
        total: Any = len(documents) if self.version < 7 else {"value": len(documents), "relation": "eq"}
        answer: Json = {
            "took": 1,
            "timed_out": False,
            "_shards": {"total": len(matching), "successful": len(matching), "failed": 0},
            "hits": {"total": total, "max_score": 0.0 if self.version < 7 else None, "hits": []},
        }
        if matching:
            answer["aggregations"] = {name: _terms(documents, asked) for name, asked in asked["aggs"].items()}
        return 200, answer

    def _error(self, kind: str, reason: str, code: int) -> Json:
        if self.version < 2:
            return {"error": f"{kind}[{reason}]", "status": code}
        return {"error": {"root_cause": [], "type": kind, "reason": reason}, "status": code}


def _clause(clause: Json) -> Callable[[Json], bool]:
    """Whether a document is one that a part of the query asks for."""
    [(kind, asked)] = clause.items()
    [(field, value)] = asked.items()
    if kind == "terms":
        names = set(value)
        return lambda document: document.get(field) in names
    assert kind == "range"
    bounds = {name: _moment(text) for name, text in value.items()}
    return lambda document: bool(bounds["gte"] <= document[field] < bounds["lt"])


def _moment(text: str) -> float:
    found = re.fullmatch(r"now(?:-(\d+)s)?", text)
    assert found is not None, text
    return (time.time() - int(found[1] or 0)) * 1000


def _terms(documents: list[Json], asked: Json) -> Json:
    field, size = asked["terms"]["field"], asked["terms"]["size"]
    groups: dict[str, list[Json]] = {}
    for document in documents:
        if field in document:
            groups.setdefault(document[field], []).append(document)
    largest = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    buckets = [
        {"key": key, "doc_count": len(held), **{name: _metric(held, one) for name, one in asked["aggs"].items()}}
        for key, held in largest[:size]
    ]
    left = sum(len(held) for _, held in largest[size:])
    return {"doc_count_error_upper_bound": 0, "sum_other_doc_count": left, "buckets": buckets}


def _metric(documents: list[Json], asked: Json) -> Json:
    [(kind, of)] = asked.items()
    values = [document[of["field"]] for document in documents if of["field"] in document]
    if kind == "max":
        return {"value": max(values, default=None)}
    assert kind == "extended_stats"
    if not values:
        return {"count": 0, "min": None, "max": None, "avg": None, "sum": None, "std_deviation": None}
    return {
        "count": len(values),
        "min": min(values),
        "max": max(values),
        "avg": statistics.fmean(values),
        "sum": sum(values),
        "std_deviation": statistics.pstdev(values) if len(values) > 1 else 0.0,
    }
