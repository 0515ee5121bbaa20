"""A mirror that somebody else may have left statuses unwritten for: every job is shown as changed once more."""

from __future__ import annotations

from tests.support import builders as make
from vsched.mirror.mirror import Mirror
from vsched.mirror.state.jobs import _REVIEWED
from vsched.mirror.stores import MirrorSettings


def mirror(jobs: int) -> Mirror:
    cache = Mirror(MirrorSettings(frozenset({"volcano"})))
    for number in range(jobs):
        cache.intake.apply("PodGroup", "ADDED", make.read(make.pod_group(f"g-{number}")))
    return cache


def test_every_job_is_shown_once_some_at_a_time() -> None:
    count = _REVIEWED + 20
    cache = mirror(count)
    assert len(cache.snapshot(1.0).changed) == count
    assert cache.snapshot(2.0).changed == ()
    cache.assumptions.review()
    first, second = cache.snapshot(3.0).changed, cache.snapshot(4.0).changed
    assert (len(first), len(second)) == (_REVIEWED, 20)
    assert len({*first, *second}) == count
    assert list(first) == sorted(first)
    assert cache.snapshot(5.0).changed == ()


def test_what_changes_meanwhile_is_shown_at_once_and_what_goes_is_shown_as_gone() -> None:
    cache = mirror(_REVIEWED + 2)
    cache.snapshot(1.0)
    cache.assumptions.review()
    cache.intake.apply("PodGroup", "DELETED", make.read(make.pod_group("g-7")))
    cache.intake.apply("PodGroup", "ADDED", make.read(make.pod_group("new")))
    shown = [*cache.snapshot(2.0).changed, *cache.snapshot(3.0).changed]
    assert shown.count("ns/new") == 1
    assert shown.count("ns/g-7") == 1
    assert len(shown) == _REVIEWED + 3
