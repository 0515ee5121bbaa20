"""When what an object says is overtaken by what is known now."""

from __future__ import annotations

import pytest

from vsched.model.jobs.advice import WOULD_START, is_overtaken

LACKS = "the gang needs 8, 6 fit"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(LACKS, "the gang needs 8, 5 fit", False, id="other figures"),
        pytest.param(LACKS, "queue q is closed", True, id="another reason"),
        pytest.param(LACKS, f"{LACKS}{WOULD_START}1 more node", False, id="what would help is added"),
        pytest.param(f"{LACKS}{WOULD_START}1 more node", LACKS, True, id="what would help is gone"),
        pytest.param(
            f"{LACKS}{WOULD_START}1 more node", "the gang needs 8, 5 fit", True, id="it was for other figures"
        ),
    ],
)
def test_what_is_overtaken(old: str, new: str, expected: bool) -> None:
    assert is_overtaken(old, new) == expected
