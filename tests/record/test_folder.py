"""Files of work traces: what was written can be read, up to where a file is cut off, and the oldest go first."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import seeded
from tests.support.examples import examples
from tests.support.work_stories import Story, recorded
from vsched.errors import BadInput
from vsched.files import DISK
from vsched.lab.soak.bottle.disks import Disk
from vsched.record import folder, words
from vsched.record.folder import WorkFolder, last_seen, read_all, read_lines, segments_of, write_file
from vsched.record.lines import FORMAT, AnyLine, Began, Complete, NodeThere

DAY = 86_400.0


def some_lines(at: float, count: int = 3) -> list[AnyLine]:
    nodes = (NodeThere(at=at, name=f"n{number}", has={"cpu": 1000}) for number in range(count))
    return [Began(at=at), *nodes, Complete(at=at)]


@settings(max_examples=examples(100), deadline=None)
@given(seeded, st.integers(0, 200))
def test_a_file_that_was_cut_off_anywhere_is_read_up_to_there(
    tmp_path_factory: pytest.TempPathFactory, random: Random, cut: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "trace.jsonl.gz"
    lines = recorded([*Story(random).changes(20)], []) or some_lines(0.0)
    write_file(path, lines)
    whole = path.read_bytes()
    path.write_bytes(whole[: max(0, len(whole) - cut)])
    found = list[AnyLine]()
    with contextlib.suppress(BadInput):  # where nothing is left
        found += read_lines(path)
    assert found == lines[: len(found)]
    assert found or cut


def test_what_was_written_is_there_although_nobody_closed_the_file(tmp_path: Path) -> None:
    work = WorkFolder(tmp_path, 1 << 30)
    work.begin(0.0, some_lines(0.0))
    work.write([NodeThere(at=5.0, name="late", has={})])
    assert [*read_all([tmp_path])] == [*some_lines(0.0), NodeThere(at=5.0, name="late", has={})]
    assert last_seen(tmp_path) == 5.0
    work.close()


def test_a_segment_is_over_on_the_next_day_and_when_it_is_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = WorkFolder(tmp_path, 1 << 30)
    assert work.is_over(0.0), "none has begun"
    work.begin(0.0, some_lines(0.0))
    assert not work.is_over(DAY - 1)
    assert work.is_over(DAY)
    monkeypatch.setattr(folder, "SEGMENT_BYTES", 10)
    assert work.is_over(1.0)
    work.close()


def test_the_oldest_segments_go_where_all_together_are_too_large(tmp_path: Path) -> None:
    work = WorkFolder(tmp_path, 5_000)
    for day in range(100):
        work.begin(day * DAY, some_lines(day * DAY, 30))
    work.close()
    kept = segments_of(tmp_path)
    assert 2 < len(kept) < 50
    assert sum(path.stat().st_size for path in kept[:-1]) <= 5_000
    assert last_seen(tmp_path) == 99 * DAY


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", lambda path: words.nothing_in_it(path)),
        (b'{"kind":"node","at":1.0,"name":"n","has":{}}\n', lambda path: words.no_beginning(path)),
        (
            f'{{"kind":"began","at":1.0,"format":{FORMAT + 1}}}\n'.encode(),
            lambda path: words.newer_format(path, FORMAT + 1, FORMAT),
        ),
        (
            b'{"kind":"began","at":1.0}\n{"kind":"moon","at":1.0}\n',
            lambda path: words.no_line(path, 2, "Invalid value 'moon' - at `$.kind`"),
        ),
        (b'{"kind":"began","at":1.0}\n' + b"x" * (2 << 20), lambda path: words.line_too_long(path, 1 << 20)),
        (gzip.compress(b"abc")[:3] + b"\xff" * 20, lambda path: path),
    ],
    ids=[
        "an empty file",
        "one that does not begin",
        "a newer format",
        "a line of an unknown kind",
        "a line without end",
        "a broken archive",
    ],
)
def test_a_file_that_is_no_trace_is_refused_with_its_line(
    tmp_path: Path, content: bytes, says: Callable[[Path], object]
) -> None:
    path = tmp_path / "trace"
    path.write_bytes(content)
    with pytest.raises(BadInput) as refused:
        [*read_lines(path)]
    assert str(refused.value).startswith(str(says(path)))


def test_a_segment_that_could_not_be_begun_is_not_left_behind(tmp_path: Path) -> None:
    disk = Disk()
    reset = DISK.set(disk.open)
    try:
        work = WorkFolder(tmp_path, 1 << 30)
        with disk.full(), pytest.raises(OSError, match="No space left"):
            work.begin(1.0, some_lines(1.0))
        assert segments_of(tmp_path) == []
        work.begin(2.0, some_lines(2.0))
        work.close()
        assert [*read_all([tmp_path])] == some_lines(2.0)
        assert disk.after_losses == segments_of(tmp_path)
    finally:
        DISK.reset(reset)


def test_an_empty_segment_is_passed_over(tmp_path: Path) -> None:
    """Whoever began it was killed before the first line was written: the next daemon goes on."""
    work = WorkFolder(tmp_path, 1 << 30)
    work.begin(5.0, some_lines(5.0))
    work.close()
    (tmp_path / f"work-29991231T000000{folder.ENDING}").touch()
    assert [*read_all([tmp_path])] == some_lines(5.0)
    assert last_seen(tmp_path) == 5.0


def test_a_folder_without_segments_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        [*read_all([tmp_path])]
    assert str(refused.value) == words.no_segments(tmp_path, folder.ENDING)


def test_a_file_is_replaced_only_once_all_of_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"
    path.write_bytes(b"before")

    def broken() -> Iterator[AnyLine]:
        yield from some_lines(0.0)
        raise BadInput("it ends here")

    with pytest.raises(BadInput, match="it ends here"):
        write_file(path, broken())
    assert path.read_bytes() == b"before"
    assert [*tmp_path.iterdir()] == [path]
    write_file(path, some_lines(0.0))
    assert [*read_lines(path)] == some_lines(0.0)
