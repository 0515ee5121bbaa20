"""What nothing is done for, and that this is known: pods without their PodGroup, and pods of other schedulers."""

from __future__ import annotations

from typing import Any

from tests.support import builders as make
from tests.support.plans import NOW, manifests, mirror
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.words import jobs as jobs_words
from vsched.mirror.mirror import Mirror
from vsched.mirror.state import words
from vsched.model.frozen import freeze
from vsched.settings import default_settings
from vsched.settings.built_in import REGISTRY

POLICY = default_settings(REGISTRY).policy
TOLD = f"PodGroup {jobs_words.no_group('ns/late')}"


def cache_of(text: str) -> Mirror:
    return mirror(manifests(text))


def fed(cache: Mirror, text: str, kind: str, type: str = "ADDED", **fields: Any) -> None:
    """Events about the objects of one kind that a text describes."""
    for found in manifests(text):
        if found["kind"] == kind:
            found["spec"] |= fields
            cache.intake.apply(kind, type, make.read(found))


def test_pods_without_their_podgroup_are_strays_until_it_is_there() -> None:
    cache = cache_of("node n1 cpu=4\npods ns/late 2 cpu=1")
    before = freeze(cache.snapshot(NOW))
    fed(cache, "job ns/late min=2", "PodGroup")
    after = cache.snapshot(NOW)

    assert (list(before.strays), list(before.jobs), before.changed) == (["ns/late"], [], ())
    assert len(before.strays["ns/late"].pending) == 2
    assert (list(after.strays), list(after.jobs), after.changed) == ([], ["ns/late"], ("ns/late",))


def test_strays_that_go_are_told_as_changed_once() -> None:
    cache = cache_of("node n1 cpu=4\npods ns/late 1 cpu=1")
    cache.snapshot(NOW)
    fed(cache, "pods ns/late 1 cpu=1", "Pod", "DELETED")

    assert [cache.snapshot(NOW).changed, cache.snapshot(NOW).changed] == [("ns/late",), ()]


def test_strays_are_told_what_they_wait_for() -> None:
    report = run_cycle(cache_of("node n1 cpu=4\npods ns/late 1 cpu=1").snapshot(NOW), POLICY, REGISTRY)

    (verdict,) = report.unschedulable.values()
    assert (verdict.job, verdict.message, verdict.reasons) == ("ns/late", TOLD, {Code.NO_POD_GROUP: 1})
    assert not report.binds


def test_pods_of_other_schedulers_are_known_as_such_until_they_go() -> None:
    cache = cache_of("node n1 cpu=4")
    fed(cache, "pods ns/x 1 cpu=1", "Pod", schedulerName="another")
    (told,) = cache.unused()
    fed(cache, "pods ns/x 1 cpu=1", "Pod", "DELETED", schedulerName="another")

    assert (told.kind, told.namespace, told.name) == ("Pod", "ns", "x.0")
    assert told.message == words.for_another_scheduler("Pod ns/x.0", "another")
    assert list(cache.unused()) == []
