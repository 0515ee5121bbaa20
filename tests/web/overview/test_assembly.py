"""The whole picture: which resources, what is new in it, and what need not be drawn again."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.overviews import session
from tests.support.plans import NOW, manifests, mirror
from tests.support.sights import AROUND, JOBS, look, of
from vsched.api.manifests import Origin, decode_manifests
from vsched.model.nodes.usage import Figures, NodeUsage, Reading
from vsched.web.overview.assembly import Around, assemble, assemble_without_session, nothing_changed, with_number
from vsched.web.overview.deltas import apply
from vsched.web.overview.document import Overview
from vsched.web.snapshots import FrozenSnapshot

GIB = 1 << 30

# -- resources


def names(found: Overview) -> list[str]:
    return [resource.name for resource in found.resources]


def test_cpu_and_memory_come_first_then_what_is_scarcest_and_pods_last() -> None:
    found = of("node n1 cpu=4 memory=8Gi gpu=2 disk=10Gi\njob ns/a min=1 pods=1 cpu=1 memory=4Gi gpu=1 disk=1Gi")
    assert names(found) == ["cpu", "memory", "example.com/gpu", "ephemeral-storage", "pods"]
    assert [resource.unit for resource in found.resources] == ["milli", "bytes", "milli", "bytes", "one"]
    assert [(resource.total, resource.held) for resource in found.resources] == [
        (4000, 1000),
        (8 * GIB, 4 * GIB),
        (2000, 1000),
        (10 * GIB, GIB),
        (110, 1),
    ]


def test_disks_that_nobody_asks_for_are_not_shown_but_devices_are() -> None:
    assert names(of("node n1 gpu=2 disk=10Gi")) == ["cpu", "memory", "example.com/gpu", "pods"]


def test_columns_keep_their_places_until_another_is_clearly_scarcer() -> None:
    def at(gpu: int, disk: int, before: Overview | None) -> Overview:
        return of(f"node n1 cpu=64 gpu=100 disk=100Gi\njob ns/a min=1 pods=1 gpu={gpu} disk={disk}Gi", before=before)

    first = at(50, 40, None)
    assert names(first)[2] == "example.com/gpu"
    second = at(50, 55, first)
    assert names(second)[2] == "example.com/gpu"
    assert names(at(50, 55, None))[2] == "ephemeral-storage"
    assert names(at(50, 65, second))[2] == "ephemeral-storage"


# -- the whole


def test_a_picture_that_shows_nothing_new_is_the_one_before() -> None:
    first, _ = with_number(of(JOBS), None)
    later = of(JOBS, before=first, at=NOW + 1.0, sessions=(replace(session(3), binds=0),))
    assert first.number == 1
    assert with_number(later, first) == (first, None)


@pytest.mark.parametrize(
    "around",
    [
        pytest.param({"role": "stopping"}, id="another role"),
        pytest.param({"bound": 1}, id="a binding was taken"),
        pytest.param({"sessions": (session(4),)}, id="a session that bound something"),
        pytest.param({"positions": {"ns/waits": 1}}, id="a place in the order"),
    ],
)
def test_a_picture_that_shows_anything_new_has_the_next_number(around: dict[str, Any]) -> None:
    first, _ = with_number(of(JOBS), None)
    found, change = with_number(of(JOBS, before=first, **around), first)
    assert change is not None
    assert (found.number, change.number, change.since) == (2, 2, 1)
    assert apply(change, first) == found


def test_a_daemon_that_decides_nothing_shows_what_it_is() -> None:
    found = assemble_without_session(Around(NOW, "standby"))
    assert (found.role, found.queues, found.resources) == ("standby", {}, ())
    assert set(found.counts) == set(of(JOBS).counts)


STILL = "node n1 cpu=2\nqueue q\njob ns/a min=1 queue=q pods=1 cpu=4\n"
CHANGES = {
    "a job that comes": f"{STILL}job ns/new min=1 pods=1 cpu=9 queue=q",
    "a job that goes": STILL.partition("job")[0],
    "another weight of a queue": STILL.replace("queue q\n", "queue q weight=2\n"),
    "another weight of a namespace": f"{STILL}weight ns 3",
    "a cordoned node": STILL.replace("cpu=2", "cpu=2 cordoned"),
    "somebody else's pod": f"{STILL}pods other/x 1 cpu=1 on=n1",
    "room for what waits": STILL.replace("cpu=2", "cpu=8"),
}


class Seen:
    """Sessions on one mirror, a second apart."""

    def __init__(self) -> None:
        self.cache = mirror(manifests(STILL))
        self._now = NOW

    def change(self, text: str) -> None:
        """What there is from now on."""
        decoded = decode_manifests((Origin("text", str(at)), found) for at, found in enumerate(manifests(text)))
        for kind in {*decoded.objects, "PodGroup", "Pod"}:
            self.cache.intake.replace(kind, decoded.objects.get(kind, []))

    def look(self) -> FrozenSnapshot:
        self._now += 1.0
        return look(self.cache, self._now)


@pytest.mark.parametrize("text", CHANGES.values(), ids=CHANGES)
def test_whatever_changes_is_drawn_anew(text: str) -> None:
    seen = Seen()
    seen.look()
    before = seen.look()
    seen.change(text)
    assert not nothing_changed(before, seen.look())


def test_figures_of_usage_are_drawn_anew() -> None:
    seen = Seen()
    seen.look()
    before = seen.look()
    seen.cache.inputs.use(Reading(NOW, {"n1": NodeUsage(NOW, {"5m": Figures(63.0)})}))
    assert not nothing_changed(before, seen.look())


def test_sessions_that_change_nothing_are_not_drawn_anew() -> None:
    seen = Seen()
    seen.look()
    before, after = seen.look(), seen.look()
    assert nothing_changed(before, after)
    assert assemble(before, AROUND) == assemble(after, AROUND)
