"""The engine: what fails is tried again, and nobody else notices."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import ClassVar

import pytest

from tests.support.waiting import until
from tests.support.workload_objects import pod
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.workloads.actions import Action, After
from vsched.sim.bootstrap import seed
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.engine import Engine
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.store.store import Store, key_of
from vsched.sim.writer import ObjectWriter


class Scripted(Controller):
    """Writes down what it looks at; fails as often as it is told to."""

    name: ClassVar[str] = "scripted"
    primary: ClassVar[str] = "pods"
    watches: ClassVar[tuple[str, ...]] = ("pods",)

    def __init__(
        self, client: LocalClient, pod_index: PodIndex, *, failing_looks: int = 0, failing_events: int = 0
    ) -> None:
        super().__init__(client, pod_index)
        self.looks: list[str] = []
        self._failing_looks, self._failing_events = failing_looks, failing_events

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if self._failing_events:
            self._failing_events -= 1
            raise RuntimeError("a bug")
        return (key_of(obj),)

    def reconcile(self, key: str) -> Sequence[Action]:
        self.looks.append(key)
        if self._failing_looks:
            self._failing_looks -= 1
            raise RuntimeError("another bug")
        return [After(60)]


def make(*numbers: dict[str, int]) -> tuple[Store, LocalClient, Engine, list[Scripted]]:
    store = Store()
    writer = ObjectWriter(store)
    seed(writer)
    client = LocalClient(writer)
    pod_index = PodIndex(client)
    engine = Engine(store, pod_index)
    controllers = [Scripted(client, pod_index, **each) for each in numbers]
    for controller in controllers:
        engine.add(controller)
    return store, client, engine, controllers


async def test_a_look_that_fails_is_repeated_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "vsched.sim.controllers.engine")
    _, client, engine, (failing, well) = make({"failing_looks": 2}, {})
    engine.start()
    client.create("pods", pod("p"))
    await until(lambda: len(failing.looks) == 3)
    assert failing.retries == {}
    assert well.looks == ["default/p"]
    await engine.close()


async def test_a_feed_that_fails_starts_again_and_misses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "vsched.sim.controllers.engine")
    _, client, engine, (failing, well) = make({"failing_events": 1}, {})
    engine.start()
    for name in "abc":
        client.create("pods", pod(name))
    await until(lambda: set(failing.looks) == set(well.looks) == {"default/a", "default/b", "default/c"})
    client.create("pods", pod("d"))
    await until(lambda: "default/d" in failing.looks and "default/d" in well.looks)
    await engine.close()


async def test_a_feed_that_fell_behind_looks_at_everything() -> None:
    store, client, engine, (controller,) = make({})
    engine.start()
    await asyncio.sleep(0)
    client.create("pods", pod("seen"))
    client.create("pods", pod("missed"))
    store.compact(store.revision)
    await until(lambda: set(controller.looks) == {"default/seen", "default/missed"})
    await engine.close()


async def test_nothing_is_left_running_after_close() -> None:
    _, client, engine, (controller,) = make({})
    client.create("pods", pod("p"))
    engine.start()
    await until(lambda: bool(controller.looks))
    before = asyncio.all_tasks()
    await engine.close()
    assert asyncio.all_tasks() < before
    assert asyncio.all_tasks() == {asyncio.current_task()}
