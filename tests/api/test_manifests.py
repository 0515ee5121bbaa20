"""Manifests as people and kubectl write them, and one clear line for those that cannot be read."""

from __future__ import annotations

import io
import json
from math import nan
from pathlib import Path
from typing import Any

import pytest

from vsched.api import words
from vsched.api.manifests import Manifests, decode_manifests, made_up_uid, read
from vsched.errors import BadInput


def load(text: str, wanted: frozenset[str] = frozenset()) -> Manifests:
    return decode_manifests(read(["-"], io.StringIO(text)), wanted)


def names(text: str) -> list[str]:
    return [manifest["metadata"]["name"] for _, manifest in read(["-"], io.StringIO(text))]


def thing(name: str, kind: str = "Queue") -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name}}


STREAMS: dict[str, tuple[str, list[str]]] = {
    "one YAML document": ("kind: Queue\nmetadata: {name: a}\n", ["a"]),
    "several documents, empty ones among them": (
        "---\nkind: Queue\nmetadata: {name: a}\n---\n---\n# nothing\n---\nkind: Node\nmetadata: {name: b}\n",
        ["a", "b"],
    ),
    "a JSON object": (json.dumps(thing("a")), ["a"]),
    "a JSON array": (json.dumps([thing("a"), thing("b")]), ["a", "b"]),
    "JSON objects one after the other as YAML documents": (
        json.dumps(thing("a")) + "\n---\n" + json.dumps(thing("b")),
        ["a", "b"],
    ),
    "a List": (
        "kind: List\nitems:\n- {kind: Queue, metadata: {name: a}}\n- {kind: Pod, metadata: {name: b}}",
        ["a", "b"],
    ),
    "a List in a List": (json.dumps({"kind": "List", "items": [{"kind": "List", "items": [thing("a")]}]}), ["a"]),
    "a typed list, whose items do not say their kind": (
        "kind: QueueList\nitems:\n- metadata: {name: a}\n",
        ["a"],
    ),
    "an empty list": ("kind: PodList\nitems: null\n", []),
    "flow style that is not JSON": ("{kind: Queue, metadata: {name: a}}", ["a"]),
    "nothing": ("", []),
}


