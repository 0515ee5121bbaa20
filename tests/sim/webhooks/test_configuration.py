"""Configurations of validating webhooks: what the server refuses, and what it fills in."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import Api
from tests.support.hooks import HOOKS, NAME, Hook, configuration, rule

Obj = dict[str, Any]

BAD: dict[str, tuple[Obj, str, str]] = {
    "a short name": ({"name": "checks"}, "name", "at least three segments"),
    "no side effects said": ({"sideEffects": None}, "sideEffects", "must specify one of None, NoneOnDryRun"),
    "side effects": ({"sideEffects": "Some"}, "sideEffects", 'Unsupported value: "Some"'),
    "no versions": ({"admissionReviewVersions": []}, "admissionReviewVersions", "must specify one of v1, v1beta1"),
    "unknown versions": ({"admissionReviewVersions": ["v3"]}, "admissionReviewVersions", "must include at least one"),
    "a long wait": ({"timeoutSeconds": 31}, "timeoutSeconds", "between 1 and 30 seconds"),
    "an unknown policy": ({"failurePolicy": "Maybe"}, "failurePolicy", 'Unsupported value: "Maybe"'),
    "an unknown match": ({"matchPolicy": "Maybe"}, "matchPolicy", 'Unsupported value: "Maybe"'),
    "nowhere to go": ({"clientConfig": {}}, "clientConfig", "exactly one of url or service is required"),
    "a way without TLS": ({"clientConfig": {"url": "http://a.b/c"}}, "clientConfig.url", "'https' is the only allowed"),
    "a query": ({"clientConfig": {"url": "https://a.b/c?d"}}, "clientConfig.url", "query parameters are not permitted"),
    "somebody's name": ({"clientConfig": {"url": "https://me@a.b/"}}, "clientConfig.url", "user information"),
    "a service without a name": (
        {"clientConfig": {"service": {"name": "", "namespace": "n"}}}, "clientConfig.service.name", "is required"),
    "a service without a port": (
        {"clientConfig": {"service": {"name": "s", "namespace": "n", "port": 0}}},
        "clientConfig.service.port", "between 1 and 65535"),
    "no operations": ({"rules": [{**rule(), "operations": []}]}, "rules[0].operations", "Required value"),
    "an unknown operation": ({"rules": [rule(operations="READ")]}, "rules[0].operations[0]", 'Unsupported value: "R'),
    "everything and more": ({"rules": [rule(operations="* CREATE")]}, "rules[0].operations", "if '*' is present"),
    "no resources": ({"rules": [{**rule(), "resources": []}]}, "rules[0].resources", "Required value"),
    "all resources and more": ({"rules": [rule("*/* pods")]}, "rules[0].resources", "if '*/*' is present"),
    "a subresource twice": ({"rules": [rule("pods/* pods/status")]}, "rules[0].resources[1]", "if 'pods/*' is present"),
    "an unknown scope": ({"rules": [rule(scope="Here")]}, "rules[0].scope", 'Unsupported value: "Here"'),
    "a selector that is none": (
        {"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}},
        "objectSelector.matchExpressions[0].operator", "not a valid selector operator"),
    "a condition that is none": (
        {"matchConditions": [{"name": "c", "expression": "authorizer.yes"}]}, "matchConditions[0].expression",
        "undeclared reference to 'authorizer'"),
    "a condition without a name": (
        {"matchConditions": [{"name": "", "expression": "true"}]}, "matchConditions[0].name", "Required value"),
}  # fmt: skip


@pytest.mark.parametrize(("more", "where", "text"), BAD.values(), ids=BAD)
async def test_a_configuration_is_refused_for(api: Api, more: Obj, where: str, text: str) -> None:
    body = configuration(Hook(port=1))
    body["webhooks"][0] |= more
    reply = await api.post(HOOKS, body)
    assert (reply.code, reply.reason) == (422, "Invalid"), reply.body
    [cause] = reply.body["details"]["causes"]
    assert cause["field"] == f"webhooks[0].{where}"
    assert text in cause["message"]


async def test_webhooks_of_one_configuration_have_different_names(api: Api) -> None:
    body = configuration(Hook(port=1))
    body["webhooks"] *= 2
    reply = await api.post(HOOKS, body)
    assert reply.body["details"]["causes"] == [
        {"reason": "FieldValueDuplicate", "message": f'Duplicate value: "{NAME}"', "field": "webhooks[1].name"}
    ]


async def test_a_configuration_gets_the_defaults_of_a_real_server(api: Api) -> None:
    [made] = (await api.made(HOOKS, configuration(Hook(port=1))))["webhooks"]
    assert (made["failurePolicy"], made["matchPolicy"], made["timeoutSeconds"]) == ("Fail", "Equivalent", 10)
    assert (made["namespaceSelector"], made["objectSelector"], made["rules"][0]["scope"]) == ({}, {}, "*")
