"""Cycles that are run again: as they were, and under made-up names."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import clusters, contended
from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY
from tests.support.recording import POLICIES, policy_at, recorded
from vsched.framework.cycle import run_cycle
from vsched.model.arbitration.records import Ceiling
from vsched.model.dump.cycle import Recording, decode, encode, pack, report_bytes
from vsched.plugins.allocation import ALLOCATION
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY
from vsched.web.pages.recording import anonymous, error_text, policy_of, replay, text_of
from vsched.web.words.answers import DIFFERS

TELLING = {"x": "acme-research", "y": "acme", "a": "Falcon", "b": "falcon2", "c": "kubern-2", "dept": "d-pt.secret"}
"""Names for those in the random clusters that can be found in text, and hard ones to keep in order."""


def telling(text: str) -> str:
    """The same cluster with names that mean something."""
    for short, name in TELLING.items():
        text = re.sub(rf"(?<=[ =/]){short}(?=[ /\n]|$)", name, text)
    for number in range(9):
        text = re.sub(rf"\b(j{number})\b", f"{'merger' if number % 2 else 'merger-plan'}.{9 - number}x", text)
    return re.sub(r"\bn([1-4])\b", r"ip-10-77-0-\1.corp", text)


@settings(max_examples=examples(15))
@given(text=st.one_of(clusters(), contended()).map(telling), path=st.sampled_from(POLICIES))
def test_under_made_up_names_the_same_is_decided(text: str, path: Path) -> None:
    recording = recorded(text, policy_at(path))
    made = decode(pack(anonymous(recording, REGISTRY)))
    assert made.head.anonymous
    assert made.head.says != DIFFERS
    assert made.report is not None
    assert recording.report is not None
    again = replay(made, policy_of(made, REGISTRY), REGISTRY)
    assert report_bytes(again.report) == report_bytes(made.report)
    assert len(made.report.binds) == len(recording.report.binds)
    told = encode(made)
    for name in (*TELLING.values(), "merger", "corp", "10-77", "dedicated"):
        assert name.encode() not in told, name


def test_ceilings_of_namespaces_hold_again_and_under_made_up_names() -> None:
    policy = DEFAULT_POLICY.with_plugin(ALLOCATION)
    recording = recorded("node n1 cpu=8\njob x/held min=1 pods=4 cpu=1\njob y/free min=1 pods=2 cpu=1", policy)
    snapshot = replace(recording.snapshot, ceilings={"x": Ceiling({0: 2000})}, held={"x": {0: 0}})
    recording = replace(recording, snapshot=snapshot, report=run_cycle(snapshot, policy, REGISTRY))
    assert recording.report is not None
    assert sorted(bind.namespace for bind in recording.report.binds) == ["x", "x", "y", "y"]
    for found in (decode(pack(recording)), decode(pack(anonymous(recording, REGISTRY)))):
        assert found.report is not None
        assert policy_of(found, REGISTRY) == policy
        assert report_bytes(replay(found, policy, REGISTRY).report) == report_bytes(found.report)
        assert len(found.report.binds) == 4


# -- one by one


WAITS = """
node n1 cpu=4
queue secret capability=cpu:1
job x/stuck min=1 pods=1 cpu=2 queue=secret phase=Inqueue
"""


def settled(text: str) -> Recording:
    """A recording of jobs whose objects say already what the cycle would have them say."""
    recording = recorded(text, DEFAULT_POLICY)
    assert recording.report is not None
    jobs = {}
    for key, job in recording.snapshot.jobs.items():
        jobs[key] = again = job.clone()
        outcome = recording.report.jobs[key]
        again.spec = msgspec.structs.replace(job.spec, conditions=outcome.conditions, phase=outcome.phase)
        again.frozen = True
    snapshot = replace(recording.snapshot, jobs=jobs)
    return replace(recording, snapshot=snapshot, report=run_cycle(snapshot, DEFAULT_POLICY, REGISTRY))


def test_a_job_whose_object_is_up_to_date_is_so_under_its_made_up_name() -> None:
    recording = settled(WAITS)
    assert recording.report is not None
    assert not recording.report.jobs["x/stuck"].changed
    made = anonymous(recording, REGISTRY)
    assert made.report is not None
    [job] = made.report.jobs.values()
    assert (job.changed, made.head.says) == (False, "")
    assert job.message
    assert "secret" not in job.message


def test_where_a_recording_says_something_else_than_is_decided_the_head_says_so() -> None:
    recording = recorded(WAITS, DEFAULT_POLICY)
    assert recording.report is not None
    wrong = replace(recording, report=msgspec.structs.replace(recording.report, jobs={}))
    assert anonymous(wrong, REGISTRY).head.says == DIFFERS


def test_the_policy_of_a_recording_is_the_one_that_was_in_force() -> None:
    for path in POLICIES:
        recording = replace(recorded(WAITS, policy_at(path)), policy=text_of(policy_at(path)))
        assert policy_of(recording, REGISTRY) == policy_at(path)


def test_zones_of_a_policy_have_the_names_of_those_of_nodes() -> None:
    windows = "{tdm.revocable-zone.nights: '00:00-23:59'}"
    policy = f"actions: allocate\ntiers: [{{plugins: [{{name: tdm, arguments: {windows}}}]}}]"
    loaded = load_text(policy, "policy", REGISTRY).policy
    made = anonymous(recorded("node n1 cpu=4 volcano.sh/revocable-zone=nights", loaded), REGISTRY)
    [node] = made.snapshot.nodes.statics.attributes
    zone = node.labels["volcano.sh/revocable-zone"]
    assert zone != "nights"
    assert f"tdm.revocable-zone.{zone}: 00:00-23:59" in made.policy


def test_an_error_has_its_kind_the_first_words_and_its_place() -> None:
    try:
        raise ValueError("two\nlines " + "x" * 1000)
    except ValueError as error:
        text = error_text(error)
    assert text.startswith("ValueError: two lines xxx")
    assert re.search(r"test_recording\.py:\d+\)$", text)
    assert len(text) < 700
