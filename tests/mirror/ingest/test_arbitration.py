"""Consumers, buckets, Allocations, quotas and pods as the arbitrator sees them, and what is said of wrong ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mirror import arbitrated as of
from tests.support import builders as make
from vsched import api
from vsched.errors import BadObject
from vsched.mirror.ingest.arbitration import allocation_of, bucket_of, claim_of, limits_of_quota
from vsched.mirror.ingest.pods import PodReader
from vsched.mirror.ingest.words import groups as groups_words
from vsched.model import words as model_words
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.arbitration.records import PREFERRED_VICTIM, AllocationRecord, ArbitrationCondition, Bucket, Claim
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

GIB = 1 << 30
SINCE = "2026-08-01T10:00:00Z"
EPOCH = 1785578400.0
"""``SINCE`` in seconds."""
CONDITION = {"type": "Overused", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": SINCE}
TOLD = ArbitrationCondition("Overused", "True", "R", "m", EPOCH)
METADATA = {"uid": "u", "resourceVersion": "7", "generation": 3, "creationTimestamp": SINCE}


# What objects say


def test_all_of_a_consumer() -> None:
    spec = {
        "hard": {"requests.cpu": "1", "limits.memory": "2Gi", "gold.storageclass.storage.k8s.io/requests.storage": 1},
        "reserved": {"cpu": "500m", "pods": 2, "storage": "1Gi", "requests.example.com/gpu": 1},
        "weight": 4,
        "parent": "area.big",
    }
    status = {"observedGeneration": 2, "conditions": [CONDITION]}

    assert claim_of(make.decode(of.consumer(metadata=METADATA, spec=spec, status=status))) == Claim(
        namespace="ns",
        name="c",
        uid="u",
        version="7",
        generation=3,
        created=EPOCH,
        hard={"cpu": 1000, "limits.memory": 2 * GIB, "gold.storageclass.storage.k8s.io/requests.storage": 1},
        reserved={"cpu": 500, "pods": 2, "requests.storage": GIB, "example.com/gpu": 1000},
        weight=4,
        parent="area.big",
        stated_hard={
            "requests.cpu": "1",
            "limits.memory": "2Gi",
            "gold.storageclass.storage.k8s.io/requests.storage": "1",
        },
        stated_reserved={"cpu": "500m", "pods": "2", "storage": "1Gi", "requests.example.com/gpu": "1"},
        conditions=(TOLD,),
        observed=2,
    )


def test_a_consumer_that_says_nothing_has_no_limit_and_no_reservation() -> None:
    assert claim_of(make.decode(of.consumer())) == Claim("ns", "c")
    assert claim_of(make.decode(of.consumer(spec={"hard": None, "parent": "", "weight": None}))) == Claim("ns", "c")


def test_all_of_a_bucket() -> None:
    spec = {"hard": {"cpu": "4"}, "reserved": {"memory": "1Gi"}, "weight": 3, "parent": "top"}
    status = {
        "observedGeneration": 2,
        "deserved": {"cpu": "2"},
        "allocated": {"cpu": 1},
        "conditions": [{"type": "Reserved", "status": "False"}],
    }

    assert bucket_of(make.decode(of.bucket(metadata=METADATA, spec=spec, status=status))) == Bucket(
        name="b",
        uid="u",
        version="7",
        generation=3,
        hard={"cpu": 4000},
        reserved={"memory": GIB},
        weight=3,
        parent="top",
        deserved={"cpu": "2"},
        allocated={"cpu": "1"},
        conditions=(ArbitrationCondition("Reserved", "False"),),
        observed=2,
    )
    assert bucket_of(make.decode(of.bucket())) == Bucket("b")


def test_all_of_an_allocation() -> None:
    spec = {"deserved": {"cpu": "1500m"}, "hard": {"requests.cpu": "2"}, "reserved": {"pods": 1}}
    status = {"allocated": {"cpu": "1"}, "conditions": [CONDITION]}
    found = allocation_of(make.decode(of.allocation(metadata=METADATA, spec=spec, status=status)))

    assert found == AllocationRecord(
        namespace="ns",
        name="c",
        uid="u",
        version="7",
        deserved={"cpu": "1500m"},
        hard={"requests.cpu": "2"},
        reserved={"pods": "1"},
        allocated={"cpu": "1"},
        conditions=(TOLD,),
    )
    assert found.condition("Overused") == TOLD


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"spec": "much", "status": 3}, id="something else altogether"),
        pytest.param({"spec": {"deserved": ["cpu"]}, "status": {"conditions": "none"}}, id="parts of another type"),
    ],
)
def test_what_the_arbitrator_wrote_and_cannot_be_read_is_as_if_it_were_not_there(fields: make.Fields) -> None:
    status = {"status": fields["status"]} if "status" in fields else {}

    assert allocation_of(make.decode(of.allocation(**fields))) == AllocationRecord("ns", "c")
    assert claim_of(make.decode(of.consumer(**status))) == Claim("ns", "c")
    assert bucket_of(make.decode(of.bucket(**status))) == Bucket("b")


@pytest.mark.parametrize("moment", [None, "", "yesterday", 5, "0001-01-01T00:00:00Z"])
def test_a_condition_without_a_moment_that_makes_sense_is_of_all_times(moment: Any) -> None:
    status = {"conditions": [CONDITION | {"lastTransitionTime": moment}]}
    (told,) = allocation_of(make.decode(of.allocation(status=status))).conditions

    assert told.since <= 0.0


# What is wrong with them

WHAT = groups_words.DIVIDED_RESOURCES
WRONG_AMOUNTS = [
    pytest.param({"services": 1}, f"services: cannot be divided (expected {WHAT})", id="what nobody divides"),
    pytest.param({"count/pods": 1}, f"count/pods: cannot be divided (expected {WHAT})", id="counts of objects"),
    pytest.param(
        {"limits.pods": 1}, groups_words.cannot_be_divided("limits", "pods", WHAT), id="limits there are none of"
    ),
    pytest.param(
        {"gold.storageclass.storage.k8s.io/storage": 1},
        groups_words.cannot_be_divided("gold", "storageclass.storage.k8s.io/storage", WHAT),
        id="what nobody counts of a storage class",
    ),
    pytest.param(
        {"cpu": "many"},
        f"cpu: {model_words.not_a_quantity('many')}",
        id="no quantity",
    ),
    pytest.param(
        {"requests.memory": "-1"},
        model_words.negative("requests.memory", "-1"),
        id="less than nothing, under the name it was written",
    ),
    pytest.param(
        {"cpu": "1", "requests.cpu": "2"},
        groups_words.two_amounts("requests", "cpu", "2", "cpu", "1", "cpu"),
        id="one resource spelt twice with two amounts",
    ),
    pytest.param(
        {"storage": 1, "requests.storage": "2Gi"},
        "storage: 1 differs from requests.storage: 2Gi (expected one amount of requests.storage)",
        id="storage spelt twice with two amounts",
    ),
]


def test_a_parent_has_to_be_a_name() -> None:
    for fields, read in ((of.consumer, claim_of), (of.bucket, bucket_of)):
        with pytest.raises(BadObject, match=r"spec\.parent: 'Top!' is not a name"):
            read(make.decode(fields(spec={"parent": "Top!"})))


@pytest.mark.parametrize("field", ["hard", "reserved"])
@pytest.mark.parametrize(("amounts", "problem"), WRONG_AMOUNTS)
def test_amounts_that_make_no_sense_are_one_clear_line(field: str, amounts: make.Fields, problem: str) -> None:
    for fields, read in ((of.consumer, claim_of), (of.bucket, bucket_of)):
        found = fields(spec={field: amounts})
        with pytest.raises(BadObject) as caught:
            read(make.decode(found))
        name = "Consumer ns/c" if found["kind"] == "Consumer" else "Bucket b"
        assert str(caught.value) == f"{name}: spec.{field}.{problem}"


def test_one_resource_spelt_twice_with_one_amount_is_stated_once() -> None:
    found = claim_of(make.decode(of.consumer(spec={"hard": {"cpu": "1", "requests.cpu": "1000m"}})))

    assert found.hard == {"cpu": 1000}
    assert found.stated_hard == {"cpu": "1", "requests.cpu": "1000m"}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param({"weight": 0}, "spec.weight: 0 (expected 1 to 2147483647)", id="no weight at all"),
        pytest.param({"weight": -1}, "spec.weight: -1 (expected 1 to 2147483647)", id="a negative weight"),
        pytest.param({"weight": 1 << 31}, "spec.weight: 2147483648 (expected 1 to 2147483647)", id="too heavy"),
        pytest.param({"weight": "1"}, 'spec.weight: must be an integer, is "1"', id="a weight in words"),
        pytest.param(
            {"hard": {"cpu": True}},
            "spec.hard[...]: must be an integer, a number or a string, is true or false",
            id="a boolean",
        ),
        *(
            pytest.param(
                {"parent": name},
                groups_words.bad_parent(f"{name!r}"),
                id=f"the parent {name[:8]!r}",
            )
            for name in ("Area", "-a", "a-", "a..b", "a/b", "a b", "a\n", "ä")
        ),
    ],
)
def test_other_fields_that_make_no_sense_are_one_clear_line(spec: make.Fields, problem: str) -> None:
    found = make.read(of.consumer(spec=spec))
    if isinstance(found, api.Malformed):
        assert found.message == f"Consumer ns/c: {problem}"
    else:
        assert isinstance(found, api.Consumer)
        with pytest.raises(BadObject) as caught:
            claim_of(found)
        assert str(caught.value) == f"Consumer ns/c: {problem}"


def test_a_name_longer_than_names_may_be_is_shown_in_part() -> None:
    with pytest.raises(BadObject, match=r"^Consumer ns/c: spec\.parent: '(a{253})' is not a name"):
        claim_of(make.decode(of.consumer(spec={"parent": "a" * 10_000})))


# Quotas


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, None, id="a quota that says nothing"),
        pytest.param({"spec": {"hard": {"services": 1, "count/pods": 2}}}, None, id="what nobody divides"),
        pytest.param(
            {"spec": {"hard": {"requests.cpu": "1", "limits.cpu": 2, "requests.storage": "1Gi", "pods": 3}}},
            {"cpu": 1000, "limits.cpu": 2000, "requests.storage": GIB, "pods": 3},
            id="requests, limits, storage and pods",
        ),
        pytest.param({"spec": {"hard": {"cpu": "3", "requests.cpu": 2}}}, {"cpu": 2000}, id="the tighter spelling"),
        pytest.param(
            {"spec": {"hard": {"cpu": "3"}}, "status": {"hard": {"cpu": "1"}}}, {"cpu": 1000}, id="what is in force"
        ),
        pytest.param({"spec": {"hard": {"cpu": "3"}, "scopes": ["BestEffort"]}}, None, id="pods of a kind"),
        pytest.param({"spec": {"hard": {"cpu": "3"}, "scopeSelector": {"a": 1}}}, None, id="pods of a selected kind"),
    ],
)
def test_what_a_quota_limits_of_all_that_is_divided(fields: make.Fields, expected: dict[str, int] | None) -> None:
    assert limits_of_quota(make.decode(make.limits(**fields))) == expected


def test_a_quota_that_makes_no_sense_is_one_clear_line() -> None:
    with pytest.raises(BadObject) as caught:
        limits_of_quota(make.decode(make.limits(spec={"hard": {"requests.storage": "x"}})))
    assert str(caught.value).startswith("ResourceQuota ns/q: spec.hard.requests.storage: 'x' is not a quantity")


# Pods


def task_of(fields: make.Fields, foreign: bool = True) -> Task | None:
    facts = PodReader(ResourceAxis(), frozenset({"volcano"}), foreign=foreign).read(make.decode(fields))
    return None if facts is None else facts.task


def test_pods_of_other_schedulers_are_read_before_they_have_a_node_but_are_nobodys_to_place() -> None:
    stranger = make.pod(group="theirs", spec={"schedulerName": "default-scheduler"})
    placed = make.merged(stranger, {"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}})

    found = task_of(stranger)
    assert found is not None
    assert (found.job, found.status, found.node) == ("", Status.PENDING, "")
    assert task_of(stranger, foreign=False) is None
    for foreign in (True, False):
        there = task_of(placed, foreign)
        assert there is not None
        assert there.job == "ns/theirs", "as it ever was"
    ours = task_of(make.pod())
    assert ours is not None
    assert ours.job == "ns/podgroup-uid-p"


def owned(kind: str, controller: bool = True) -> make.Fields:
    return make.pod(node="n1", metadata={"ownerReferences": [{"uid": "o", "kind": kind, "controller": controller}]})


@pytest.mark.parametrize(
    ("fields", "preferred", "returns"),
    [
        pytest.param(make.pod(), False, False, id="a pod like any other"),
        pytest.param(make.pod(metadata={"annotations": {PREFERRED_VICTIM: "true"}}), True, False, id="preferred"),
        pytest.param(make.pod(metadata={"annotations": {PREFERRED_VICTIM: "yes"}}), False, False, id="not quite"),
        pytest.param(owned("DaemonSet"), False, True, id="of a DaemonSet"),
        pytest.param(owned("DaemonSet", controller=False), False, False, id="a DaemonSet that does not control it"),
        pytest.param(owned("ReplicaSet"), False, False, id="of a ReplicaSet"),
        pytest.param(
            make.pod(node="n1", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}}),
            False,
            True,
            id="a mirror of a static pod",
        ),
    ],
)
def test_which_pods_go_first_and_which_come_back(fields: make.Fields, preferred: bool, returns: bool) -> None:
    found = task_of(fields, foreign=False)

    assert found is not None
    assert (found.preferred_victim, found.returns) == (preferred, returns)
    moved = found.moved(Status.RELEASING, "n1")
    assert (moved.preferred_victim, moved.returns) == (preferred, returns)


def limited(cpu: str | None = None, memory: str | None = None, **fields: Any) -> make.Fields:
    limits = {name: value for name, value in (("cpu", cpu), ("memory", memory)) if value is not None}
    return {"name": fields.pop("name", "main"), "resources": {"limits": limits, "requests": {"cpu": "1m"}}, **fields}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": [limited()]}, {}, id="without limits"),
        pytest.param(
            {"containers": [limited("1", "1Ki"), limited("500m")]},
            {"limits.cpu": 1500, "limits.memory": 1024},
            id="a container without a limit counts for nothing",
        ),
        pytest.param(
            {"containers": [limited("1")], "initContainers": [limited("3"), limited("2")]},
            {"limits.cpu": 3000},
            id="init containers run one after the other",
        ),
        pytest.param(
            {"containers": [limited("1")], "initContainers": [limited("2", restartPolicy="Always"), limited("2")]},
            {"limits.cpu": 4000},
            id="sidecars stay",
        ),
        pytest.param(
            {"containers": [limited("1", "1Ki")], "resources": {"limits": {"cpu": "5"}}},
            {"limits.cpu": 5000, "limits.memory": 1024},
            id="limits of the pod as a whole",
        ),
        pytest.param(
            {"containers": [limited("1")], "overhead": {"cpu": "250m", "memory": "1Ki"}},
            {"limits.cpu": 1250},
            id="overhead of what is limited",
        ),
        pytest.param(
            {
                "containers": [
                    {"name": "main", "resources": {"limits": {"ephemeral-storage": "1Ki", "example.com/gpu": 1}}}
                ]
            },
            {"limits.ephemeral-storage": 1024},
            id="limits of extended resources are their requests",
        ),
    ],
)
def test_what_limits_add_up_to(spec: make.Fields, expected: dict[str, int]) -> None:
    fields = make.merged(make.pod(), {"spec": spec})
    found, usual = task_of(fields), task_of(fields, foreign=False)

    assert found is not None
    assert usual is not None
    assert dict(found.shape.limits) == expected
    assert usual.shape.limits == (), "where nobody arbitrates limits set no shapes apart"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [pytest.param("Deferred", 3000, id="the larger counts"), pytest.param("Infeasible", 1000, id="refused for good")],
)
def test_limits_during_a_resize(reason: str, expected: int) -> None:
    status = {
        "phase": "Running",
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
        "containerStatuses": [{"name": "main", "resources": {"limits": {"cpu": "1"}}}],
    }
    found = task_of(make.merged(make.pod(node="n1", status=status), {"spec": {"containers": [limited("3")]}}))

    assert found is not None
    assert dict(found.shape.limits) == {"limits.cpu": expected}


def test_what_cannot_be_read_of_a_pod_takes_its_room_and_its_limits() -> None:
    spec = {"affinity": 1, "containers": [limited("3")]}
    reader = PodReader(ResourceAxis(), frozenset(), foreign=True)
    found = reader.occupant(make.decode(make.merged(make.pod(node="n1"), {"spec": spec})))

    assert found is not None
    assert dict(found.task.shape.limits) == {"limits.cpu": 3000}
