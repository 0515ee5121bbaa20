"""Cycles that are run again: as they were, and under made-up names."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.clusters import clusters, contended
from tests.support.recording import POLICIES, policy_at, recorded
from vsched.model.anonymous import anonymised
from vsched.model.anonymous_records import Renaming
from vsched.model.dump import Recording, decode, encode, pack, report_bytes
from vsched.settings.built_in import REGISTRY
from vsched.web.recording import DIFFERS, anonymous, policy_of, replay, without_words

TELLING = {"x": "acme-research", "y": "acme", "a": "Falcon", "b": "falcon2", "c": "kubern-2", "dept": "d-pt.secret"}
"""Names for those in the random clusters that can be found in text, and hard ones to keep in order."""


def renamed(text: str) -> str:
    """The same cluster with names that mean something."""
    for short, name in TELLING.items():
        text = re.sub(rf"(?<=[ =/]){short}(?=[ /\n]|$)", name, text)
    for number in range(9):
        text = re.sub(rf"\b(j{number})\b", f"{'merger' if number % 2 else 'merger-plan'}.{9 - number}x", text)
    return re.sub(r"\bn([1-4])\b", r"ip-10-77-0-\1.corp", text)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.one_of(clusters(), contended()).map(renamed), path=st.sampled_from(POLICIES))
def test_under_made_up_names_the_same_is_decided(text: str, path: Path) -> None:
    recording = recorded(text, policy_at(path))
    made = decode(pack(anonymous(recording, REGISTRY)))
    assert made.head.anonymous
    assert made.head.says != DIFFERS
    assert made.report is not None
    assert recording.report is not None
    policy = policy_of(made, REGISTRY)
    assert report_bytes(replay(made, policy, REGISTRY).report) == report_bytes(made.report)

    told = encode(made)
    for name in (*TELLING.values(), "merger", "corp", "10-77", "dedicated"):
        assert name.encode() not in told, name
