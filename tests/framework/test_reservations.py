"""Room that is reserved for gangs that have a part of their minimum."""

from __future__ import annotations

import pytest

from tests.support.plans import decide, manifests, policy_of

POLICIES = {
    "capacity": policy_of("priority gang", "capacity predicates"),
    "proportion": policy_of("gang", "proportion predicates"),
}
CLUSTER = "node n1 cpu=8\nnode n2 cpu=8 zone=z cordoned\nqueue default capability=cpu:3\n"
LATER = "job ns/new min=2 phase=Inqueue age=9 pods=2 cpu=1"
STUCK = "selector=zone:z"
"""The node of a pod takes none for now."""


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("part", "bound"),
    [
        pytest.param(
            "min=2\npods ns/part 1 cpu=1 on=n1\npods ns/part 1 cpu=1 STUCK", {}, id="what it lacks counts as held"
        ),
        pytest.param("min=2\npods ns/part 1 cpu=1 on=n1\npods ns/part 1 cpu=1", {"part": 1}, id="but not for itself"),
        pytest.param(
            "min=1\npods ns/part 1 cpu=1 on=n1\npods ns/part 1 cpu=1 STUCK", {"new": 2}, id="no more than that"
        ),
        pytest.param("min=2\npods ns/part 2 cpu=1 STUCK", {"new": 2}, id="not where it has nothing of its minimum"),
        pytest.param(
            "min=3\npods ns/part 1 cpu=1 on=n1\npods ns/part 1 cpu=1 STUCK",
            {"new": 2},
            id="nor where it has too few pods to be complete",
        ),
        pytest.param(
            "min=2\npods ns/part 1 cpu=1 on=n1\npods ns/part 1 cpu=1 gated", {"new": 2}, id="nor for pods with gates"
        ),
        pytest.param(
            "min=2 roles=w:1,ps:1\npods ns/part 1 cpu=1 on=n1 role=w\npods ns/part 1 cpu=3 role=w STUCK\n"
            "pods ns/part 1 cpu=1 role=ps STUCK",
            {},
            id="the role that is missing comes first",
        ),
    ],
)
def test_a_gang_that_has_a_part_of_its_minimum(policy: str, part: str, bound: dict[str, int]) -> None:
    text = f"{CLUSTER}job ns/part phase=Running {part.replace('STUCK', STUCK)}\n{LATER}"

    assert decide(manifests(text), POLICIES[policy]).bound == bound
