"""The roles of the chart, the table of what a daemon asks for, and the code that asks: all three say the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import vsched
from tests.support.charts import NAMESPACE, RELEASE, VALUES, Obj, objects_of, one, options_in, rights_in
from tests.support.pages import page, rows, words_in
from vsched.daemon.permissions import CALLERS, Right, needed
from vsched.settings import Settings
from vsched.settings.built_in import REGISTRY
from vsched.settings.load import load_text

ROOT = Path(vsched.__file__).parent
ELSEWHERE = ("apimachinery", "cli", "client", "lab", "sim")
"""Rooms that are no part of a daemon."""
ASKING = {"get", "list", "create", "replace", "patch", "delete", "request", "write", "fetch", "stream"}


def callers() -> Iterator[str]:
    """Every function of a daemon that makes a request, or asks a client for something."""
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        text = path.read_text()
        if parts[0] not in ELSEWHERE and parts != ("kube", "client") and re.search(r"Write\(|(client|api)\.", text):
            yield from _within(ast.parse(text), ".".join(parts))


def _within(node: ast.AST, where: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _within(child, f"{where}.{child.name}")
            continue
        if isinstance(child, ast.Call) and _is_request(child.func):
            yield where
        yield from _within(child, where)


def _is_request(called: ast.expr) -> bool:
    match called:
        case ast.Name("Write"):
            return True
        case ast.Attribute(whose, verb) if verb in ASKING:
            return ast.unparse(whose).rpartition(".")[2].strip("_") in ("client", "api")
    return False


def test_every_place_that_makes_requests_is_in_the_table() -> None:
    found = set(callers())
    assert len(found) > 20
    assert found - CALLERS == set(), "requests without a row in vsched/daemon/permissions.py"
    assert CALLERS - found == set(), "rows in vsched/daemon/permissions.py of what is no longer asked"


# -- the chart


def policy_in(objects: list[Obj]) -> Settings | None:
    """The policy, where it is in the chart."""
    found = [each for each in objects if each["metadata"]["name"] == "vsched-policy"]
    return load_text(next(iter(found[0]["data"].values())), "chart", REGISTRY) if found else None


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
def test_the_account_may_do_what_the_daemon_does_and_nothing_else(values: Obj) -> None:
    objects = objects_of(values)
    wanted, allowed = needed(options_in(objects), policy_in(objects), NAMESPACE), rights_in(objects, RELEASE)
    assert len(wanted) > 15
    assert wanted - allowed == set(), "the daemon needs more than the chart gives it"
    assert allowed - wanted == set(), "the chart gives more than the daemon needs"


MAKING_SECRETS = Right("create", "", "secrets")
"""The ssh plugin of vcjobs needs one for each job. They are never read."""


def test_no_right_is_a_wildcard() -> None:
    for values in VALUES.values():
        for right in rights_in(objects_of(values), RELEASE):
            assert "*" not in "".join(right)
            named = right.namespace or right.name or right == MAKING_SECRETS
            assert right.resource not in ("secrets", "leases", "endpoints") or named


def test_readers_may_get_pages_and_metrics_only() -> None:
    objects = objects_of(VALUES["everything that can be switched on"])
    (rule,) = one(objects, "ClusterRole", "vsched-reader")["rules"]
    assert set(rule) == {"nonResourceURLs", "verbs"}
    assert rule["verbs"] == ["get"]
    table = rows(page("vsched/web/README.md").section("Addresses"))
    served = {re.sub(r"/{.*", "/*", word) for row in table for word in words_in(row[0]) if word.startswith("/")}
    apart = {"/", "/dump", "/recordings", "/recordings/*", "/debug/profile", "/extender/filter"}
    assert apart < served
    assert set(rule["nonResourceURLs"]) == served - apart
    # A dump has everything there is to know about a cluster.
    assert not {"/dump", "/recordings", "/*", "*"} & set(rule["nonResourceURLs"])
    (dumps,) = one(objects, "ClusterRole", "vsched-dump-reader")["rules"]
    assert dumps == {"nonResourceURLs": ["/dump", "/recordings", "/recordings/*", "/debug/profile"], "verbs": ["get"]}
    bound = {found["roleRef"]["name"] for found in objects if found["kind"].endswith("Binding")}
    assert bound.isdisjoint({"vsched-reader", "vsched-dump-reader"}), "whoever installs it says who may"
