"""How much is read of one object of the kinds that controllers look after."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from vsched import api
from vsched.api import words
from vsched.api.limits import LIMITS, FieldLimit

TEXTS = ("schedule", "timeZone", "mountPath", "name")
PARTS = ("template", "jobSpec", "spec")
MAPS = ("plugins", "labels", "controlledResources", "taskStatusCount", "status")
NAMES = ("events", "targets", "dependsOn.name")
CASES = [pytest.param(kind, limit, id=f"{kind} {limit.path}") for kind, limits in LIMITS.items() for limit in limits]


def filled(path: str, size: int) -> Any:
    """What stands at the end of a path: a text of so many letters, a part of so many bytes, or so many entries."""
    name = path.rpartition(".")[2]
    if path.endswith(NAMES):
        return [f"a{number}" for number in range(size)]
    if name in TEXTS:
        return "a" * size
    if name in PARTS:
        return {"a": "b" * (size - len('{"a":""}'))}
    if name in MAPS:
        value: Any = [] if name == "plugins" else {} if name == "taskStatusCount" else "b"
        return {f"a{number}": value for number in range(size)}
    return [{"name": f"a{number}"} for number in range(size)]


def saying(path: str, value: Any) -> Any:
    """An object with a value at a path; ``[*]`` is one item."""
    first, _, rest = path.partition(".")
    inner = saying(rest, value) if rest else value
    return {first.removesuffix("[*]"): [inner] if first.endswith("[*]") else inner}


def read(kind: str, path: str, value: Any) -> api.Object:
    found = {"metadata": {"name": "a", "namespace": "x", "uid": "u"}}
    for part, said in saying(path, value).items():
        found[part] = {**found.get(part, {}), **said}
    return api.read(kind, orjson.dumps(found))


@pytest.mark.parametrize(("kind", "limit"), CASES)
def test_as_much_is_read_as_the_limit_and_what_says_more_is_left_out_with_that_as_the_reason(
    kind: str, limit: FieldLimit
) -> None:
    assert not isinstance(read(kind, limit.path, filled(limit.path, limit.most)), api.Malformed)
    found = read(kind, limit.path, filled(limit.path, limit.most + 1))
    assert isinstance(found, api.Malformed)
    assert f" x/a: {limit.path}: {limit.most + 1:,} " in found.message
    assert f"({limit.most:,} are read at most)" in found.message


def test_the_items_of_several_lists_count_together() -> None:
    flows = [{"name": f"f{number}", "dependsOn": {"targets": ["a"] * 500}} for number in range(9)]
    found = read("JobFlow", "spec.flows", flows)
    assert isinstance(found, api.Malformed)
    assert found.message.endswith(words.too_many_entries("dependsOn.targets", 4500, 4096))
    assert not isinstance(read("JobFlow", "spec.flows", flows[:8]), api.Malformed)


def test_a_line_of_a_watch_has_the_same_limits() -> None:
    body = {"metadata": {"name": "a", "namespace": "x"}, "spec": {"schedule": "a" * 257}}
    kind = "CronJob.batch.volcano.sh"
    assert api.read_line(kind, orjson.dumps({"type": "ADDED", "object": body})) is None
    body["spec"] = {"schedule": "a" * 256}
    assert api.read_line(kind, orjson.dumps({"type": "ADDED", "object": body})) is not None
