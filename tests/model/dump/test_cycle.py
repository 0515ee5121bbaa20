"""A cycle that was written down decides the same again, byte for byte; anything else is refused in one line."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.catalogues import catalogue
from tests.support.clusters import aged, clusters, contended
from tests.support.examples import examples
from tests.support.hypernodes import catalogue as hypernodes
from tests.support.hypernodes import hypernode
from tests.support.plans import DEFAULT_POLICY, manifests, mirror, reading
from tests.support.recording import NOW, POLICIES, policy_at, recorded
from vsched.errors import BadInput
from vsched.framework.cycle import run_cycle
from vsched.model import words
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.arbitration.records import Ceiling, PoolLimits
from vsched.model.claims.catalogue import NO_CLAIMS
from vsched.model.dump.cycle import FORMAT, ExternalCall, Recording, RecordingHead, decode, encode, pack, report_bytes
from vsched.model.dump.tables import PIECE, Column, Piece, pieces, records
from vsched.model.history.records import NO_HISTORY
from vsched.model.jobs.advice import Advice
from vsched.model.jobs.durations import Learnt
from vsched.model.jobs.provisioning import Provisioning
from vsched.model.nodes.masks import NodeMask
from vsched.model.nodes.pools import NodePool, PoolRequirement
from vsched.model.nodes.table import Taint
from vsched.model.plan import CycleReport, Unschedulable
from vsched.model.pods.placed import PlacedPods
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot
from vsched.model.topology.hypernodes import NO_TOPOLOGY
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

USED = "usage n1 cpu=63 memory=40 spread=12 age=10\nusage n2 cpu=20 age=400"
RICH = f"""
node n1 cpu=8 memory=16Gi zone=a gpu=2
node n2 cpu=8 memory=16Gi zone=b taint=gpu:yes
queue a weight=3 capability=cpu:6 guarantee=cpu:1
queue b parent=a deserved=cpu:2 required=g1 antiPreferred=g2
class high 1000
weight x 3
quota x/small requests.cpu=8 limits.memory=1Gi used=requests.cpu:3
pdb x/guard selector=job:old allowed=1 disrupted=old.0
job x/old min=2 pods=2 cpu=1 queue=a phase=Running on=n1 apart=train port=80 labels=app:web limits=cpu:1
job x/train min=3 pods=4 cpu=2 queue=a class=high selector=zone:a tolerates=gpu limits=cpu:2,memory:1Gi age=60
job x/stuck min=1 pods=1 cpu=1 queue=nowhere
job y/big min=1 pods=1 cpu=99 queue=b roles=ps:1 minResources=cpu:3
pods y/leaves 1 cpu=1 on=n2 leaving started=60
job y/kept min=1 pods=1 cpu=1 queue=b nominated=n1
pods y/lost 1 cpu=1
job y/admitted min=1 queue=b phase=Inqueue minResources=cpu:1
{USED}
"""
SERVICE = {
    "kind": "Service",
    "apiVersion": "v1",
    "metadata": {"name": "web", "namespace": "x"},
    "spec": {"selector": {"app": "web"}},
}


TOPOLOGY = replace(
    hypernodes(hypernode("a", 1, "n1", "~^n", "rack=r1"), hypernode("s", 2, "^a", tier_name="block"), b="spec.tier"),
    problem="forbidden",
)


@cache
def rich() -> Snapshot:
    """A snapshot with something in every field."""
    found = mirror([*manifests(RICH), SERVICE], arbitrating=True)
    found.inputs.use(reading(RICH))
    found.snapshot(NOW - 1.0)
    snapshot = found.snapshot(NOW)
    [holder, _] = snapshot.jobs["x/old"].tasks.values()
    stranger = msgspec.structs.replace(holder, uid="of-another-scheduler", job="")
    return replace(
        snapshot,
        changed=("x/old", "gone/job"),
        elsewhere=("x/train",),
        reserving=("x/train",),
        asked=("x/old",),
        arbitration=found.arbitration(),
        ceilings={"x": Ceiling({0: 4000}, {"limits.cpu": 2000}, {0: 3000}, pools=("", "area"))},
        pools={
            "": PoolLimits(spare={0: 1000}),
            "area": PoolLimits({0: 5000}, {"limits.cpu": 6000}, {0: -1}, {"limits.cpu": 1}),
        },
        advice={"x/train": Advice("waits", "2 more gpu")},
        provisioning={"x/train": Provisioning("train-1", "atomic", "failed", "none left", 2, 0.0, 1_800_000_060.0)},
        node_pools={
            "p": NodePool("p", (PoolRequirement("zone", "In", ("a",)),), {"a": "b"}, (Taint("gpu"),), {"cpu": "9"})
        },
        learnt={"a/x/train": Learnt((5.0, 7.5))},
        setbacks={"uid-of-a-pod": "denied by a webhook"},
        ignored=("claims",),
        foreign={"x/train": "pods for others"},
        claims=catalogue([holder, stranger]),
        topology=TOPOLOGY,
        masks=[NodeMask(("n1", "n2"), True, "ours"), NodeMask(("n2",), False)],
    )


# -- what is written is what is read


@settings(max_examples=examples(25))
@given(text=st.one_of(clusters(), contended(), aged()), path=st.sampled_from(POLICIES), used=st.booleans())
def test_a_cycle_that_was_written_down_decides_the_same_again(text: str, path: Path, used: bool) -> None:
    recording = recorded(f"{text}\n{USED if used else ''}", policy_at(path))
    read = decode(pack(recording))
    policy = load_text(read.policy, "recording", REGISTRY).policy
    assert policy == policy_at(path)
    assert recording.report is not None
    assert read.report == recording.report
    assert report_bytes(run_cycle(read.snapshot, policy, REGISTRY)) == report_bytes(recording.report)
    assert encode(read) == encode(recording)


def test_what_is_not_supported_waits_again() -> None:
    asking = "job x/a pods=2 claim=c\njob x/b roles=beyond pods=1\njob x/c class=gone pods=1\njob x/d pods=1"
    recording = recorded(f"node n1 cpu=9\n{asking}", DEFAULT_POLICY)
    read = decode(pack(recording))
    report = run_cycle(read.snapshot, DEFAULT_POLICY, REGISTRY)

    assert [bind.name for bind in report.binds] == ["d.0"]
    assert {key: job.judgement for key, job in read.snapshot.jobs.items()} == {
        key: job.judgement for key, job in recording.snapshot.jobs.items()
    }
    assert recording.report is not None
    assert report_bytes(report) == report_bytes(recording.report)


FOLLOWING = {"runs", "phases", "state", "since"}
"""Fields that follow from others, or hold for one mirror alone."""


def emptied(name: str) -> object:
    """Something else in the place of a field."""
    value = getattr(rich(), name)
    match name, value:
        case "axis", _:
            return ResourceAxis([*value.names, "example.com/one-more"])
        case "nodes", _:
            table = value.copy()
            table.usage = None
            return table
        case "placed", _:
            return PlacedPods()
        case "claims", _:
            return NO_CLAIMS
        case "topology", _:
            return NO_TOPOLOGY
        case "history", _:
            return NO_HISTORY
        case "priority_range", _:
            return (-1, 7)
        case _, Mapping():
            return {}
        case _, str() | Sequence():
            return ()
        case _, int() | float():
            return value + 1
    return None


@pytest.mark.parametrize("name", [field.name for field in fields(Snapshot) if field.name not in FOLLOWING])
def test_no_field_of_a_snapshot_is_left_out(name: str) -> None:
    whole = encode(Recording(rich(), "", None))
    assert bool(getattr(rich(), name)) or name == "nodes", f"{name} is empty: this test shows nothing of it"
    assert encode(Recording(replace(rich(), **{name: emptied(name)}), "", None)) != whole  # type: ignore[arg-type]


def test_everything_of_a_snapshot_comes_back() -> None:
    recording = Recording(rich(), "", None)
    read = decode(encode(recording)).snapshot
    assert encode(replace(recording, snapshot=read)) == encode(recording)
    assert read.history.record() == rich().history.record()
    assert read.history.held == rich().history.held
    assert read.phases == rich().phases != {}
    for field in ("queues", "books", "shares", "namespaces", "ceilings", "pools", "held", "held_limits", "advice"):
        assert getattr(read, field) == getattr(rich(), field)
    assert read.nodes.usage is not None
    assert rich().nodes.usage is not None
    for one, other in zip(read.nodes.usage.cpu["5m"], rich().nodes.usage.cpu["5m"], strict=True):
        np.testing.assert_array_equal(one, other)
    assert read.jobs["x/old"] is read.holders["a"]["x/old"]
    assert read.arbitration is not None
    task = next(iter(read.jobs["x/train"].tasks.values()))
    assert read.arbitration.parties["x"].tasks[task.uid] is task
    assert read.strays.keys() == {"y/leaves", "y/lost"}
    shapes = {id(task.shape) for job in read.jobs.values() for task in job.tasks.values()}
    assert len(shapes) == len({task.shape for job in rich().jobs.values() for task in job.tasks.values()})


def test_hypernodes_come_back() -> None:
    read = decode(encode(Recording(rich(), "", None))).snapshot.topology
    for field in fields(TOPOLOGY):
        assert getattr(read, field.name) == getattr(TOPOLOGY, field.name) != getattr(NO_TOPOLOGY, field.name)


def test_a_catalogue_of_claims_comes_back() -> None:
    read, origin = decode(encode(Recording(rich(), "", None))).snapshot, rich().claims
    for found, part in ((read.claims.volumes, origin.volumes), (read.claims.devices, origin.devices)):
        assert found.changes is None, "no mirror made it"
        for name in (field.name for field in fields(part) if field.name != "changes"):
            assert getattr(part, name), f"{name} is empty: this shows nothing of it"
            assert by_uids(getattr(found, name)) == by_uids(getattr(part, name)), name
    assert read.claims.unread == origin.unread != {}
    users = read.claims.volumes.users["x/acme-data"]
    held = read.jobs["x/old"].tasks
    assert [users[uid] is held.get(uid) for uid in users] == [True, False]
    free, held_claim = read.claims.devices.claims.values()
    assert free.spec is held_claim.spec
    [pool, _] = read.claims.devices.pools
    assert pool.devices[0].model is pool.devices[1].model


def by_uids(value: Any) -> Any:
    """The value with uids in place of pods, whose records are compared by identity."""
    if isinstance(value, Mapping):
        return {key: by_uids(each) for key, each in value.items()}
    return value.uid if isinstance(value, Task) else value


def test_without_volumes_and_devices_a_recording_does_not_mention_them() -> None:
    found = msgspec.json.decode(encode(recorded("node n1 cpu=9\njob x/a pods=2", DEFAULT_POLICY)))
    assert "claims" not in found["snapshot"]


def test_sums_keep_the_order_in_which_they_were_added_up() -> None:
    snapshot = rich()
    job = snapshot.jobs["x/train"].clone()
    job.pending_request = dict(reversed(job.pending_request.items())) | {9: 0}
    changed = replace(snapshot, axis=ResourceAxis(map(str, range(9))), jobs={**snapshot.jobs, job.key: job})
    read = decode(encode(Recording(changed, "", None))).snapshot.jobs[job.key]
    assert list(read.pending_request.items()) == list(job.pending_request.items())


def test_head_calls_and_an_error_in_the_place_of_a_report() -> None:
    head = RecordingHead(
        number=7, at=1.5, version="1", why="exception", says="s", error="E", scheduler_names=("a", "b")
    )
    calls = (ExternalCall("predicate", "d1", b"\xff{}"), ExternalCall("predicate", "d2", None))
    read = decode(pack(Recording(rich(), "policy", None, head, calls)))
    assert (read.head, read.calls, read.policy, read.report) == (head, calls, "policy", None)


def test_more_than_a_piece_is_read_as_it_was() -> None:
    text = f"node n1 cpu=4\njob x/many min=1 pods={2 * PIECE + 3} cpu=3 age=1"
    recording = recorded(text, DEFAULT_POLICY)
    read = decode(pack(recording))
    assert len(read.snapshot.jobs["x/many"].tasks) == 2 * PIECE + 3
    assert read.report == recording.report


def test_a_verdict_about_a_pod_that_the_snapshot_does_not_have_is_kept_as_it_is() -> None:
    report = CycleReport(unschedulable={"x/ghost": Unschedulable("u", "x", "ghost", "x/train", "r", "m", {"a": 1})})
    assert decode(encode(Recording(rich(), "", report))).report == report


def test_equal_recordings_are_equal_bytes() -> None:
    assert pack(Recording(rich(), "", None)) == pack(Recording(rich(), "", None))
    assert gzip.decompress(pack(Recording(rich(), "", None))) == encode(Recording(rich(), "", None))


# -- columns


@given(st.lists(st.sampled_from([0.5, 1.5]) | st.floats(allow_nan=False, allow_infinity=False), max_size=40))
def test_a_column_is_read_as_it_was_written(values: list[float]) -> None:
    heads = [RecordingHead(at=value, says=str(value)[:2]) for value in values]
    written = msgspec.json.decode(msgspec.json.encode(list(pieces(heads))), type=list[Piece])
    assert records(written, RecordingHead) == heads


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        pytest.param(Column([1.0], [0, 1]), "points to values that it does not have", id="roles=beyond the values"),
        pytest.param(Column([1.0], [0, -1]), "points to values that it does not have", id="before the values"),
        pytest.param([1.0], "1 values where 2 were announced", id="too few"),
    ],
)
def test_a_column_that_cannot_be(column: object, problem: str) -> None:
    piece = Piece(2, {"at": msgspec.Raw(msgspec.json.encode(column))})
    with pytest.raises(BadInput, match=problem):
        records([piece], RecordingHead)


# -- what is refused


def edited(change: Callable[[Any], object]) -> bytes:
    document = msgspec.json.decode(encode(recorded(RICH, DEFAULT_POLICY)))
    change(document)
    return msgspec.json.encode(document)


def put(*path: str | int, value: object) -> Callable[[Any], None]:
    """Puts a value where this path leads."""

    def change(document: Any) -> None:
        *steps, last = path
        for step in steps:
            document = document[step]
        document[last] = value

    return change


def with_claims(change: Callable[[Any], None]) -> Callable[[Any], None]:
    """The change, in a recording that has claims."""

    def changed(document: Any) -> None:
        document["snapshot"] = msgspec.json.decode(encode(Recording(rich(), "", None)))["snapshot"]
        change(document)

    return changed


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(lambda: b"", words.not_a_recording(": it is cut off"), id="nothing at all"),
        pytest.param(
            lambda: b"hello", f"^{re.escape(words.not_a_recording(words.VSCHED_DUMP_WRITES_THEM))}$", id="other text"
        ),
        pytest.param(lambda: b"[1, 2]", "not a recording: must be an object", id="other JSON"),
        pytest.param(lambda: b'{"kind": "Pod"}', "expected JSON with kind 'vsched recording'", id="a manifest"),
        pytest.param(lambda: b"\x1f\x8bnonsense", "not a recording: not gzip after all", id="half of a magic number"),
        pytest.param(lambda: pack(recorded(RICH, DEFAULT_POLICY))[:2000], words.CUT_OFF_GZIP, id="a cut file"),
        pytest.param(lambda: encode(recorded(RICH, DEFAULT_POLICY))[:2000], "it is cut off", id="cut JSON"),
        pytest.param(
            lambda: edited(put("format", value=FORMAT + 1)),
            f"of format {FORMAT + 1}, and this vsched reads format {FORMAT}",
            id="a newer format",
        ),
        pytest.param(
            lambda: edited(put("snapshot", "plain", "moons", value={})),
            "no field 'moons' here .was it made by a newer vsched",
            id="a field of a snapshot that nobody knows",
        ),
        pytest.param(
            lambda: edited(put("snapshot", "tasks", 0, "columns", "halo", value={"of": [1]})),
            "Task has no field 'halo'",
            id="a field of a pod that nobody knows",
        ),
        pytest.param(
            lambda: edited(put("snapshot", "plain", "active", value=["x/nobody"])),
            words.no_job_among("x/nobody", "active"),
            id="a key that leads nowhere",
        ),
        pytest.param(
            lambda: edited(put("snapshot", "tasks", 0, "columns", "shape", value={"of": [99]})),
            "its parts do not belong together",
            id="a shape that is not there",
        ),
        pytest.param(
            lambda: edited(put("snapshot", "tasks", 0, "columns", "shape", value={"of": [-1]})),
            "points to -1",
            id="a shape before the first",
        ),
        pytest.param(
            lambda: edited(put("snapshot", "nodes", "amounts", "idle", value=[[1], [2], [3]])),
            "idle: expected an amount for each of 2 nodes",
            id="amounts of another number of nodes",
        ),
        pytest.param(
            lambda: edited(put("snapshot", "axis", value=["cpu"])), "amounts of nodes are not", id="too few resources"
        ),
        pytest.param(
            lambda: edited(put("snapshot", "strays", value=77)),
            words.too_many_strays(77, 8),
            id="more strays than jobs",
        ),
        pytest.param(
            lambda: edited(put("snapshot", "tasks", 0, "rows", value=10**9)), "has 1000000000 rows", id="a bomb"
        ),
        pytest.param(
            lambda: edited(with_claims(put("snapshot", "claims", "devices", "allocated", value=[-1]))),
            "claims point to -1",
            id="an allocated claim before the first",
        ),
        pytest.param(
            lambda: edited(with_claims(put("snapshot", "claims", "volumes", "available", "acme-fast", value=[9]))),
            "its parts do not belong together",
            id="a volume that is not there",
        ),
        pytest.param(
            lambda: edited(with_claims(lambda document: document["snapshot"]["claims"]["devices"]["devices"].clear())),
            words.pool_lacks_devices("n1", "gpu.acme.corp", 2, 0),
            id="fewer devices than announced",
        ),
        pytest.param(lambda: edited(lambda document: document.pop("policy")), "missing required", id="no policy"),
    ],
)
def test_what_is_no_recording_is_refused_in_one_line(data: Callable[[], bytes], problem: str) -> None:
    with pytest.raises(BadInput) as refusal:
        decode(data())
    assert re.search(problem, str(refusal.value))
    assert "\n" not in str(refusal.value)


def test_what_an_older_vsched_did_not_know_has_its_default() -> None:
    def older(document: Any) -> None:
        del document["snapshot"]["plain"]["advice"]
        for piece in document["snapshot"]["tasks"]:
            del piece["columns"]["spared"]

    read = decode(edited(older)).snapshot
    assert read.advice == {}
    assert not any(task.spared for job in read.jobs.values() for task in job.tasks.values())


@pytest.mark.parametrize("nested", [b'{"x":' + b"[" * 50_000, b'{"x":' * 50_000], ids=["lists", "maps"])
def test_nesting_without_end_is_refused_in_one_line(nested: bytes) -> None:
    with pytest.raises(BadInput, match=r"not a recording: .*nested too deeply") as refused:
        decode(nested)
    assert "\n" not in str(refused.value)


def test_a_gzip_that_unpacks_to_far_more_than_a_recording_is_refused_before_it_does() -> None:
    packed = gzip.compress(b" " * (80 << 20), 9)
    assert len(packed) < 200_000
    with pytest.raises(BadInput, match="not a recording: its gzip unpacks to more than 64 MiB"):
        decode(packed)
