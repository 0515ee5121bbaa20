"""Files are read up to a bound, only where they are files, and only where they may be."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from vsched.errors import BadInput
from vsched.files import content, text


def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def long(folder: Path) -> Path:
    (folder / "long").write_bytes(b"x" * 2049)
    return folder / "long"


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        pytest.param(lambda folder: Path("/dev/zero"), "it is no regular file", id="a device that never ends"),
        pytest.param(fifo, "it is no regular file", id="a pipe that nobody writes to"),
        pytest.param(lambda folder: folder, "Is a directory", id="a directory"),
        pytest.param(lambda folder: folder / "none", "No such file or directory", id="none at all"),
        pytest.param(lambda folder: f"{folder}/a\0b", "embedded null (byte|character)", id="a name that no file has"),
        pytest.param(long, "is longer than 2 KiB", id="more than is wanted"),
    ],
)
def test_what_is_no_file_of_a_fair_size_is_refused_in_one_line(
    tmp_path: Path, make: Callable[[Path], str | Path], problem: str
) -> None:
    with pytest.raises(BadInput, match=problem):
        content(make(tmp_path), most_bytes=2048)


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 2048)
    assert len(content(tmp_path / "f", most_bytes=2048)) == 2048


def test_links_do_not_lead_out_of_a_directory(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.write_text("secret")
    (inside / "data").write_text("ok")
    (inside / "good").symlink_to(inside / "data")
    (inside / "bad").symlink_to(outside)
    assert content(inside / "good", below=(inside,)) == b"ok"
    for path in (inside / "bad", f"{inside}/../out", outside):
        with pytest.raises(BadInput, match=f"is not in {inside}"):
            content(path, below=(inside,))
    with pytest.raises(BadInput, match="is not in a directory that is allowed"):
        content(inside / "data", below=())


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        pytest.param(lambda folder: "/dev/zero", "it is no regular file", id="a device that never ends"),
        pytest.param(lambda folder: folder, "Is a directory", id="a directory"),
        pytest.param(long, "is longer than 0 MiB", id="more than anybody means"),
    ],
)
def test_text_that_never_ends_is_refused(tmp_path: Path, make: Callable[[Path], str | Path], problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        text(make(tmp_path), most_bytes=2048)


def test_text_may_come_through_a_pipe_and_be_nothing(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"kind: Node\n")
    os.close(writing)
    assert text(f"/dev/fd/{reading}") == "kind: Node\n"
    os.close(reading)
    assert text("/dev/null") == ""
