"""What objects state, and no plugin of the policy acts on."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.plans import manifests, mirror, plan, policy_of
from vsched.framework.points.terms import JobTerm, PlacementTerm, QueueTerm, Term
from vsched.framework.policy import PluginConf, PluginTier, Policy, Switches
from vsched.framework.unserved import kind_of, of_job, of_queue, unserved
from vsched.framework.words import engine as words
from vsched.plugins.predicates import PredicatesArgs
from vsched.settings.installed import registry

ALL = [term for kind in (QueueTerm, JobTerm, PlacementTerm) for term in kind]
BARE = policy_of("conformance")
NODE = "node n1 cpu=8\n"


def told(term: Term) -> str:
    """The sentence about a term under a policy without plugins that act on anything."""
    return words.not_acted_on(term.value, unserved(BARE, registry())[term], tree=term is QueueTerm.PARENT)


@pytest.mark.parametrize(
    ("queue", "terms"),
    [
        pytest.param("weight=3", [], id="every queue has a weight"),
        pytest.param("capability=cpu:4", [QueueTerm.CAPABILITY], id="capability"),
        pytest.param("capability=cpu:0", [QueueTerm.CAPABILITY], id="a capability of nothing is one"),
        pytest.param("guarantee=cpu:1", [QueueTerm.GUARANTEE], id="guarantee"),
        pytest.param("deserved=cpu:2", [QueueTerm.DESERVED], id="deserved"),
        pytest.param("priority=5", [QueueTerm.PRIORITY], id="priority"),
        pytest.param("parent=root", [], id="the root is above every queue"),
        pytest.param("parent=other", [QueueTerm.PARENT], id="a parent"),
        pytest.param("required=g1", [QueueTerm.NODE_GROUPS], id="groups of nodes"),
        pytest.param("hierarchy=root/a", [QueueTerm.HIERARCHY], id="a path of annotations"),
        pytest.param("vsched.io/max-running-jobs=0", [QueueTerm.RUNNING_JOBS], id="no jobs may run"),
        pytest.param("vsched.io/max-running-jobs-per-user=3", [QueueTerm.RUNNING_JOBS], id="a user's jobs"),
        pytest.param("vsched.io/max-wall-time=1h", [QueueTerm.WALL_TIME], id="the time of jobs"),
        pytest.param("volcano.sh/nodegroup-resource-limits=?", [QueueTerm.GROUP_LIMITS], id="limits by group"),
        pytest.param("vsched.io/preempt-min-runtime=1m", [QueueTerm.PREEMPT_MIN_RUNTIME], id="safe from its own"),
        pytest.param("vsched.io/reclaim-min-runtime=1m", [QueueTerm.RECLAIM_MIN_RUNTIME], id="safe from others"),
        pytest.param("vsched.io/preemption-delay=1m", [QueueTerm.PREEMPTION_DELAY], id="evicting later"),
        pytest.param("parent=other deserved=cpu:2", [QueueTerm.DESERVED, QueueTerm.PARENT], id="several"),
    ],
)
def test_what_a_queue_states_in_vain(queue: str, terms: list[QueueTerm]) -> None:
    snapshot = mirror(manifests(f"queue other\nqueue q {queue}")).snapshot(0.0)
    assert of_queue(snapshot.queues["q"], unserved(BARE, registry())) == [told(term) for term in terms]


@pytest.mark.parametrize(
    ("job", "terms"),
    [
        pytest.param("pods=1 cpu=1", [], id="a pod that asks for nothing else"),
        pytest.param("min=1 pods=2 cpu=1", [], id="one of its pods may start alone"),
        pytest.param("min=2 pods=2 cpu=1", [JobTerm.MINIMUM], id="a gang"),
        pytest.param("roles=ps:1 pods=1 role=ps", [JobTerm.ROLES], id="roles"),
        pytest.param("volcano.sh/sla-waiting-time=1h pods=1", [JobTerm.WAITING_TIME], id="how long it waits"),
        pytest.param("vsched.io/wall-time=1h pods=1", [JobTerm.WALL_TIME], id="how long it runs"),
        pytest.param("volcano.sh/jdb-min-available=1 pods=1", [JobTerm.BUDGET], id="a budget"),
        pytest.param("vsched.io/preempt-min-runtime=1m pods=1", [JobTerm.PREEMPT_MIN_RUNTIME], id="safe from its own"),
        pytest.param("vsched.io/reclaim-min-runtime=1m pods=1", [JobTerm.RECLAIM_MIN_RUNTIME], id="safe from others"),
        pytest.param("vsched.io/preemption-delay=1m pods=1", [JobTerm.PREEMPTION_DELAY], id="evicting later"),
        pytest.param("pods=1 on=n1 volcano.sh/cooldown-time=1h started=60", [PlacementTerm.COOLDOWN], id="cool-down"),
        pytest.param("pods=1 on=n1 selector=zone:a", [PlacementTerm.NODES], id="nodes, of a pod that runs"),
        pytest.param("pods=1 selector=zone:a", [PlacementTerm.NODES], id="nodes"),
        pytest.param("pods=1 port=80", [PlacementTerm.PORTS], id="a port of the node"),
        pytest.param("pods=1 apart=g", [PlacementTerm.PODS], id="no node with others"),
        pytest.param("pods=1 claim=data", [PlacementTerm.VOLUMES], id="a volume"),
        pytest.param("min=2 pods=2 port=80", [JobTerm.MINIMUM, PlacementTerm.PORTS], id="several"),
    ],
)
def test_what_a_job_states_in_vain(job: str, terms: list[Term]) -> None:
    snapshot = mirror(manifests(f"{NODE}queue default\njob ns/g {job}")).snapshot(0.0)
    assert of_job(snapshot.jobs["ns/g"], unserved(BARE, registry())) == [told(term) for term in terms]


@pytest.mark.parametrize("term", ALL, ids=[f"{kind_of(term)} {term.name.lower()}" for term in ALL])
def test_some_plugin_acts_on_each_term(term: Term) -> None:
    """And a policy that has one of these plugins, in the mode that is named, acts on it."""
    if term is QueueTerm.WEIGHT:
        assert term not in unserved(BARE, registry()), "every queue has one, so nobody is told of it"
        return
    for actor in unserved(BARE, registry())[term]:
        name, _, tree = actor.partition(" ")
        found = alone(name, registry().plugins[name].args_type(), tree=bool(tree))
        assert term not in unserved(found, registry()), actor


def alone(name: str, args: msgspec.Struct, *, tree: bool = False) -> Policy:
    return Policy(("allocate",), (PluginTier((PluginConf(name, args, Switches(hierarchy=tree)),)),))


def test_a_check_that_is_turned_off_acts_on_nothing() -> None:
    found = unserved(alone("predicates", PredicatesArgs(node_ports=False)), registry())
    assert [term for term in found if isinstance(term, PlacementTerm)] == [
        PlacementTerm.PORTS,
        PlacementTerm.NUMA,
        PlacementTerm.STRATEGY,
        PlacementTerm.REVOCABLE,
        PlacementTerm.COOLDOWN,
    ]


@pytest.mark.parametrize(
    ("text", "without", "with_it"),
    [
        pytest.param("job ns/g pods=1 cpu=1 selector=zone:a", "priority", "predicates", id="nodes"),
        pytest.param("job ns/g min=2 pods=2 cpu=6", "priority", "gang", id="a gang"),
        pytest.param("job ns/g queue=q pods=1 cpu=6", "priority", "proportion", id="a capability"),
    ],
)
def test_it_has_no_effect_indeed(text: str, without: str, with_it: str) -> None:
    cluster = f"{NODE}queue default\nqueue q capability=cpu:2\n{text}"
    assert plan(cluster, policy_of(without), proved=False).order == ["g.0"]
    assert plan(cluster, policy_of(with_it)).order == []
