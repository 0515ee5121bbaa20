"""The state machine of a rollout: from the state as it is written and what was measured since, to the next one.

Pure. Time in a step counts only while the candidate is in force and measured. A candidate that was taken back stays
so until the policy, the candidate or the rollout is edited, which makes it another rollout.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from vsched.daemon.policy.rollout.figures import Counts, Times, Window, figures_of
from vsched.daemon.words import rollout as words
from vsched.model.amounts.durations import short_duration
from vsched.settings.rollout import Limit, LimitReference, Measure, RolloutSpec, RolloutStep

MOST_SECONDS = 60.0
"""Between two looks at most so much counts: whoever was suspended for longer has not measured."""


HOUR_SECONDS = 3600.0


class RolloutPhase(StrEnum):
    """Where a rollout is."""

    BASELINE = "Baseline"
    RUNNING = "Running"
    HELD = "Held"
    """A limit is broken, and the rollout is not to be taken back."""
    TAKEN_BACK = "TakenBack"
    COMPLETE = "Complete"


ENDED = frozenset({RolloutPhase.TAKEN_BACK, RolloutPhase.COMPLETE})


class RolloutOrder(StrEnum):
    """What people may ask of a rollout."""

    PROMOTE = "promote"
    TAKE_BACK = "take-back"


class RolloutState(msgspec.Struct, frozen=True, rename="camel"):
    """What is written of a rollout."""

    id: str
    """Of the policy, the candidate and the rollout together: an edit of any makes it another one."""
    phase: RolloutPhase
    step: int = 0
    """From 0."""
    steps: int = 1
    in_force: bool = False
    """Whether the candidate is in force."""
    served: float = 0.0
    """Seconds of the step that are over."""
    clock: float = 0.0
    """Seconds that were measured since the rollout began."""
    seen: float = 0.0
    """When this was so, in seconds since the epoch."""
    since: float = 0.0
    """When the step or phase began."""
    entered: float = 0.0
    """When the candidate came into force last, or the baseline began: pods that were created earlier do not count."""
    alone: bool = True
    """Whether the daemon that carries it out decides for the shard of the rollout, and for no other."""
    message: str = ""
    """What was said last."""
    figures: dict[str, float] = {}
    baseline: dict[str, float] = {}
    predicted: dict[str, float] = {}
    """The largest figures of the last shadow step, counts as those of an hour."""
    window: Window = Window()


class Said(NamedTuple):
    """What is to be told, in an Event and in the log."""

    reason: str
    message: str
    is_warning: bool = False


class Advance(NamedTuple):
    """The outcome of a look."""

    state: RolloutState
    says: tuple[Said, ...] = ()


def begin(id: str, now: float, spec: RolloutSpec, *, alone: bool = True) -> Advance:
    """A rollout that has just been seen."""
    empty = RolloutState(
        id, RolloutPhase.BASELINE, steps=len(spec.steps), seen=now, since=now, entered=now, alone=alone
    )
    if not spec.refers_to_baseline:
        return _in_force(_step_begins(empty, 0, now, spec), now, spec)
    return Advance(replace(empty, message=words.BASELINE), (Said("RolloutBegan", words.BASELINE),))


def moved(state: RolloutState, now: float, *, alone: bool) -> RolloutState:
    """The state where the daemon may decide for other shards than at the look before."""
    if alone == state.alone:
        return state
    return replace(state, alone=alone, seen=now, in_force=state.in_force and (alone or state.phase in ENDED))


def followed(state: RolloutState) -> RolloutState:
    """The state in a daemon of another shard than that of the rollout."""
    return replace(state, alone=False, in_force=state.phase is RolloutPhase.COMPLETE)


def resume(state: RolloutState, now: float, spec: RolloutSpec) -> RolloutState:
    """A state that another process has written: the time since then was not measured."""
    return _in_force(Advance(state), now, spec).state


def advance(
    state: RolloutState,
    now: float,
    counts: Counts,
    waiting: Times,
    spec: RolloutSpec,
    order: RolloutOrder | None = None,
) -> Advance:
    """The next state. ``counts`` is what happened since ``state.seen``; ``waiting`` are ages of pods that were created
    since ``state.entered`` and still wait.
    """
    ordered = _ordered(state, now, order)
    if ordered is not None:
        return _in_force(ordered, now, spec)
    if state.phase in ENDED:
        return Advance(replace(state, seen=now))
    seconds = min(max(0.0, now - state.seen), MOST_SECONDS)
    measures = state.in_force or state.phase is RolloutPhase.BASELINE or shadows(state, spec)
    if not measures or not state.alone:
        return _in_force(Advance(replace(state, seen=now)), now, spec)
    window = state.window.adding(state.clock, counts)
    figures = figures_of(window, waiting)
    shown = {measure.value: value for measure, value in figures.items()}
    state = replace(state, clock=state.clock + seconds, seen=now, window=window, figures=shown)
    if state.phase is RolloutPhase.BASELINE:
        return _in_force(_baseline(state, now, figures, spec), now, spec)
    return _in_force(_judge(state, now, seconds, figures, spec), now, spec)


def shadows(state: RolloutState, spec: RolloutSpec) -> bool:
    """Whether it is a step in which the candidate decides beside the policy in force."""
    return state.phase in (RolloutPhase.RUNNING, RolloutPhase.HELD) and spec.steps[state.step].shadow


def _ordered(state: RolloutState, now: float, order: RolloutOrder | None) -> Advance | None:
    """What becomes of it by order; None where the order changes nothing."""
    if order is RolloutOrder.PROMOTE and state.phase not in ENDED:
        return _ends(state, now, RolloutPhase.COMPLETE, Said("RolloutPromoted", words.PROMOTED))
    if order is RolloutOrder.TAKE_BACK and state.phase is not RolloutPhase.TAKEN_BACK:
        return _ends(state, now, RolloutPhase.TAKEN_BACK, Said("RolloutTakenBack", words.TAKEN_BACK_BY_HAND, True))
    return None


def _baseline(state: RolloutState, now: float, figures: dict[Measure, float], spec: RolloutSpec) -> Advance:
    """The first step begins once everything that limits refer to is measured."""
    wanted = {limit.measure for limit in spec.limits if limit.of is LimitReference.BASELINE}
    if state.clock < spec.baseline_seconds or not wanted <= figures.keys():
        return Advance(state)
    return _step_begins(replace(state, baseline=state.figures), 0, now, spec)


def _judge(
    state: RolloutState, now: float, seconds: float, figures: dict[Measure, float], spec: RolloutSpec
) -> Advance:
    step = spec.steps[state.step]
    limits = [limit for limit in spec.limits if limit.holds_in(step)]
    broken = [text for limit in limits if (text := _broken(limit, figures, state))]
    if broken and spec.take_back:
        said = Said("RolloutTakenBack", words.taken_back("; ".join(broken)), True)
        return _ends(state, now, RolloutPhase.TAKEN_BACK, said)
    if broken:
        if state.phase is RolloutPhase.HELD:
            return Advance(state)
        said = Said("RolloutHeld", words.held("; ".join(broken)), True)
        return Advance(replace(state, phase=RolloutPhase.HELD, message=said.message), (said,))
    if state.phase is RolloutPhase.HELD:
        said = Said("RolloutGoesOn", words.WITHIN)
        return Advance(replace(state, phase=RolloutPhase.RUNNING, message=said.message), (said,))
    served = state.served + seconds
    state = replace(state, served=served, predicted=_predicted(state, served) if step.shadow else state.predicted)
    total = state.window.total()
    unknown = any(limit.measure not in figures for limit in limits) or (step.shadow and not total.compared)
    if served < step.seconds or unknown:
        return Advance(state)
    shadowed = (Said("RolloutShadowed", words.shadowed(total.compared, total.alike, total.evictions)),)
    says = shadowed if step.shadow else ()
    if state.step + 1 < len(spec.steps):
        begun = _step_begins(state, state.step + 1, now, spec)
        return Advance(begun.state, (*says, *begun.says))
    done = _ends(state, now, RolloutPhase.COMPLETE, Said("RolloutComplete", words.COMPLETE))
    return Advance(done.state, (*says, *done.says))


def _predicted(state: RolloutState, served: float) -> dict[str, float]:
    """The largest figures of a shadow step so far; counts of less than an hour are those that an hour would have."""
    rate = HOUR_SECONDS / min(max(served, 1.0), HOUR_SECONDS)
    before = {} if state.served == 0.0 else state.predicted
    here = {name: value * (rate if Measure(name).counts else 1.0) for name, value in state.figures.items()}
    shrinks = served < HOUR_SECONDS  # the step has no whole hour yet: its rate says more than the one before did
    return here if shrinks else {name: max(value, before.get(name, 0.0)) for name, value in here.items()}


def _broken(limit: Limit, figures: dict[Measure, float], state: RolloutState) -> str:
    """What is said of a limit that is broken; empty where it holds, or nothing is measured."""
    measured = figures.get(limit.measure)
    most, told = limit.most, ""
    if limit.of is not None:
        known = state.predicted if limit.of is LimitReference.PREDICTED else state.baseline
        before = known.get(limit.measure.value, 0.0)
        most, told = most * before, words.of_reference(limit.of, figure(limit.measure, before))
    if measured is None or measured <= most:
        return ""
    return words.breaks(limit.measure.value, figure(limit.measure, measured), f"<= {figure(limit.measure, most)}", told)


def figure(measure: Measure, value: float) -> str:
    """A figure for people."""
    if measure.counts:
        return f"{value:g}"
    return f"{value * 1e3:.0f}ms" if value < 10 else f"{value:.0f}s"


def limit_text(limit: Limit) -> str:
    """A limit for people."""
    if limit.of is not None:
        return words.share_of_reference(limit.most, limit.of)
    return f"<= {figure(limit.measure, limit.most)}"


def _step_begins(state: RolloutState, number: int, now: float, spec: RolloutSpec) -> Advance:
    message = words.step_begins(number + 1, len(spec.steps), step_text(spec.steps[number]))
    begun = replace(
        state,
        phase=RolloutPhase.RUNNING,
        step=number,
        served=0.0,
        since=now,
        message=message,
        window=Window(),
        figures={},
    )
    return Advance(begun, (Said("RolloutStep", message),))


def step_text(step: RolloutStep) -> str:
    """A step in a few words."""
    span = short_duration(step.seconds)
    if step.shadow:
        return words.beside(span)
    if step.shard is not None:
        return words.in_force_in_shard(step.shard, span)
    if not step.is_window:
        return words.in_force_all(span)
    hours = "-".join(f"{minute // 60:02d}:{minute % 60:02d}" for minute in (step.begins, step.ends))
    return words.in_force_within(hours, span)


def _ends(state: RolloutState, now: float, phase: RolloutPhase, said: Said) -> Advance:
    return Advance(replace(state, phase=phase, since=now, message=said.message, window=Window()), (said,))


def _in_force(found: Advance, now: float, spec: RolloutSpec) -> Advance:
    """The same, saying whether the candidate is in force."""
    state = found.state
    in_force = _may_be_in_force(state, now, spec)
    entered = now if in_force and not state.in_force else state.entered
    return Advance(replace(state, seen=now, in_force=in_force, entered=entered), found.says)


def _may_be_in_force(state: RolloutState, now: float, spec: RolloutSpec) -> bool:
    if state.phase is RolloutPhase.COMPLETE:
        return True
    return (
        state.phase in (RolloutPhase.RUNNING, RolloutPhase.HELD)
        and not shadows(state, spec)
        and state.alone
        and spec.steps[state.step].covers(now)
    )
