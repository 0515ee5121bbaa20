"""Explanations of pods and PodGroups: state, message, amounts, groups and place, and whom they are about."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.support.clusters import clusters, contended
from tests.support.examples import examples
from tests.support.explained import ROOMS, TAKING, explained, explained_if_known
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_of
from vsched.explain.explaining import explain
from vsched.explain.records import Whereabouts
from vsched.explain.words import reasons
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.words import jobs as jobs_words
from vsched.framework.words import nodes as nodes_words
from vsched.settings.built_in import REGISTRY


def test_an_explanation_names_amounts_groups_and_the_place() -> None:
    kind = "node.kubernetes.io/instance-type"
    found = explained(f"""
        node n1 cpu=4 {kind}=small
        node n2 cpu=4 {kind}=small cordoned
        node n3 cpu=4 taint=gpu:yes {kind}=large
        job ns/first min=1 pods=1 cpu=3 age=9
        job ns/a min=3 pods=3 cpu=3
    """)

    assert (
        found.message == f"{jobs_words.needs('the gang', 3, 3, 0, 2)}: "
        "1 node has too little cpu, 1 is tainted {gpu: yes}, 1 is cordoned"
    )
    assert found.groups == {
        "large": {nodes_words.tainted("gpu", "yes"): 1},
        "small": {"node(s) were unschedulable": 1, "Insufficient cpu": 1},
    }
    assert found.reasons == {
        nodes_words.tainted("gpu", "yes"): 1,
        "node(s) were unschedulable": 1,
        "Insufficient cpu": 1,
    }
    assert found.place is not None
    assert found.place.message == reasons.position_in_queue("2nd", 2, "default", "ns/first is older")
    assert (found.counts["minMember"], found.counts["pending"], found.queue) == (3, 3, "default")
    assert sum(found.pods.values()) == 3


def test_a_pod_is_told_what_its_gang_lacks() -> None:
    text = f"{ROOMS}\njob ns/a min=8 pods=8 cpu=1"
    fits, fails = explained(text, "ns/a.0"), explained(text, "ns/a.4")

    assert fits.message == jobs_words.fits_but_waits(jobs_words.gang_reaches_minimum("ns/a", 8))
    assert fits.constraints[-1].message.startswith("the gang needs 8, 4 fit")
    assert (fails.kind, fails.job, fails.queue) == ("Pod", "ns/a", "default")
    assert [one.repeats for one in fails.constraints].count(False) == 1, "the gang's headline, and nothing twice"
    assert fails.message.startswith("0/3 nodes are available: ")


@pytest.mark.parametrize(
    ("text", "state", "message", "node"),
    [
        pytest.param(
            "job ns/a min=1 pods=1 cpu=1",
            Whereabouts.STARTING,
            reasons.SAYS[Whereabouts.STARTING],
            "n1",
            id="placed",
        ),
        pytest.param("job ns/a min=1 pods=1 cpu=1 on=n1", Whereabouts.RUNS, "runs", "n1", id="runs"),
        pytest.param("job ns/a min=1 pods=1 gated cpu=1", Whereabouts.WAITS, reasons.GATED, "", id="gated"),
        pytest.param(
            "pods ns/o 1 cpu=4 on=n1 leaving\njob ns/a min=1 pods=1 cpu=1",
            Whereabouts.STARTING,
            jobs_words.goes_once("n1"),
            "n1",
            id="waits for others to leave",
        ),
        pytest.param(
            "job ns/a min=1 pods=1 cpu=1 on=n1 failed", Whereabouts.FINISHED, "has finished", "n1", id="failed"
        ),
        pytest.param(
            "pods ns/a 1 cpu=1",
            Whereabouts.NEVER,
            jobs_words.no_group("PodGroup ns/a"),
            "",
            id="names a PodGroup that does not exist",
        ),
    ],
)
def test_where_a_pod_stands(text: str, state: Whereabouts, message: str, node: str) -> None:
    found = explained(f"node n1 cpu=4\n{text}", "ns/a.0")

    assert (found.state, found.message, found.node) == (state, message, node)


def test_a_podgroup_that_pods_only_name_is_explained_as_missing() -> None:
    found = explained("node n1 cpu=4\npods ns/a 2 cpu=1")

    assert (found.kind, found.state, [one.code for one in found.constraints]) == (
        "PodGroup",
        Whereabouts.NEVER,
        [Code.NO_POD_GROUP],
    )
    assert found.counts == {"pods": 2, "pending": 2}


def test_of_a_pod_and_a_podgroup_of_one_name_the_podgroup_is_meant_unless_said() -> None:
    text = "node n1 cpu=4\njob ns/a.0 min=1 pods=1 cpu=9\njob ns/a min=1 pods=1 cpu=9"

    assert explained(text, "ns/a.0").kind == "PodGroup"
    assert explained(text, "ns/a.0", kind="Pod").job == "ns/a"
    assert explained_if_known(text, "ns/a", kind="Pod") is None
    assert explained_if_known(text, "ns/nobody") is None


def test_what_would_help_is_found_unless_nobody_asks() -> None:
    text = "node n1 cpu=9\nqueue q capability=cpu:4\njob ns/a queue=q min=1 phase=Inqueue pods=1 cpu=5"
    snapshot = mirror(manifests(text)).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns", "a")
    cut_short = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns", "a", spent=lambda: True)

    assert found is not None
    assert cut_short is not None
    assert found.changes
    assert not cut_short.changes
    assert found.constraints == cut_short.constraints


@settings(deadline=None, max_examples=examples(35))
@given(clusters() | contended())
def test_whatever_waits_is_explained_with_its_headline_first(text: str) -> None:
    snapshot = mirror(manifests(text)).snapshot(NOW)
    report = run_cycle(snapshot, TAKING, REGISTRY)
    for key, outcome in report.jobs.items():
        namespace, _, name = key.partition("/")
        found = explain(snapshot, TAKING, REGISTRY, report, namespace, name, kind="PodGroup", simulations=0)
        assert found is not None
        if outcome.message and found.state in (Whereabouts.WAITS, Whereabouts.NEVER):
            assert (found.constraints[0].code, found.constraints[0].message) == (outcome.code, outcome.message)
            assert outcome.code


def test_a_gang_that_lost_a_pod_is_told_what_its_condition_says() -> None:
    found = explained("node n1 cpu=4\njob ns/a min=2 phase=Running\npods ns/a 1 cpu=1 on=n1")
    assert found.message == "1 of the gang's 2 pods exist"


def test_pods_that_stay_but_wait_for_nothing_are_told_of() -> None:
    found = explained(
        "node n1 cpu=4\njob ns/a min=1 phase=Running\npods ns/a 2 cpu=1 on=n1 leaving", policy=policy_of("predicates")
    )
    assert found.message == reasons.NO_POD_WAITS


@pytest.mark.parametrize(
    ("owner", "asked", "known"),
    [
        pytest.param("batch.volcano.sh/v1alpha1", "ns/mnist", "ns/a", id="the vcjob that a PodGroup was made for"),
        pytest.param("batch/v1", "ns/mnist", None, id="not another controller of a PodGroup"),
        pytest.param("batch.volcano.sh/v1alpha1", "far/mnist", None, id="not in another namespace"),
    ],
)
def test_the_name_of_a_vcjob_stands_for_its_podgroup(owner: str, asked: str, known: str | None) -> None:
    objects = manifests("node n1 cpu=4\njob ns/a min=1 pods=1 cpu=9")
    (group,) = [each for each in objects if each["kind"] == "PodGroup"]
    reference = {"apiVersion": owner, "kind": "Job", "name": "mnist", "uid": "u", "controller": True}
    group["metadata"]["ownerReferences"] = [reference]
    snapshot = mirror(objects).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)

    found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, *asked.split("/"), simulations=0)

    assert (found and found.key) == known


@pytest.mark.parametrize(
    ("pods", "phase", "told"),
    [
        pytest.param("", "Pending", True, id="before its queue admits it"),
        pytest.param("", "Inqueue", False, id="once it is admitted"),
        pytest.param("pods=2", "Pending", False, id="where the pods are there"),
    ],
)
def test_a_vcjob_without_pods_is_told_when_they_are_made(pods: str, phase: str, told: bool) -> None:
    objects = manifests(f"node n1 cpu=4\njob ns/a min=2 {pods} cpu=9 phase={phase}")
    (group,) = [each for each in objects if each["kind"] == "PodGroup"]
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "mnist", "uid": "u", "controller": True}
    group["metadata"]["ownerReferences"] = [owner]
    snapshot = mirror(objects).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)

    found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns", "mnist", simulations=0)

    assert found is not None
    assert (reasons.pods_follow_admission("ns/mnist") in found.notes) is told
