"""The books of nodes with shared devices during a session, and a ledger that passes on to them what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.support.deviceshare import IDS, pods, vgpu_node
from tests.support.plans import NOW, mirror
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import EvictionCause, Ledger
from vsched.framework.ledger.usage import SessionUsage
from vsched.kernels.deviceshare.table import DeviceOrder
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.plugins.devices.books import SharedDeviceBooks
from vsched.plugins.devices.neighbours import as_rule

Obj = dict[str, Any]


class World:
    """The books of two nodes with devices, and a ledger that passes on to them what it does."""

    def __init__(
        self,
        register: dict[str, str] | Sequence[Obj],
        asks: list[Obj],
        placed: list[str],
        *,
        apps: Sequence[str] = (),
        rules: Sequence[dict[str, str]] = (),
        kind: str = "vgpu",
        holding: str = IDS,
    ) -> None:
        """Each container is a pod that holds ``placed`` on n1, if it is not empty; ``apps`` are their labels.

        ``register`` are nodes, or what nodes say of their vGPUs; ``holding`` is the annotation of pods that hold some.
        """
        named = register.items() if isinstance(register, dict) else ()
        objects: list[Obj] = [vgpu_node(name, text) for name, text in named]
        objects += [] if isinstance(register, dict) else register
        for number, (container, ids) in enumerate(zip(asks, placed, strict=True)):
            line = f"job ns/j{number} min=1\npods ns/j{number} 1" + (" on=n1" if ids else "")
            line += f" labels=app:{apps[number]}" if apps else ""
            objects += pods(line, container, **({holding: ids} if ids else {}))
        snapshot = mirror(objects).snapshot(NOW)
        self.books = SharedDeviceBooks(
            snapshot.device_shares, snapshot.nodes, kind, DeviceOrder.LAST, tuple(map(as_rule, rules))
        )
        self.nodes = snapshot.nodes.copy()
        self.ledger = Ledger(self.nodes, SessionUsage(snapshot), [self])
        self.jobs = [JobView(job) for job in snapshot.jobs.values()]
        self.tasks = [next(iter(job.tasks.values())) for job in snapshot.jobs.values()]

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        self.books.take(job, task, row)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        self.books.give_back(job, task, row)

    def picture(self) -> list[list[list[object]]]:
        """All that is free, now and later."""
        return [
            column.tolist()
            for table in (self.books.now, self.books.later)
            for column in (table.memory, table.thousandths, table.sharers, table.users, table.states)
            if column is not None
        ]

    def play(self, data: st.DataObject, by_hand: Callable[[Task, int], bool] | None = None) -> Iterator[None]:
        """Place each pod that waits where it fits, now or later, and evict some of those that run; then undo all.

        Stops after each pod, for the books to be looked at. ``by_hand`` is whether a pod fits a place now. What is
        undone, step by step, must be as it was.
        """
        pictures = [(0, self.picture())]
        for job, task in zip(self.jobs, self.tasks, strict=True):
            if not task.node:
                self._place(job, task, data.draw(st.integers(0, 1)), by_hand)
            elif data.draw(st.booleans()):
                self.ledger.evict(job, task, self.nodes.statics.row[task.node], EvictionCause("preempt", ""))
            pictures.append((len(self.ledger.log), self.picture()))
            yield
        for mark, picture in reversed(pictures):
            self.ledger.undo_to(mark)
            assert self.picture() == picture

    def _place(self, job: JobView, task: Task, row: int, by_hand: Callable[[Task, int], bool] | None) -> None:
        place = self.books.place_of[row]
        assert task.shape.devices is not None
        now, later = (self.books.fit(task.shape.devices, later=later).passes[place] for later in (False, True))
        assert by_hand is None or now == by_hand(task, place)
        if now or later:
            self.ledger.place(job, task, row, Status.ALLOCATED if now else Status.PIPELINED)
