"""Cycles on clusters with HyperNodes: written down, and under made-up names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.hypernodes import catalogue, hypernode
from tests.support.plans import DEFAULT_POLICY
from tests.support.topologies import snapshot_of
from vsched.framework.cycle import run_cycle
from vsched.kernels.topology.membership import counts, membership
from vsched.model.dump.cycle import Recording, decode, encode, pack, report_bytes
from vsched.model.frozen import freeze
from vsched.model.snapshot import Snapshot
from vsched.model.topology.constraints import NetworkTopology
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY
from vsched.settings.document import policy_text
from vsched.web.pages.recording import anonymous, policy_of, replay
from vsched.web.words.answers import DIFFERS

CLUSTER = """
node acme-a-1 cpu=2
node acme-a-2 cpu=2
node acme-b-1 cpu=2 falcon=left
node acme-b-2 cpu=2 falcon=left
job x/merger min=2 pods=2 cpu=2
job x/late min=3 pods=3 cpu=2
"""
WISHES = {"x/merger": NetworkTopology(highest_tier=1), "x/late": NetworkTopology(tier_name="secret-rack")}
TREE = catalogue(
    hypernode("acme-left", 1, "~^acme-a-[0-9]$", tier_name="secret-rack"),
    hypernode("acme-right", 1, "falcon=left", tier_name="secret-rack"),
    hypernode("acme-top", 2, "^acme-left", "^acme-right"),
    hypernode("acme-loop", 2, "^acme-loop"),
    acme_bad="spec.members: acme",
)


@pytest.fixture
def recording() -> Recording:
    snapshot = freeze(replace(snapshot_of(CLUSTER, {}, WISHES), topology=TREE))
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    assert [bind.name for bind in report.binds] == ["merger.0", "merger.1"]
    assert len({bind.node[:6] for bind in report.binds}) == 1
    return Recording(snapshot, policy_text(DEFAULT_POLICY), report)


def sizes(snapshot: Snapshot) -> list[int]:
    return list(counts(membership(snapshot.topology, snapshot.nodes.statics)).values())


def test_what_is_written_down_decides_the_same_again(recording: Recording) -> None:
    read = decode(pack(recording))
    assert recording.report is not None
    assert encode(read) == encode(recording)
    assert report_bytes(run_cycle(read.snapshot, DEFAULT_POLICY, REGISTRY)) == report_bytes(recording.report)


def test_under_made_up_names_the_same_is_decided_and_no_pattern_tells_of_names(recording: Recording) -> None:
    made = decode(pack(anonymous(recording, REGISTRY)))
    assert made.head.says != DIFFERS
    assert made.report is not None
    assert recording.report is not None
    again = replay(made, policy_of(made, REGISTRY), REGISTRY)
    assert report_bytes(again.report) == report_bytes(made.report)
    assert len(made.report.binds) == len(recording.report.binds)
    told = encode(made)
    for word in (b"acme", b"merger", b"falcon", b"secret", b"[0-9]"):
        assert word not in told, word
    assert sizes(made.snapshot) == sizes(recording.snapshot) == [2, 2, 4]


LABELLED = """
node n1 cpu=2 falcon=left merger.com/hall=one
node n2 cpu=2 falcon=left merger.com/hall=one
node n3 cpu=2 falcon=right merger.com/hall=one
node n4 cpu=2 falcon=right merger.com/hall=one
job x/a min=2 pods=2 cpu=2
job x/b min=2 pods=2 cpu=2
"""
BY_LABEL = """
actions: allocate
tiers:
- plugins:
  - {name: gang}
  - {name: predicates}
  - name: network-topology-aware
    arguments: {hypernode.labels: [{key: falcon, tierName: secret-rack}, merger.com/hall]}
"""


def test_labels_that_make_tiers_have_the_same_made_up_names_in_the_policy_and_on_nodes() -> None:
    policy = load_text(BY_LABEL, "p", REGISTRY).policy
    wishes = {"x/a": NetworkTopology(tier_name="secret-rack"), "x/b": NetworkTopology(tier_name="merger.com/hall")}
    snapshot = freeze(snapshot_of(LABELLED, {}, wishes))
    recording = Recording(snapshot, policy_text(policy), run_cycle(snapshot, policy, REGISTRY))
    assert recording.report is not None
    assert len(recording.report.binds) == 4
    made = decode(pack(anonymous(recording, REGISTRY)))
    assert made.head.says != DIFFERS
    assert made.report is not None
    assert len(made.report.binds) == 4
    told = encode(made)
    for word in (b"falcon", b"secret", b"merger", b"left"):
        assert word not in told, word
