"""The definition of HyperNodes: what the embedded cluster takes of them, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import MERGE, Api
from tests.support.hypernodes import hypernode_object

Obj = dict[str, Any]
HYPERNODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"


def with_spec(**spec: Any) -> Obj:
    return hypernode_object("a", 1) | {"spec": {"tier": 1, **spec}}


def member(kind: str = "Node", **selector: Any) -> Obj:
    return {"type": kind, "selector": selector}


EXACT: Obj = {"exactMatch": {"name": "n1"}}
REGEX: Obj = {"regexMatch": {"pattern": "^n"}}


async def test_all_kinds_of_members_are_taken(api: Api) -> None:
    wanted = hypernode_object("a", 0, "n1", "~^n", "rack=r1", "^b", tier_name="rack")
    assert (await api.made(HYPERNODES, wanted))["spec"] == wanted["spec"]
    expressions = {"matchExpressions": [{"key": "rack", "operator": "Exists"}]}
    await api.made(
        HYPERNODES, hypernode_object("b", 1) | {"spec": with_spec(members=[member(labelMatch=expressions)])["spec"]}
    )


@pytest.mark.parametrize(
    ("wanted", "where"),
    [
        pytest.param(with_spec(tier=-1), "spec.tier", id="a tier below zero"),
        pytest.param(with_spec(tier="1"), "spec.tier", id="a tier that is no number"),
        pytest.param(hypernode_object("a", 1) | {"spec": {}}, "spec.tier", id="no tier"),
        pytest.param(with_spec(tierName="x" * 254), "spec.tierName", id="too long a name of a tier"),
        pytest.param(with_spec(members=[member("Rack", **EXACT)]), "spec.members[0].type", id="another type"),
        pytest.param(with_spec(members=[member()]), "spec.members[0].selector", id="no way to find a member"),
        pytest.param(with_spec(members=[member(**EXACT, **REGEX)]), "spec.members[0].selector", id="two ways"),
        pytest.param(
            with_spec(members=[member(exactMatch={"name": ""})]),
            "spec.members[0].selector.exactMatch.name",
            id="an empty name",
        ),
        pytest.param(
            with_spec(members=[member(regexMatch={})]),
            "spec.members[0].selector.regexMatch.pattern",
            id="no pattern",
        ),
    ],
)
async def test_what_is_refused(api: Api, wanted: Obj, where: str) -> None:
    reply = await api.post(HYPERNODES, wanted)
    assert reply.code == 422
    assert where in reply.body["message"]


async def test_the_status_is_a_subresource(api: Api) -> None:
    made = await api.made(HYPERNODES, hypernode_object("a", 1, "n1", status={"nodeCount": 9}))
    assert "status" not in made
    status = {"nodeCount": 1}
    reply = await api.request(
        "PATCH", f"{HYPERNODES}/a/status", {"status": status, "spec": {"tier": 7}}, Content_Type=MERGE
    )
    assert (reply.code, reply.body["status"], reply.body["spec"]["tier"]) == (200, status, 1)
