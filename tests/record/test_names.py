"""Made-up names tell which are equal, and nothing else."""

from __future__ import annotations

from vsched.record.names import HiddenNames, TraceNames

LABELS = {
    "topology.kubernetes.io/zone": "fra-1",
    "node.kubernetes.io/instance-type": "p4d.24xlarge",
    "team": "secret",
}


def test_names_as_they_are_stay() -> None:
    names = TraceNames()
    assert names.name("node", "gpu-17") == "gpu-17"
    assert names.labels(LABELS) == {key: LABELS[key] for key in LABELS if key != "team"}


def test_equal_names_of_one_kind_have_equal_pseudonyms_and_others_have_others() -> None:
    names = HiddenNames(b"k" * 32)
    found = [names.name("node", "a"), names.name("node", "b"), names.name("queue", "a")]
    assert len({*found}) == 3
    assert names.name("node", "a") == found[0]
    assert not any(name == "a" or name == "b" for name in found)


def test_another_key_makes_other_names_and_ids() -> None:
    one, other = HiddenNames(b"k" * 32), HiddenNames(b"l" * 32)
    assert one.name("user", "ann") != other.name("user", "ann")
    assert one.id("uid") != other.id("uid")


def test_what_every_cluster_has_and_the_kind_of_machine_stay() -> None:
    names = HiddenNames(b"k" * 32)
    assert [names.name("queue", name) for name in ("default", "root", "")] == ["default", "root", ""]
    labels = names.labels(LABELS)
    assert labels["node.kubernetes.io/instance-type"] == "p4d.24xlarge"
    assert labels["topology.kubernetes.io/zone"] == names.name("zone", "fra-1")
