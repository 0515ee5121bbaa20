"""The gates of a range file, and which figures pass them."""

from __future__ import annotations

from pathlib import Path

import pytest

from vsched.errors import BadInput
from vsched.lab.kueue.gates import Gates, compared, read_gates

RANGES = """cmd:
  maxWallMs: 425_000
  mCPU: 500
clusterQueueClassesMinUsage:
  cq: 31.6 #%
wlClassesMaxAvgTimeToAdmissionMs:
  large: 23_000
"""


def read(folder: Path, text: str) -> Gates:
    path = folder / "rangespec.yaml"
    path.write_text(text)
    return read_gates(path, {"cq"}, {"large", "small"})


def test_a_range_file_is_read_and_says_what_is_not_compared(tmp_path: Path) -> None:
    found = read(tmp_path, RANGES)
    assert (found.wall_ms, found.usage_percent, found.admission_ms) == (425_000, {"cq": 31.6}, {"large": 23_000})
    assert len(found.left_out) == 1
    assert "mCPU" in found.left_out[0]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        pytest.param(
            "large: 23_000", "huge: 1", "7: wlClassesMaxAvgTimeToAdmissionMs.huge: the generator has no", id="class"
        ),
        pytest.param("31.6", "half", "5: clusterQueueClassesMinUsage.cq: expected a number, got 'half'", id="a word"),
        pytest.param("maxWallMs", "maxWall", "2: cmd.maxWall: unknown field", id="an unknown field"),
    ],
)
def test_a_mistake_is_refused_with_its_line(tmp_path: Path, before: str, after: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        read(tmp_path, RANGES.replace(before, after))


@pytest.mark.parametrize(
    ("wall", "usage", "wait", "passed"),
    [
        pytest.param(425_000, 31.6, 23_000.0, [True, True, True, None], id="limits themselves are kept"),
        pytest.param(425_001, 31.5, 23_000.5, [False, False, False, None], id="beyond each of them"),
        pytest.param(0, None, None, [True, False, False, None], id="what was never measured does not pass"),
    ],
)
def test_a_figure_passes_on_the_right_side_of_its_gate(
    tmp_path: Path, wall: float, usage: float | None, wait: float | None, passed: list[bool | None]
) -> None:
    found = compared(read(tmp_path, RANGES), wall, {"cq": usage}, {"large": wait, "small": wait})
    assert [figure.passed for figure in found] == passed, "small has no gate"
