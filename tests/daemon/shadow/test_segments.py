"""The log of findings: days, bounds, cut lines, and one writer."""

from __future__ import annotations

from pathlib import Path

import pytest

from vsched.daemon.shadow.segments import FindingLog, logged, segments
from vsched.daemon.words import shadow as words
from vsched.errors import BadInput
from vsched.shadow.findings import StoppedWaiting

DAY = 86_400.0
NOON = 1_700_006_400.0 - 1_700_006_400.0 % DAY + DAY / 2


def days(folder: Path) -> list[str]:
    return [path.name for path in segments(folder)]


def test_each_day_has_a_file_and_they_are_read_in_order(tmp_path: Path) -> None:
    log = FindingLog(tmp_path, 10_000)
    first, second, third = (StoppedWaiting(NOON + number * DAY / 2, f"ns/{number}") for number in range(3))
    assert log.append([first]) == 0
    assert log.append([second, third]) == 0
    assert days(tmp_path) == ["shadow-2023-11-15.jsonl", "shadow-2023-11-16.jsonl"]
    assert list(logged(tmp_path)) == [first, second, third]
    assert log.size == sum(path.stat().st_size for path in segments(tmp_path))


def test_the_oldest_days_go_where_there_is_no_room_and_the_present_one_stays(tmp_path: Path) -> None:
    log = FindingLog(tmp_path, 500)
    for day in range(5):
        found = [StoppedWaiting(NOON + day * DAY + number, "ns/a") for number in range(4)]
        assert log.append(found) == 0
    assert sum(path.stat().st_size for path in segments(tmp_path)) == log.size <= 500
    assert 1 < len(days(tmp_path)) < 5
    assert days(tmp_path)[-1] == "shadow-2023-11-19.jsonl"
    assert log.append([StoppedWaiting(NOON + 4 * DAY + 10, "ns/" + "long" * 200)]) == 1, "one day alone is too large"
    assert [found.at for found in logged(tmp_path)][-1] == NOON + 4 * DAY + 3


def test_a_line_that_was_cut_off_is_left_out_and_the_next_one_is_whole(tmp_path: Path) -> None:
    log = FindingLog(tmp_path, 10_000)
    log.append([StoppedWaiting(NOON, "ns/a")])
    log.close()
    with segments(tmp_path)[0].open("ab") as file:
        file.write(b'{"kind":"stop')
    again = FindingLog(tmp_path, 10_000)
    again.append([StoppedWaiting(NOON + 1, "ns/b")])
    assert list(logged(tmp_path)) == [StoppedWaiting(NOON, "ns/a"), StoppedWaiting(NOON + 1, "ns/b")]
    assert again.size == segments(tmp_path)[0].stat().st_size


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    log = FindingLog(tmp_path, 1000)
    with pytest.raises(BadInput) as caught:
        FindingLog(tmp_path, 1000)
    assert str(caught.value) == words.in_use(tmp_path)
    log.close()
    FindingLog(tmp_path, 1000).close()


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput) as caught:
        FindingLog(tmp_path / "file" / "log", 1000)
    assert str(caught.value) == words.no_folder(tmp_path / "file" / "log", "Not a directory")
    with pytest.raises(BadInput) as caught:
        list(logged(tmp_path))
    assert str(caught.value) == words.no_log(tmp_path)
