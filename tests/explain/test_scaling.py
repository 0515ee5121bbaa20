"""What explanations tell of nodes that are asked for, or not."""

from __future__ import annotations

from tests.support.explained import explained
from tests.support.plans import NOW, manifests, mirror, policy_of
from vsched.explain.explaining import explain
from vsched.explain.records import Whereabouts
from vsched.explain.why import words as why_words
from vsched.framework.cycle import run_cycle
from vsched.model import words as model_words
from vsched.model.jobs.provisioning import Provisioning
from vsched.settings.built_in import REGISTRY

POLICY = policy_of("priority gang", "predicates capacity", actions="allocate")
LIMITED = "node n1 cpu=9\nqueue q capability=gpu:8\njob ns/a min=4 queue=q\npods ns/a 2 gpu=4\npods ns/a 2 gpu=3"


def test_a_queue_that_would_not_let_the_gang_run() -> None:
    found = explained(LIMITED, policy=POLICY)

    assert found.notes == (why_words.no_nodes_requested("queue q may hold 8 example.com/gpu at most: 14 asked"),)


def test_nothing_is_told_where_pods_ask_for_nodes_by_their_conditions() -> None:
    assert explained("node n1 cpu=9\njob ns/a min=2 pods=2 gpu=4", policy=POLICY).notes == ()


def test_what_became_of_the_request() -> None:
    found = mirror(manifests("node n1 cpu=9\njob ns/a min=2 pods=2 gpu=4"))
    found.inputs.provision({"ns/a": Provisioning("a-1", "c", "failed", "none left", 1, 0.0, NOW + 60)})
    snapshot = found.snapshot(NOW)
    told = explain(snapshot, POLICY, REGISTRY, run_cycle(snapshot, POLICY, REGISTRY), "ns", "a", simulations=0)

    assert told is not None
    assert told.state is Whereabouts.WAITS, "not for ever: nodes may come"
    assert told.notes == (model_words.asked_for_again("ProvisioningRequest a-1", ": none left", "at 08:01:00 UTC"),)
