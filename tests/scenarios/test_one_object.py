"""Whatever a tenant writes into one object, the gangs of others are bound beside it, and nothing of it stays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.support import builders as make
from tests.support import oversized as big
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from vsched.framework.cycle import run_cycle
from vsched.mirror.ingest.bounds import (
    CONTAINERS_MAX,
    LABELS_MAX,
    POD_TERMS_MAX,
    PORTS_MAX,
    RESOURCES_MAX,
    ROLES_MAX,
    SPREAD_MAX,
    TERMS_MAX,
    TOLERATIONS_MAX,
)
from vsched.mirror.mirror import Mirror
from vsched.model.plan import CycleReport
from vsched.plugins.pods.rules import COMPARISONS_MAX
from vsched.plugins.words.nodes import rules_too_costly
from vsched.settings.built_in import REGISTRY

Manifest = dict[str, Any]
NODES, PODS_A_NODE = 50, 20


def others() -> list[Manifest]:
    """Pods that run, no two of them with the same labels."""
    found = manifests("\n".join(f"node n{number} cpu=64 zone=z{number % 3}" for number in range(NODES)))
    for node in range(NODES):
        for number in range(PODS_A_NODE):
            name = f"run-{node}-{number}"
            pod = big.pod(name, labels={"app": "web", "pod": name, "tier": "a", "team": "b"}, nodeName=f"n{node}")
            pod["metadata"]["namespace"] = ("tenant", "other")[number % 2]
            pod["status"]["phase"] = "Running"
            found.append(pod)
    return found


class Crowd:
    """A cluster with others in it, at work."""

    def __init__(self) -> None:
        self.cache: Mirror = mirror(others())
        self._gangs = 0
        self.session()

    def tell(self, manifest: Manifest, type: str = "ADDED") -> None:
        self.cache.intake.apply(manifest["kind"], type, make.read(manifest))

    def session(self) -> CycleReport:
        return run_cycle(self.cache.snapshot(NOW), DEFAULT_POLICY, REGISTRY)

    def sizes(self) -> dict[str, int]:
        """How much there is of everything; of shapes a bounded number is remembered."""
        return {name: size for name, size in self.cache.describe().items() if name not in ("snapshots", "shapes")}

    def binds_a_gang(self) -> bool:
        """Whether a session places a gang that has just come; it goes again."""
        self._gangs += 1
        gang = manifests(f"job team/gang-{self._gangs} min=4 pods=4 cpu=1")
        for one in gang:
            self.tell(one)
        placed = sum(bind.job == f"team/gang-{self._gangs}" for bind in self.session().binds)
        for one in gang:
            self.tell(one, "DELETED")
        return placed == 4


@pytest.fixture(scope="module")
def crowd() -> Crowd:
    return Crowd()


MANY = 20_000
FIVE_THOUSAND = 5_000
OBJECTS = [
    pytest.param(partial(big.labelled, MANY), id="20,000 labels"),
    pytest.param(partial(big.labelled, LABELS_MAX), id="as many labels as are read"),
    pytest.param(partial(big.spread, FIVE_THOUSAND), id="5,000 hard spread constraints"),
    pytest.param(partial(big.spread, FIVE_THOUSAND, "ScheduleAnyway"), id="5,000 soft spread constraints"),
    pytest.param(partial(big.spread, SPREAD_MAX), id="as many hard spread constraints as are read"),
    pytest.param(partial(big.spread, SPREAD_MAX, "ScheduleAnyway"), id="as many soft spread constraints as are read"),
    pytest.param(partial(big.apart, FIVE_THOUSAND), id="5,000 terms of anti-affinity"),
    pytest.param(partial(big.apart, POD_TERMS_MAX), id="as many terms of anti-affinity as are read"),
    pytest.param(partial(big.apart, POD_TERMS_MAX, "podAffinity"), id="as many terms of affinity as are read"),
    pytest.param(
        partial(big.apart, POD_TERMS_MAX, strength=big.PREFERRED), id="as many preferred terms of anti-affinity"
    ),
    pytest.param(partial(big.asking, MANY), id="20,000 resources"),
    pytest.param(partial(big.asking, RESOURCES_MAX), id="as many resources as are read"),
    pytest.param(partial(big.choosing, 100, 300), id="node affinity with 30,000 names of nodes"),
    pytest.param(partial(big.choosing, TERMS_MAX, 10), id="as many terms of node affinity as are read"),
    pytest.param(partial(big.selecting, MANY), id="a node selector of 20,000 labels"),
    pytest.param(partial(big.tolerating, MANY), id="20,000 tolerations"),
    pytest.param(partial(big.tolerating, TOLERATIONS_MAX), id="as many tolerations as are read"),
    pytest.param(partial(big.containing, FIVE_THOUSAND), id="5,000 containers"),
    pytest.param(partial(big.containing, CONTAINERS_MAX), id="as many containers as are read"),
    pytest.param(partial(big.listening, MANY), id="20,000 ports of the host"),
    pytest.param(partial(big.listening, PORTS_MAX), id="as many ports of the host as are read"),
    pytest.param(partial(big.gated, MANY), id="20,000 gates"),
    pytest.param(partial(big.roles, MANY), id="20,000 roles of two billion pods each"),
    pytest.param(partial(big.roles, ROLES_MAX), id="as many roles as are read, of two billion pods each"),
    pytest.param(partial(big.minimum, MANY), id="minResources of 20,000 resources"),
    pytest.param(partial(big.group, minMember=big.INT32_MAX), id="a minimum of two billion pods"),
]


@pytest.mark.parametrize("made", OBJECTS)
def test_a_gang_is_bound_beside_any_object_of_a_tenant_and_nothing_of_it_stays(
    crowd: Crowd, made: Callable[[], Manifest]
) -> None:
    manifest = made()
    assert crowd.binds_a_gang()
    before = crowd.sizes()
    crowd.tell(manifest)
    if manifest["kind"] == "PodGroup":
        member = big.pod("member")
        member["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "big"}
        crowd.tell(member)
    assert crowd.binds_a_gang()
    crowd.tell(big.pod("member"), "DELETED")
    crowd.tell(manifest, "DELETED")
    assert crowd.binds_a_gang()
    assert crowd.sizes() == before


def test_a_pod_whose_rules_take_too_many_comparisons_waits_with_that_as_the_reason(crowd: Crowd) -> None:
    """The bound of terms holds for one list each: together they may come to more than a session does for one pod."""
    pod = big.apart(POD_TERMS_MAX)
    terms = pod["spec"]["affinity"]["podAntiAffinity"]
    required = [dict(term, topologyKey=f"{big.HOST}") for term in terms[big.REQUIRED]]
    terms[big.PREFERRED] = [{"weight": 1, "podAffinityTerm": term} for term in required]
    pod["spec"]["affinity"]["podAffinity"] = {
        big.PREFERRED: [{"weight": 1, "podAffinityTerm": term} for term in required]
    }
    labels = len(crowd.cache.snapshot(NOW).placed.counts)
    for number in range(COMPARISONS_MAX // (POD_TERMS_MAX * 4) - labels + 1):
        crowd.tell(_running(f"more-{number}"))
    crowd.tell(pod)
    said = crowd.session().unschedulable
    assert rules_too_costly(COMPARISONS_MAX) in said["tenant/big"].message


def _running(name: str) -> Manifest:
    pod = big.pod(name, labels={"app": "web", "pod": name}, nodeName="n0")
    pod["status"]["phase"] = "Running"
    return pod
