"""The roles of the chart, the table of what a daemon asks for, and the code that asks: all three say the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import yaml

import vsched
from tests.support.charts import (
    NAMESPACE,
    RELEASE,
    SCHEDULER,
    VALUES,
    VCJOBS,
    Obj,
    deployments_of,
    files_of,
    objects_of,
    one,
    options_in,
    rights_in,
)
from tests.support.pages import page, rows, words_in
from vsched.daemon.permissions.needs import FOLLOWED_FOR, OF_JOB_RUNNERS, Right, needed, reasons
from vsched.daemon.permissions.requests import CALLERS, OF_JOBS, OF_LOCKS, OF_NODES, OVERDUE, REQUESTS
from vsched.daemon.watches import FOLLOWED
from vsched.daemon.words import rights as words
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
    assert found - CALLERS == set(), "requests without a row in vsched/daemon/permissions"
    assert CALLERS - found == set(), "rows in vsched/daemon/permissions of what is no longer asked"


# -- the chart


def policy_in(objects: list[Obj]) -> Settings | None:
    """The policy, where it is in the chart."""
    found = [each for each in objects if each["metadata"]["name"] == "vsched-policy"]
    return load_text(next(iter(found[0]["data"].values())), "chart", REGISTRY) if found else None


ACCOUNTS = {SCHEDULER: RELEASE, VCJOBS: f"{RELEASE}-vcjobs"}
"""The account of each container."""


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
def test_accounts_may_do_what_their_processes_do_and_nothing_else(values: Obj) -> None:
    objects = objects_of(values)
    for container in deployments_of(objects):
        policy = policy_in(objects) if container == SCHEDULER else None
        wanted = needed(options_in(objects, container), policy, NAMESPACE)
        allowed = rights_in(objects, ACCOUNTS[container])
        assert len(wanted) > 15
        assert wanted - allowed == set(), "the process needs more than the chart gives it"
        assert allowed - wanted == set(), "the chart gives more than the process needs"


MAKING_SECRETS = Right("create", "", "secrets")
"""The ssh plugin of vcjobs needs one for each job. They are never read."""


def test_no_right_is_a_wildcard() -> None:
    for values in VALUES.values():
        for account in ACCOUNTS.values():
            for right in rights_in(objects_of(values), account):
                assert "*" not in "".join(right)
                everywhere = values.get("controllers", {}).get("jobNamespaces") == ["*"]
                named = right.namespace or right.name or (everywhere and right == MAKING_SECRETS)
                assert right.resource not in ("secrets", "leases", "endpoints") or named


def test_the_account_that_serves_http_makes_nothing_that_vcjobs_consist_of() -> None:
    objects = objects_of({})
    scheduler, vcjobs = (rights_in(objects, account) for account in ACCOUNTS.values())
    writes = {"create", "patch", "update", "delete"}
    # At home it keeps the usage history, and says what became of the policy.
    at_home = {("configmaps", NAMESPACE)}
    made = {
        (right.resource, right.namespace)
        for right in scheduler
        if right.verb in writes and right.resource in ("configmaps", "services", "secrets", "networkpolicies")
    }
    assert made == at_home
    assert Right("delete", "", "pods") not in scheduler
    assert Right("create", "", "pods") not in scheduler
    assert {right.namespace for right in vcjobs if right.resource in ("secrets", "configmaps", "services")} == {
        "default"
    }
    assert not {
        right for right in scheduler | vcjobs if right.resource == "configmaps" and right.namespace == "kube-system"
    }


# -- why


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
def test_each_rule_of_the_chart_says_what_needs_it(values: Obj) -> None:
    """The comment above a rule is a reason of each of its rights, and each right has one."""
    objects = objects_of(values)
    text = "\n".join(files_of(values).get(name, "") for name in ("rbac.yaml", "rbac-vcjobs.yaml"))
    for container in deployments_of(objects):
        policy = policy_in(objects) if container == SCHEDULER else None
        wanted = reasons(options_in(objects, container), policy, NAMESPACE)
        said: dict[tuple[str, str, str], set[str]] = {}
        for comments, rule in rules_in(text):
            for key in product(rule["verbs"], rule.get("apiGroups", ()), rule.get("resources", ())):
                said.setdefault(key, set()).update(comments)
        for right, whys in wanted.items():
            assert said[right[:3]] & set(whys), f"{right} is in the chart without a reason"


def rules_in(text: str) -> Iterator[tuple[list[str], Obj]]:
    """Each rule of the roles in a text, with the comments above it."""
    for block in re.findall(r"((?:^ *# .*\n)*^ *- apiGroups:.*\n(?:^ +(?![ #]|- apiGroups).*\n)*)", text, re.MULTILINE):
        lines = [line.strip() for line in block.splitlines()]
        comments = [line.removeprefix("# ") for line in lines if line.startswith("#")]
        (rule,) = yaml.safe_load("\n".join(line for line in block.splitlines() if not line.lstrip().startswith("#")))
        assert comments, f"a rule without a reason: {rule}"
        yield comments, rule


def test_every_right_has_a_reason_that_says_what_stops() -> None:
    tables = (REQUESTS, OF_JOBS, OF_NODES, OF_LOCKS, OVERDUE)
    whys = {each.why for table in tables for each in table} | {*FOLLOWED_FOR.values(), *OF_JOB_RUNNERS.values()}
    assert all("; without it, " in why for why in whys)
    spoken = {name: value for name, value in vars(words).items() if name.isupper()}
    assert whys <= set(spoken.values())
    assert FOLLOWED_FOR.keys() == FOLLOWED.keys()


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
