"""Names are one object while they are in use, and nobody keeps them for ever."""

from __future__ import annotations

import sys

import pytest

from tests.support import builders as make
from tests.support import oversized as big
from tests.support.plans import NOW, manifests, mirror
from vsched.mirror.mirror import Mirror
from vsched.model.names import KNOWN_MAX, LENGTH_MAX, shared
from vsched.model.pods.task import Task


def fresh(text: str) -> str:
    """An equal text that is another object."""
    return "".join(list(text))


def is_interned(text: str) -> bool:
    """Whether the interpreter keeps this very object: else it is given the equal one it is asked with."""
    return sys.intern(fresh(text)) is text


def test_equal_names_are_one_object() -> None:
    one = shared(fresh("team-a/train"))
    assert shared(fresh("team-a/train")) is one
    assert not is_interned(one)


def test_what_is_too_long_for_a_name_is_not_kept() -> None:
    one = fresh("x" * (LENGTH_MAX + 1))
    assert shared(one) is one
    assert shared(fresh(one)) is not one


def placed(cache: Mirror, name: str) -> Task:
    cache.intake.apply("Pod", "ADDED", make.read(big.pod(name, nodeName="n1")))
    found = cache.task(f"uid-{name}")
    assert found is not None
    return found


@pytest.mark.parametrize("group", [pytest.param("", id="of no group"), pytest.param("train", id="of a group")])
def test_the_interpreter_does_not_keep_what_names_a_pod(group: str) -> None:
    """Interned strings live as long as the process in Python 3.12, and pods come and go without end."""
    cache = mirror(manifests("node n1 cpu=4"))
    pod = big.pod("one-of-a-million")
    if group:
        pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": group}
    cache.intake.apply("Pod", "ADDED", make.read(pod))
    task = cache.task("uid-one-of-a-million")
    assert task is not None
    assert not any(map(is_interned, (task.uid, task.name, task.key, task.job)))
    assert not any(is_interned(value) for pair in task.labels.pairs for value in pair)


def test_a_name_that_was_not_used_for_long_is_forgotten() -> None:
    one = shared(fresh("team-a/long-ago"))
    for number in range(KNOWN_MAX):
        shared(f"team-a/since-{number}")
    assert shared(fresh(one)) is not one


def test_nothing_stays_of_pods_that_came_and_went() -> None:
    cache = mirror(manifests("node n1 cpu=4"))
    for number in range(20):
        uid = placed(cache, f"pod-{number}").uid
        cache.assumptions.binding_refused(uid, "no room", "n1")
        cache.intake.apply("Pod", "DELETED", make.read(big.pod(f"pod-{number}")))
    cache.snapshot(NOW)
    assert cache.snapshot(NOW).setbacks == {}
    assert cache.task("uid-pod-1") is None
    assert cache.describe()["tasks"] == 0
