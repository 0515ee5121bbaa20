"""Cycles on clusters with volumes and devices: written down, under made-up names, and on a mirror that is restored."""

from __future__ import annotations

import re

from hypothesis import given, settings

from tests.support import devices as d
from tests.support.claim_cases import POLICY, Case, cases
from tests.support.examples import examples
from tests.support.plans import OUR_NAMES
from vsched.explain.edits.nodes import AddNodes
from vsched.framework.cycle import run_cycle
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.model.dump.cycle import Recording, decode, encode, pack, report_bytes
from vsched.model.frozen import freeze
from vsched.settings.built_in import REGISTRY
from vsched.settings.document import policy_text
from vsched.web.pages.recording import anonymous, policy_of, replay
from vsched.web.words.answers import DIFFERS

FEW = settings(max_examples=examples(20), deadline=None)


def recorded(case: Case) -> Recording:
    """The cycle of a cluster."""
    snapshot, report = case.report()
    return Recording(freeze(snapshot), policy_text(POLICY), report)


@FEW
@given(cases())
def test_a_cycle_with_claims_that_was_written_down_decides_the_same_again(case: Case) -> None:
    recording = recorded(case)
    read = decode(pack(recording))
    assert recording.report is not None
    assert encode(read) == encode(recording)
    assert report_bytes(run_cycle(read.snapshot, POLICY, REGISTRY)) == report_bytes(recording.report)


@FEW
@given(cases())
def test_under_made_up_names_the_same_is_decided_about_claims(case: Case) -> None:
    recording = recorded(case)
    made = decode(pack(anonymous(recording, REGISTRY)))
    assert made.head.says != DIFFERS
    assert made.report is not None
    assert recording.report is not None
    again = replay(made, policy_of(made, REGISTRY), REGISTRY)
    assert report_bytes(again.report) == report_bytes(made.report)
    assert len(made.report.binds) == len(recording.report.binds)
    told = encode(made)
    assert not re.search(rb"isGreaterThan|zoned|csi\.example\.com", told)


@FEW
@given(cases())
def test_a_mirror_that_is_restored_decides_the_same_about_claims(case: Case) -> None:
    recording = recorded(case)
    restored = ClusterEditor(recording.snapshot, OUR_NAMES).snapshot(recording.snapshot.now)
    assert recording.report is not None
    found = run_cycle(restored, POLICY, REGISTRY)
    assert (found.binds, found.evictions, found.nominations) == (
        recording.report.binds,
        recording.report.evictions,
        recording.report.nominations,
    )
    assert found.unschedulable == recording.report.unschedulable


def test_shares_of_a_device_are_named_anew_under_made_up_names() -> None:
    shared = d.device("gpu-0", capacity={"memory": "40Gi"}, allowMultipleAllocations=True)
    asked = d.request("gpu", 1, capacity={"requests": {"memory": "10Gi"}})
    objects = (d.device_class(), d.resource_slice("n1", [shared]), d.resource_claim("part", asked))
    recording = recorded(Case("node n1 cpu=4\njob ns/p pods=1 cpu=1", objects, {"p.0": d.pod_claims(gpu="part")}))
    made = anonymous(recording, REGISTRY)
    assert made.head.says == ""
    assert made.report is not None
    [bind] = made.report.binds
    assert bind.claims is not None
    assert bind.claims.devices[0].allocation.devices[0].share


def test_extended_resources_that_devices_serve_are_the_same_everywhere() -> None:
    objects = (
        d.device_class(spec={"extendedResourceName": "example.com/gpu"}),
        d.resource_slice("n1", 2),
        d.resource_slice("n2", 1),
    )
    text = "node n1 cpu=4\nnode n2 cpu=4\nnode n3 cpu=4 gpu=1\n"
    recording = recorded(
        Case(f"{text}job ns/p min=3 pods=3 cpu=1 gpu=1\njob ns/q min=2 pods=2 cpu=1 gpu=1", objects, {})
    )
    assert recording.report is not None
    assert len(recording.report.binds) == 3
    made = anonymous(recording, REGISTRY)
    assert made.head.says == ""
    assert made.report is not None
    assert len(made.report.binds) == 3
    cluster = ClusterEditor(decode(pack(recording)).snapshot, OUR_NAMES)
    seen = cluster.snapshot(recording.snapshot.now)
    assert run_cycle(seen, POLICY, REGISTRY).binds == recording.report.binds
    cluster.settle(recording.report)
    assert run_cycle(cluster.edited([]), POLICY, REGISTRY).binds == ()
    later = run_cycle(cluster.edited([AddNodes("n2", 1)]), POLICY, REGISTRY)
    assert {bind.node for bind in later.binds} == {"n1", "n2-new-1"}
    assert run_cycle(cluster.edited([]), POLICY, REGISTRY).binds == ()
