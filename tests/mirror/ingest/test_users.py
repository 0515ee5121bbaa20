"""Users who are named by an annotation or label of the cluster's own."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from vsched import api
from vsched.mirror.ingest.metadata import MADE_BY, OURS
from vsched.mirror.ingest.users import rename_user
from vsched.model.jobs.spec import USER

KEY = "example.com/owner"
Fields = dict[str, Any]


def read(kind: str, annotations: Fields, labels: Fields, name: str = "x") -> api.Object:
    metadata = {"name": name, "namespace": "ns", "uid": "u", "annotations": annotations, "labels": labels}
    return api.read(kind, orjson.dumps({"kind": kind, "metadata": metadata, "spec": {"containers": []}}))


MADE = {MADE_BY: OURS}


@pytest.mark.parametrize(
    ("kind", "name", "annotations", "labels", "annotation", "label"),
    [
        pytest.param("PodGroup", "g", {KEY: "ann"}, {}, "ann", None, id="the annotation of a PodGroup"),
        pytest.param("PodGroup", "g", {}, {KEY: "ann"}, "ann", None, id="else its label"),
        pytest.param("PodGroup", "g", {KEY: "ann"}, {KEY: "bob"}, "ann", None, id="the annotation of both"),
        pytest.param("PodGroup", "g", {USER: "eve"}, {}, None, None, id="nobody names a user by our own key"),
        pytest.param("PodGroup", "g", {USER: "eve", KEY: "ann"}, {}, "ann", None, id="nor beside the other"),
        pytest.param("PodGroup", "podgroup-1", {USER: "ann"}, MADE, "ann", None, id="but in a PodGroup that we made"),
        pytest.param("ReplicaSet", "d", {}, {KEY: "ann"}, "ann", None, id="a workload"),
        pytest.param("Pod", "p", {}, {KEY: "ann"}, "ann", "ann", id="the label of a pod"),
        pytest.param("Pod", "p", {KEY: "ann"}, {}, "ann", None, id="its annotation"),
        pytest.param("Pod", "p", {USER: "eve"}, {USER: "eve"}, None, None, id="no label of our own key"),
        pytest.param("Queue", "q", {KEY: "ann"}, {}, None, None, id="queues have no user"),
    ],
)
def test_which_user_an_object_names(
    kind: str, name: str, annotations: Fields, labels: Fields, annotation: str | None, label: str | None
) -> None:
    found = read(kind, annotations, labels, name)
    rename_user(found, KEY)
    assert (found.metadata.annotations or {}).get(USER) == annotation
    assert (found.metadata.labels or {}).get(USER) == label


def test_by_our_own_key_objects_stay_as_they_are() -> None:
    found = read("Pod", {USER: "ann"}, {USER: "bob"})
    rename_user(found, USER)
    assert (found.metadata.annotations, found.metadata.labels) == ({USER: "ann"}, {USER: "bob"})
