"""The owners of pods that concern gangs: who is kept, and the way from a pod to them."""

from __future__ import annotations

import pytest

from tests.support.operators import Obj, Seen, made_of, sample
from vsched.mirror.ingest.workload_kinds import NO_WORKLOADS
from vsched.mirror.state import words
from vsched.mirror.state.owners import OWNERS_MAX, OwnerStore
from vsched.settings.workloads import built_in_table

JOBSET = "JobSet.jobset.x-k8s.io"
KEY = "default/train"


def store() -> OwnerStore:
    return OwnerStore(built_in_table())


def put(owners: OwnerStore, obj: Obj) -> str:
    """Keep an owner, if it matters; returns its uid."""
    kind, found = Seen().read(obj)
    record = owners.read(kind, found, [])
    if owners.matters(record):
        owners.put(kind, f"default/{record.owner.name}", record)
    return record.owner.uid


def test_an_owner_that_is_gone_stays_while_pods_need_it() -> None:
    owners = store()
    uid = put(owners, sample("jobset"))
    owners.drop(JOBSET, KEY, needed={uid})
    assert (owners.is_gone(uid), owners.get(uid) is not None, owners.uid(JOBSET, KEY)) == (True, True, "")
    owners.forget(uid)
    assert (owners.is_gone(uid), owners.get(uid), len(owners)) == (False, None, 0)


def test_one_that_nobody_needs_goes_at_once() -> None:
    owners = store()
    put(owners, sample("jobset"))
    owners.drop(JOBSET, KEY, needed=())
    assert len(owners) == 0


def test_one_that_is_put_again_as_it_is_says_nothing_new() -> None:
    owners = store()
    kind, found = Seen().read(sample("jobset"))
    assert owners.put(kind, KEY, owners.read(kind, found, []))
    assert not owners.put(kind, KEY, owners.read(kind, found, []))


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        pytest.param("jobset", ["JobSet", "Job", "Job", "Job"], id="an object of the table, and Jobs that lead to it"),
        pytest.param("job", ["Job"], id="a Job that says that it is a gang"),
    ],
)
def test_owners_are_kept_that_form_gangs_or_lead_to_some(name: str, kept: list[str]) -> None:
    owners = store()
    obj = sample(name)
    uids = [put(owners, each) for each in (obj, *made_of(obj)) if each["kind"] != "Pod"]
    assert [record.owner.kind for uid in uids if (record := owners.get(uid)) is not None] == kept


def test_a_plain_job_is_not_kept() -> None:
    owners = store()
    obj = sample("job")
    del obj["metadata"]["annotations"]
    put(owners, obj)
    assert len(owners) == 0


def walked(owners: OwnerStore, pod: Obj) -> list[tuple[str, str]]:
    """Each owner on the way from a pod, with why the pod waits for it."""
    _, found = Seen().read(pod)
    return [("" if record is None else str(record.owner), why) for record, _, why in owners.walk(found.metadata)]


def test_the_way_leads_from_the_inside_out() -> None:
    owners = store()
    obj = sample("jobset")
    *others, pod = made_of(obj)
    assert walked(owners, pod) == [
        (
            "",
            words.waits_for_owner("JobSet", "train", words.which_label_names("jobset.sigs.k8s.io/jobset-name")),
        )
    ]
    put(owners, obj)
    assert [name for name, _ in walked(owners, pod)] == ["JobSet train", "JobSet train"], "by its label, not its Job"
    del pod["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-name"]
    assert walked(owners, pod) == [("", "")], "a Job may lead nowhere"
    for each in others:
        put(owners, each)
    assert [name for name, _ in walked(owners, pod)] == ["Job train-worker-1", "JobSet train"]


def test_a_circle_of_owners_ends() -> None:
    owners = store()
    obj = sample("pytorchjob")
    reference = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": "bert", "controller": True}
    obj["metadata"]["ownerReferences"] = [reference]
    put(owners, obj)
    *_, pod = made_of(obj)
    assert len(walked(owners, pod)) == OWNERS_MAX


def test_nobody_waits_for_a_kind_that_may_not_be_read() -> None:
    owners = store()
    assert owners.set_refused(JOBSET, refused=True)
    assert not owners.set_refused(JOBSET, refused=True)
    *_, pod = made_of(sample("podgang"))
    assert [why for _, why in walked(owners, pod)] == [
        words.waits_for_owner("PodGang", "chat-0", words.which_label_names("grove.io/podgang"))
    ]
    owners.set_refused("PodGang.scheduler.grove.io", refused=True)
    assert [why for _, why in walked(owners, pod)] == [""]


def test_with_another_table_what_it_does_not_have_is_named() -> None:
    owners = store()
    put(owners, sample("jobset"))
    assert not owners.not_in_table()
    owners.use_table(NO_WORKLOADS)
    assert owners.not_in_table() == [(JOBSET, KEY)]
    owners.remove(JOBSET, KEY)
    assert not owners.not_in_table()
