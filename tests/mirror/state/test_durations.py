"""How long finished pods ran, as the mirror comes to know it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from tests.support.plans import NOW, manifests, mirror
from vsched.api.manifests import Origin, decode_manifests
from vsched.mirror.state.durations import SAMPLES_MAX, DurationStore
from vsched.model.jobs.durations import Learnt
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task


def learnt(text: str) -> dict[str, tuple[float, ...]]:
    found = mirror(manifests(text)).snapshot(NOW).learnt
    return {name: one.seconds for name, one in found.items()}


@pytest.fixture
def finished() -> Task:
    text = "job x/a min=1\npods x/a 1 cpu=1 on=n1 succeeded started=90 ended=30"
    return next(iter(mirror(manifests(text)).snapshot(NOW).jobs["x/a"].tasks.values()))


def test_finished_pods_are_learnt_from_by_name_by_namespace_and_by_queue() -> None:
    found = learnt(
        "queue q\n"
        "job x/train-1 min=1 queue=q\npods x/train-1 1 cpu=1 on=n1 succeeded started=90 ended=30\n"
        "job x/train-2 min=1 queue=q\npods x/train-2 1 cpu=1 on=n1 succeeded started=90 ended=50\n"
        "job y/other min=1 queue=q\npods y/other 1 cpu=1 on=n1 succeeded started=20 ended=10"
    )
    assert found == {
        "q/x/train": (40.0, 60.0),
        "q/x/": (40.0, 60.0),
        "q/y/other": (10.0,),
        "q/y/": (10.0,),
        "q//": (10.0, 40.0, 60.0),
        "//": (10.0, 40.0, 60.0),
    }


def test_pods_of_a_job_that_took_the_same_time_are_one_sample() -> None:
    text = (
        "job x/a min=3\npods x/a 2 cpu=1 on=n1 succeeded started=90 ended=30\n"
        "pods x/a 1 cpu=1 on=n1 succeeded started=90 ended=31\npods x/a 1 cpu=1 on=n1 succeeded started=90 ended=50"
    )
    assert learnt(text)["default//"] == (40.0, 60.0)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        pytest.param("", (), id="nothing was declared"),
        pytest.param("60s", (1.0,), id="as declared"),
        pytest.param("59s", (1.0,), id="nearly, as time stamps have whole seconds"),
        pytest.param("40s", (1.5,), id="longer"),
        pytest.param("120s", (0.5,), id="half of it"),
    ],
)
def test_what_was_declared_is_compared(declared: str, expected: tuple[float, ...]) -> None:
    says = f"vsched.io/expected-duration={declared}" if declared else ""
    text = f"job x/a min=1 {says}\npods x/a 1 cpu=1 on=n1 succeeded started=90 ended=30"
    assert mirror(manifests(text)).snapshot(NOW).learnt["default/x/a"].worth == expected


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param("on=n1 started=90 running", id="it still runs"),
        pytest.param("on=n1 started=90 ended=30 failed", id="it failed, which says nothing of how long it takes"),
        pytest.param("on=n1 ended=30 succeeded", id="nobody knows when it started"),
        pytest.param("on=n1 started=90 succeeded", id="nobody knows when it ended"),
        pytest.param("on=n1 started=30 ended=90 succeeded", id="it ended before it started"),
    ],
)
def test_other_pods_are_passed_over(pod: str) -> None:
    assert learnt(f"job x/a min=1\npods x/a 1 cpu=1 {pod}") == {}


def test_a_pod_is_learnt_from_once_however_often_it_is_seen_again() -> None:
    objects = manifests("job x/a min=1\npods x/a 1 cpu=1 on=n1 succeeded started=90 ended=30")
    cache = mirror(objects)
    assert cache.snapshot(NOW).learnt["default/x/a"].seconds == (60.0,)
    decoded = decode_manifests((Origin("text", str(at)), found) for at, found in enumerate(objects))
    for kind, found in decoded.objects.items():
        cache.intake.replace(kind, found)
    assert cache.snapshot(NOW).learnt["default/x/a"].seconds == (60.0,)


def test_only_the_last_durations_of_a_name_are_kept(finished: Task) -> None:
    books, spec = DurationStore(), JobSpec("x", "a")
    for length in range(2 * SAMPLES_MAX):
        books.learn(spec, _lasting(finished, 10.0 * length))
    assert _seconds(books.publish(), "default/x/a") == tuple(10.0 * one for one in range(SAMPLES_MAX, 2 * SAMPLES_MAX))


def test_names_that_nothing_finished_under_for_longest_are_forgotten(finished: Task) -> None:
    books = DurationStore(names_max=5)
    for name in ("a", "b", "a", "c"):
        books.learn(JobSpec("x", name), _lasting(finished, 1.0))
        books.publish()
    assert sorted(books.publish()) == ["//", "default//", "default/x/", "default/x/a", "default/x/c"]
    assert len(books) == 5


def _lasting(task: Task, seconds: float) -> Task:
    assert task.status is Status.SUCCEEDED
    return msgspec.structs.replace(task, finished=task.started + seconds)


def _seconds(found: Mapping[str, Learnt], name: str) -> tuple[float, ...]:
    return found[name].seconds
