"""The table of workload kinds of a file: edits count at once, bad ones change nothing and are said with their line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.file_edits import TURNS, rename_over, swap_link, write
from tests.support.waiting import until
from vsched.daemon.policy.workloads import WorkloadFile
from vsched.daemon.words import log as words
from vsched.mirror.ingest.workload_kinds import WorkloadTable
from vsched.settings.workloads import load_table

pytestmark = pytest.mark.real_time

GOOD = "workloads:\n  - {apiVersions: [a.example.com/v1], kind: Thing, minimum: 2}\n"
OTHER = GOOD.replace("minimum: 2", "minimum: 3")
BROKEN = GOOD.replace("minimum: 2", "minimal: 2")


class Told:
    """What a file tells while it is followed."""

    def __init__(self) -> None:
        self.tables: list[WorkloadTable] = []
        self.notes: list[tuple[str, dict[str, str]]] = []
        self.problems: list[str] = []

    async def follow(self, file: WorkloadFile) -> None:
        async for table in file.tables(self._note, self._worry):
            self.tables.append(table)

    def _note(self, text: str, **fields: str) -> None:
        self.notes.append((text, fields))

    def _worry(self, text: str, problem: str) -> None:
        self.problems.append(problem)


@asynccontextmanager
async def followed(path: Path, look_ms: int = 3_600_000) -> AsyncIterator[Told]:
    told = Told()
    task = asyncio.create_task(told.follow(WorkloadFile(path, load_table(path), look_ms)))
    try:
        for _ in range(TURNS):
            await asyncio.sleep(0)
        yield told
    finally:
        task.cancel()
        await asyncio.wait((task,))


@pytest.mark.parametrize("edit", [write, rename_over, swap_link], ids=lambda edit: edit.__name__)
async def test_an_edit_takes_the_place_of_the_table_before(edit: Callable[[Path, str], None], tmp_path: Path) -> None:
    path = tmp_path / "workloads.yaml"
    edit(path, GOOD)
    async with followed(path) as told:
        edit(path, OTHER)
        await until(lambda: told.tables)
        assert told.tables[-1].by_id["Thing.a.example.com"].minimum == 3
        assert told.notes == [(words.WORKLOADS_LOADED, {"changed": "Thing.a.example.com"})]


async def test_a_bad_edit_changes_nothing_and_is_said_once_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "workloads.yaml"
    write(path, GOOD)
    async with followed(path, look_ms=20) as told:
        write(path, BROKEN)
        await until(lambda: told.problems)
        write(path, BROKEN + "# the same\n")
        write(path, GOOD)
        await until(lambda: told.notes)
        assert told.problems == [f"{path}:2: workloads[0]: object contains unknown field minimal"]
        assert told.notes == [(words.WORKLOADS_VALID, {})]
        assert not told.tables


async def test_kinds_that_come_and_go_are_named(tmp_path: Path) -> None:
    path = tmp_path / "workloads.yaml"
    write(path, GOOD)
    async with followed(path, look_ms=20) as told:
        write(path, GOOD.replace("kind: Thing", "kind: Other"))
        await until(lambda: told.notes)
        assert told.notes[0][1] == {"new": "Other.a.example.com", "gone": "Thing.a.example.com"}