@pytest.mark.parametrize(("text", "expected"), STREAMS.values(), ids=STREAMS)
def test_objects_of_a_stream(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_several_files_and_standard_input_in_order(tmp_path: Path) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.json"
    first.write_text("kind: Queue\nmetadata: {name: a}\n")
    second.write_text(json.dumps(thing("b")))
    found = list(read([str(second), "-", str(first)], io.StringIO(json.dumps(thing("c")))))
    assert [manifest["metadata"]["name"] for _, manifest in found] == ["b", "c", "a"]
    assert str(found[2][0]) == f"{first}:document 1"


def test_what_people_leave_out_is_filled_in_the_same_way_every_time() -> None:
    text = (
        "kind: Pod\nmetadata: {name: p, creationTimestamp: null, labels: null}\nspec: {containers: null}\nstatus: null"
    )
    pod = load(text).objects["Pod"][0]
    assert pod.metadata.namespace == "default"
    assert pod.metadata.uid == made_up_uid("Pod", "default", "p")
    assert pod.metadata.creation_timestamp is None
    assert load(text).objects["Pod"][0].metadata.uid == pod.metadata.uid
    assert made_up_uid("Pod", "default", "p") != made_up_uid("PodGroup", "default", "p")


def test_cluster_scoped_objects_have_no_namespace() -> None:
    assert load(json.dumps(thing("n", "Node"))).objects["Node"][0].metadata.namespace == ""


def test_numbers_are_quantities_and_time_stamps_stay_text() -> None:
    text = (
        "kind: Queue\nmetadata: {name: q, creationTimestamp: 2026-08-01T10:00:00Z}\n"
        "spec: {weight: 2, capability: {cpu: 4, memory: 1.5}, deserved: {cpu: 500m}}\n"
    )
    queue: Any = load(text).objects["Queue"][0]
    assert queue.spec.capability == {"cpu": 4, "memory": 1.5}
    assert queue.metadata.creation_timestamp.year == 2026


def test_kinds_that_nobody_reads_are_counted() -> None:
    manifests = [thing("a", "Secret"), thing("b", "Secret"), thing("c", "ConfigMap"), thing("d", "Node")]
    found = load(json.dumps(manifests))
    assert found.ignored == {"ConfigMap": 1, "Secret": 2}
    assert len(found.objects["Node"]) == 1


def test_kinds_of_the_same_name_in_other_groups_are_something_else() -> None:
    groups = ["v1", "longhorn.io/v1beta2", "scheduling.volcano.sh/v1beta1", "scheduling.x-k8s.io/v1alpha1"]
    kinds = ["Node", "Node", "PodGroup", "PodGroup"]
    manifests = [thing("a", kind) | {"apiVersion": group} for kind, group in zip(kinds, groups, strict=True)]
    found = load(json.dumps(manifests))
    assert (len(found.objects["Node"]), len(found.objects["PodGroup"])) == (1, 1)
    assert found.ignored == {"Node": 1, "PodGroup": 1}


def test_what_is_divided_is_read_like_everything_else() -> None:
    text = (
        "apiVersion: kube-arbitrator.incubator.k8s.io/v1\nkind: Consumer\n"
        "metadata: {name: c, creationTimestamp: null}\nspec: {hard: {cpu: 1.5, memory: null}, reserved: null}\n"
        "---\napiVersion: example.com/v1\nkind: Bucket\nmetadata: {name: photos}\n"
        "---\nkind: PersistentVolumeClaim\nmetadata: {name: v}\n"
        "---\nkind: StorageClass\nmetadata: {name: gold}\nprovisioner: disks\n"
    )
    found = load(text)
    consumer: Any = found.objects["Consumer"][0]
    assert (consumer.metadata.namespace, consumer.spec.hard) == ("default", {"cpu": 1.5})
    assert [len(found.objects[kind]) for kind in ("PersistentVolumeClaim", "StorageClass", "Bucket")] == [1, 1, 0]
    assert found.objects["StorageClass"][0].metadata.namespace == ""
    assert found.ignored == {"Bucket": 1}


def test_a_consumer_that_makes_no_sense_is_refused_with_its_place() -> None:
    with pytest.raises(
        BadInput, match=r'^stdin:document 1: Consumer default/c: spec\.weight: must be an integer, is "heavy"$'
    ):
        load("kind: Consumer\nmetadata: {name: c}\nspec: {weight: heavy}\n")


def test_kinds_the_caller_wants_come_as_they_are() -> None:
    found = load(json.dumps([thing("a", "Deployment")]), frozenset({"Deployment"}))
    assert [manifest["metadata"]["name"] for manifest in found.others["Deployment"]] == ["a"]
    assert not found.ignored


def test_of_objects_that_are_there_twice_the_later_counts() -> None:
    manifests = [thing("a") | {"spec": {"weight": weight}} for weight in (1, 5)]
    queues: list[Any] = load(json.dumps(manifests)).objects["Queue"]
    assert [queue.spec.weight for queue in queues] == [5]


BAD: dict[str, tuple[str, str]] = {
    "broken YAML": ("kind: Queue\nmetadata: {name: a\nspec: 1\n", "stdin:3: did not find expected ',' or '}'"),
    "a tab": ("kind: Queue\n\tmetadata: 1\n", "stdin:2: found a tab character that violates indentation"),
    "a tag for code": ("kind: !!python/object:os.system x\n", "stdin:1: could not determine a constructor"),
    "text": ("just text\n", words.no_object("stdin:document 1", "text")),
    "no kind": ("metadata: {name: a}\n", words.no_kind("stdin:document 1")),
    "no name": ("kind: Queue\n---\nkind: Queue\nmetadata: {}\n", "stdin:document 1: Queue: metadata.name: missing"),
    "items that are none": ("kind: List\nitems: 3\n", words.no_items("stdin:document 1", "a number")),
    "an item that is none": (
        "kind: List\nitems: [{kind: Queue, metadata: {name: a}}, 7]\n",
        words.no_object("stdin:document 1, items[1]", "a number"),
    ),
    "a field of the wrong type": (
        "kind: PodGroup\nmetadata: {name: a}\nspec: {minMember: three}\n",
        'stdin:document 1: PodGroup default/a: spec.minMember: must be an integer, is "three"',
    ),
    "an object that contains itself": (
        "kind: Queue\nmetadata: {name: a}\nspec: &self {deserved: *self}\n",
        "stdin: its aliases expand to far more than it says (expected YAML or JSON)",
    ),
    "a number that is none": (
        "kind: Queue\nmetadata: {name: a}\nspec: {weight: .nan}\n",
        words.no_plain_values("stdin:document 1", "Queue", "a", Exception(words.not_a_number(nan))),
    ),
    "nesting without end": ("[" * 100000, "stdin: nested too deeply"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_with_file_and_place(text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        load(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "x"
    binary.write_bytes(b"\xff\xfe")
    for path, message in [(str(tmp_path / "none"), "No such file or directory"), (str(binary), "is not UTF-8")]:
        with pytest.raises(BadInput, match=message):
            list(read([path], io.StringIO()))
    with pytest.raises(BadInput, match="Is a directory"):
        list(read([str(tmp_path)], io.StringIO()))
