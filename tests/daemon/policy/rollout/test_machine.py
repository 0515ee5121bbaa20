"""The state machine of a rollout, as a table and as properties."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.daemon.policy.rollout.figures import Counts, times_of
from vsched.daemon.policy.rollout.machine import (
    MOST_SECONDS,
    RolloutOrder,
    RolloutPhase,
    RolloutState,
    advance,
    begin,
    figure,
    followed,
    limit_text,
    moved,
    resume,
)
from vsched.daemon.words import rollout as words
from vsched.settings.rollout import Limit, LimitReference, Measure, RolloutSpec, RolloutStep

MIDNIGHT = 19_000 * 86400.0
WAIT = Limit(Measure.WAIT, 30.0)
EVICTIONS = Limit(Measure.EVICTIONS, 5.0)
SPEC = RolloutSpec("c", (RolloutStep(60.0, 22 * 60, 6 * 60), RolloutStep(120.0)), (EVICTIONS, WAIT))
STARTS = Counts(waits=times_of([1.0]))


def after(spec: RolloutSpec, seconds: float, counts: Counts = STARTS, now: float = MIDNIGHT) -> RolloutState:
    """The state after looks every 10 s, with the same happening between any two."""
    state = begin("id", now, spec).state
    for _ in range(int(seconds / 10)):
        now += 10
        state = advance(state, now, counts, {}, spec).state
    return state


SHARD = RolloutSpec("c", (RolloutStep(60.0, shadow=True), RolloutStep(120.0, shard=1)), (EVICTIONS, WAIT))
BESIDE = Counts(waits=times_of([1.0]), compared=1)


@given(st.lists(st.booleans(), max_size=60))
def test_only_time_in_which_the_daemon_has_the_shard_alone_counts(course: list[bool]) -> None:
    state, now, counted = begin("id", MIDNIGHT, SHARD, alone=False).state, MIDNIGHT, 0.0
    was_alone = False
    for alone in course:
        now += 10
        state = advance(moved(state, now, alone=alone), now, BESIDE, {}, SHARD).state
        counted += 10.0 * (alone and was_alone) * (counted < 180.0)
        was_alone = alone
        assert state.clock == counted
        assert state.in_force is (counted >= 180.0 or (alone and counted >= 60.0))
        assert followed(state).in_force is (counted >= 180.0), "others follow at the end"


@pytest.mark.parametrize(
    ("spec", "seconds", "counts", "now", "phase", "step", "in_force"),
    [
        pytest.param(
            SPEC, 0, STARTS, MIDNIGHT, RolloutPhase.RUNNING, 0, True, id="within the window it begins at once"
        ),
        pytest.param(
            SPEC, 300, STARTS, MIDNIGHT + 43200, RolloutPhase.RUNNING, 0, False, id="outside it waits for the window"
        ),
        pytest.param(
            SPEC, 60, STARTS, MIDNIGHT, RolloutPhase.RUNNING, 1, True, id="after its length the next step begins"
        ),
        pytest.param(
            SPEC, 180, STARTS, MIDNIGHT, RolloutPhase.COMPLETE, 1, True, id="after the last one it is complete"
        ),
        pytest.param(
            SPEC, 600, Counts(), MIDNIGHT, RolloutPhase.RUNNING, 0, True, id="no step ends before it is measured"
        ),
        pytest.param(
            SPEC,
            10,
            Counts(evictions=6),
            MIDNIGHT,
            RolloutPhase.TAKEN_BACK,
            0,
            False,
            id="a broken limit takes it back",
        ),
        pytest.param(
            SPEC, 10, Counts(evictions=5), MIDNIGHT, RolloutPhase.RUNNING, 0, True, id="the limit itself is within"
        ),
        pytest.param(
            msgspec.structs.replace(SPEC, take_back=False),
            100,
            Counts(evictions=6),
            MIDNIGHT,
            RolloutPhase.HELD,
            0,
            True,
            id="where it is not to be taken back it is held",
        ),
        pytest.param(
            msgspec.structs.replace(
                SPEC, limits=(Limit(Measure.WAIT, 1.5, LimitReference.BASELINE),), baseline_seconds=100.0
            ),
            90,
            STARTS,
            MIDNIGHT,
            RolloutPhase.BASELINE,
            0,
            False,
            id="the baseline is measured first",
        ),
        pytest.param(
            msgspec.structs.replace(
                SPEC, limits=(Limit(Measure.WAIT, 1.5, LimitReference.BASELINE),), baseline_seconds=100.0
            ),
            100,
            STARTS,
            MIDNIGHT,
            RolloutPhase.RUNNING,
            0,
            True,
            id="then the first step begins",
        ),
        pytest.param(
            msgspec.structs.replace(
                SPEC, limits=(Limit(Measure.WAIT, 1.5, LimitReference.BASELINE),), baseline_seconds=100.0
            ),
            1000,
            Counts(),
            MIDNIGHT,
            RolloutPhase.BASELINE,
            0,
            False,
            id="a baseline of nothing is none",
        ),
    ],
)
def test_where_a_rollout_is(
    spec: RolloutSpec, seconds: float, counts: Counts, now: float, phase: RolloutPhase, step: int, in_force: bool
) -> None:
    state = after(spec, seconds, counts, now)
    assert (state.phase, state.step, state.in_force) == (phase, step, in_force)


def test_the_figure_that_broke_a_limit_is_said_with_what_was_promised_and_the_baseline() -> None:
    limits = (Limit(Measure.WAIT, 1.2, LimitReference.BASELINE), EVICTIONS)
    spec = msgspec.structs.replace(SPEC, limits=limits, baseline_seconds=10.0)
    state = after(spec, 10)
    [said] = advance(state, MIDNIGHT + 20, Counts(evictions=7), times_of([100.0]), spec).says
    assert said.is_warning
    assert said.message.startswith("wait p95: measured 101s, promised <= 1171ms")
    assert "(baseline 976ms)" in said.message
    assert "evictions per hour: measured 7, promised <= 5" in said.message


PREDICTING = RolloutSpec(
    "c",
    (RolloutStep(600.0, shadow=True), RolloutStep(7200.0)),
    (Limit(Measure.EVICTIONS, 1.5, LimitReference.PREDICTED),),
)


def predicted(counts: Counts) -> RolloutState:
    """After its shadow step, in which the candidate would have evicted so many pods altogether."""
    beside = Counts(compared=1, sessions=times_of([0.01]))
    state = advance(begin("id", MIDNIGHT, PREDICTING).state, MIDNIGHT + 10, counts, {}, PREDICTING).state
    for look in range(2, 61):
        state = advance(state, MIDNIGHT + 10 * look, beside, {}, PREDICTING).state
    assert (state.step, state.in_force) == (1, True)
    return state


@pytest.mark.parametrize(
    ("would_evict", "evicts", "phase"),
    [
        pytest.param(
            2, 18, RolloutPhase.RUNNING, id="2 in ten minutes are 12 an hour, and half as many more is within"
        ),
        pytest.param(2, 19, RolloutPhase.TAKEN_BACK, id="more is not"),
        pytest.param(0, 1, RolloutPhase.TAKEN_BACK, id="where none was predicted none may be"),
    ],
)
def test_what_a_shadow_step_predicted_is_the_limit_of_those_in_force(
    would_evict: int, evicts: int, phase: RolloutPhase
) -> None:
    state = predicted(Counts(evictions=would_evict))
    found = advance(state, MIDNIGHT + 700, Counts(evictions=evicts), {}, PREDICTING)
    assert found.state.phase is phase
    if found.says:
        assert words.of_reference("predicted", str(6 * would_evict)) in found.says[0].message


def test_a_held_step_goes_on_once_all_is_within_again() -> None:
    spec = msgspec.structs.replace(SPEC, take_back=False)
    held = after(spec, 10, Counts(waits=times_of([100.0])))
    assert held.phase is RolloutPhase.HELD
    goes_on = advance(held, MIDNIGHT + 20, Counts(waits=times_of([1.0] * 100)), {}, spec)
    assert goes_on.state.phase is RolloutPhase.RUNNING
    assert [said.reason for said in goes_on.says] == ["RolloutGoesOn"]


def test_time_when_nobody_looked_is_not_measured() -> None:
    state = begin("id", MIDNIGHT, SPEC).state
    assert advance(state, MIDNIGHT + 7200, STARTS, {}, SPEC).state.clock == MOST_SECONDS
    assert resume(state, MIDNIGHT + 7200, SPEC).served == 0.0
    assert advance(resume(state, MIDNIGHT + 7200, SPEC), MIDNIGHT + 7205, STARTS, {}, SPEC).state.served == 5.0


@pytest.mark.parametrize(
    ("seconds", "counts", "order", "phase"),
    [
        pytest.param(0, STARTS, RolloutOrder.PROMOTE, RolloutPhase.COMPLETE, id="promoted in a step"),
        pytest.param(0, STARTS, RolloutOrder.TAKE_BACK, RolloutPhase.TAKEN_BACK, id="taken back in a step"),
        pytest.param(180, STARTS, RolloutOrder.TAKE_BACK, RolloutPhase.TAKEN_BACK, id="taken back after the last"),
        pytest.param(
            10, Counts(evictions=9), RolloutOrder.PROMOTE, RolloutPhase.TAKEN_BACK, id="what was taken back stays so"
        ),
    ],
)
def test_orders(seconds: float, counts: Counts, order: RolloutOrder, phase: RolloutPhase) -> None:
    state = after(SPEC, seconds, counts)
    assert advance(state, MIDNIGHT + seconds + 1, Counts(), {}, SPEC, order).state.phase is phase


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (EVICTIONS, "<= 5"),
        (WAIT, "<= 30s"),
        (Limit(Measure.SESSION, 0.2), "<= 200ms"),
        (Limit(Measure.WAIT, 1.2, LimitReference.BASELINE), "<= 120% of baseline"),
        (Limit(Measure.SESSION, 1.5, LimitReference.PREDICTED), "<= 150% of predicted"),
    ],
)
def test_limits_for_people(limit: Limit, text: str) -> None:
    assert limit_text(limit) == text


def test_figures_for_people() -> None:
    assert [figure(Measure.SESSION, 0.0123), figure(Measure.WAIT, 75.2), figure(Measure.IN_VAIN, 3.0)] == [
        "12ms",
        "75s",
        "3",
    ]


STEPS = st.tuples(st.floats(1, 5000), st.integers(0, 1439), st.integers(0, 1439)).filter(
    lambda each: each[1] != each[2]
)
SPECS = st.builds(
    RolloutSpec,
    st.just("c"),
    st.lists(
        st.one_of(
            STEPS.map(lambda each: RolloutStep(*each)), st.builds(RolloutStep, st.floats(1, 5000), shadow=st.booleans())
        ),
        min_size=1,
        max_size=4,
    ).map(tuple),
    st.sampled_from([(EVICTIONS,), (EVICTIONS, WAIT), (Limit(Measure.WAIT, 2.0, LimitReference.BASELINE),)]),
    st.booleans(),
    st.floats(1, 1000),
)
LOOKS = st.lists(
    st.tuples(
        st.floats(0, 4000),
        st.integers(0, 3),
        st.one_of(st.none(), st.floats(0.1, 100)),
        st.sampled_from(["", "kill", "kill", "write"]),
    ),
    max_size=60,
)


@given(SPECS, LOOKS)
def test_at_any_time_and_with_kills_at_any_point(
    spec: RolloutSpec, looks: list[tuple[float, int, float | None, str]]
) -> None:
    now = MIDNIGHT
    state = begin("id", now, spec).state
    written = msgspec.json.encode(state)
    for seconds, evictions, wait, then in looks:
        now += seconds
        before = state
        counts = Counts(evictions, compared=evictions, waits=times_of([] if wait is None else [wait]))
        state = advance(before, now, counts, {}, spec).state
        # It is in force within its steps and their hours only, and after the last of them.
        if state.in_force and state.phase is not RolloutPhase.COMPLETE:
            assert state.phase in (RolloutPhase.RUNNING, RolloutPhase.HELD)
            assert spec.steps[state.step].covers(now)
            assert not spec.steps[state.step].shadow
        # What was taken back stays so.
        if before.phase is RolloutPhase.TAKEN_BACK:
            assert (state.phase, state.in_force) == (RolloutPhase.TAKEN_BACK, False)
        # No step is left out, and none ends before its time was measured.
        assert 0 <= state.step - before.step <= 1
        if before.phase is RolloutPhase.RUNNING and (state.step > before.step or state.phase is RolloutPhase.COMPLETE):
            assert before.served + min(seconds, MOST_SECONDS) >= spec.steps[before.step].seconds
            assert before.in_force or spec.steps[before.step].shadow
        assert 0 <= state.clock - before.clock <= min(seconds, MOST_SECONDS) + 1e-6
        # Whatever is written is read back, and a kill continues from there.
        if then or (state.phase, state.step) != (before.phase, before.step):
            written = msgspec.json.encode(state)
        assert msgspec.json.decode(written, type=RolloutState).id == "id"
        if then == "kill":
            resumed = resume(msgspec.json.decode(written, type=RolloutState), now + 1, spec)
            assert (resumed.phase, resumed.step, resumed.served) == (state.phase, state.step, state.served)
            now, state = now + 1, resumed
