"""A file of lines of bounded size: the last lines are there, whole and in order."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.record import rotated
from vsched.record.rotated import RotatedFile

LINES = st.lists(st.lists(st.integers(0, 40).map(lambda size: b"x" * size), max_size=8), max_size=12)


@given(LINES, st.integers(50, 200), st.integers(1, 4), st.sampled_from([b"", b"torn", b"whole\n"]))
def test_the_last_lines_are_whole_and_bounded(batches: list[list[bytes]], most: int, files: int, there: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rotated, "PIECE_BYTES", 1)  # each line is a piece
        path = Path(folder) / "log" / "audit.jsonl"
        path.parent.mkdir()
        if there:
            path.write_bytes(there)
        file = RotatedFile(path, most, files)
        numbered = 0
        for batch in batches:
            file.write(b"%d %s" % (numbered + at, line) for at, line in enumerate(batch))
            numbered += len(batch)
        file.close()
        kept = [path.with_name(f"audit.jsonl.{number}") for number in range(files + 1, 0, -1)]
        found = [each for each in (*kept, path) if each.exists()]
        assert len(found) <= files
        assert all(each.stat().st_size <= most + len(there) + 1 for each in found)
        lines = b"".join(each.read_bytes() for each in found).splitlines()
        ours = [int(line.split()[0]) for line in lines if line not in (b"torn", b"whole")]
        assert ours == list(range(numbered - len(ours), numbered))
        assert len(found) < files or not numbered or ours


def test_who_cannot_write_is_told_and_tries_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.mkdir()
    file = RotatedFile(path, 100, 2)
    with pytest.raises(OSError, match="Is a directory"):
        file.write([b"lost"])
    path.rmdir()
    file.write([b"kept"])
    file.close()
    assert path.read_bytes() == b"kept\n"
    assert path.stat().st_mode & 0o777 == 0o600
