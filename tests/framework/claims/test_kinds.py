"""Which claims count: what a policy says of it, and what is said of mistakes."""

from __future__ import annotations

import pytest

from tests.support.plans import policy_from
from vsched.errors import BadInput
from vsched.framework.claims.handler import ClaimRules, VolumeScoring
from vsched.framework.claims.kinds import rules_of
from vsched.plugins.words.arguments import utilizations_fall

POLICY = """\
actions: allocate
tiers:
- plugins:
  - name: gang
  - name: {plugin}
    {switch}
    arguments:
      {arguments}
"""


def rules(arguments: str = "{}", *, plugin: str = "predicates", switch: str = "enablePredicate: true") -> ClaimRules:
    return rules_of(policy_from(POLICY.format(plugin=plugin, switch=switch, arguments=arguments)))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param("predicate.NodePortsEnable: true", ClaimRules(), id="everything counts where nothing is said"),
        pytest.param(
            "predicate.VolumeBindingEnable: false", ClaimRules(volume_binding=False), id="no binding of volumes"
        ),
        pytest.param("predicate.VolumeZoneEnable: false", ClaimRules(volume_zones=False), id="no zones"),
        pytest.param("predicate.NodeVolumeLimitsEnable: false", ClaimRules(volume_limits=False), id="no limits"),
        pytest.param("predicate.DynamicResourceAllocationEnable: false", ClaimRules(devices=False), id="no devices"),
        pytest.param("volumebinding.bindTimeoutSeconds: 30", ClaimRules(bind_seconds=30), id="the time to bind"),
        pytest.param("dynamicresources.filterTimeoutSeconds: 0", ClaimRules(search_seconds=0), id="no bound"),
        pytest.param("volumebinding.weight: 3", ClaimRules(scoring=VolumeScoring(3)), id="the weight of storage"),
        pytest.param(
            "volumebinding.weight: 0", ClaimRules(scoring=VolumeScoring(0)), id="a weight that leaves storage out"
        ),
        pytest.param("volumebinding.shape: []", ClaimRules(), id="no points: nodes are not scored by storage"),
        pytest.param(
            "volumebinding.shape: [{utilization: 0, score: 10}, {utilization: 100, score: 0}]",
            ClaimRules(scoring=VolumeScoring(1, ((0, 10), (100, 0)))),
            id="the curve of scores",
        ),
    ],
)
def test_arguments_of_predicates(arguments: str, expected: ClaimRules) -> None:
    assert rules(arguments) == expected


@pytest.mark.parametrize(
    ("switch", "expected"),
    [
        pytest.param("enableNodeOrder: false", ClaimRules(scores=False), id="without scores of nodes"),
        pytest.param("enablePredicate: false", ClaimRules(), id="claims count all the same"),
    ],
)
def test_switches_of_predicates(switch: str, expected: ClaimRules) -> None:
    assert rules("predicate.NodePortsEnable: true", switch=switch) == expected


def test_claims_count_without_the_plugin() -> None:
    assert rules("leastrequested.weight: 1", plugin="nodeorder") == ClaimRules()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            "volumebinding.shape: [{utilization: 50, score: 1}, {utilization: 20, score: 2}]",
            utilizations_fall([50, 20]),
            id="points that are not in order",
        ),
        pytest.param("volumebinding.shape: [{utilization: 101, score: 1}]", "<= 100", id="more than everything"),
        pytest.param("volumebinding.shape: [{utilization: 10, score: 11}]", "<= 10", id="too high a score"),
        pytest.param("volumebinding.bindTimeoutSeconds: -1", ">= 0", id="a negative time"),
    ],
)
def test_mistakes_are_told_with_their_place(arguments: str, message: str) -> None:
    with pytest.raises(BadInput, match=r"policy:8: tiers\[0\]\.plugins\[1\]\.arguments\.volumebinding") as caught:
        rules(arguments)

    assert message in str(caught.value)
