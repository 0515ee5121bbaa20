"""One tuning: a search on the first part of a trace, the smallest change with most of the gain, and a judgement on the
other part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from vsched.errors import BadInput
from vsched.lab.trace.as_recorded import match
from vsched.lab.trace.files import ClusterTrace
from vsched.lab.trace.periods import Periods
from vsched.lab.tune import judging, words
from vsched.lab.tune.objective import Objective
from vsched.lab.tune.replaying import Replayer, TracePart, replaying
from vsched.lab.tune.results import JudgedPolicy, document_of
from vsched.lab.tune.rewrite import TextChange
from vsched.lab.tune.search import Search, TrialOutcome, Tried, storage_at
from vsched.lab.tune.space import Chosen, Space
from vsched.model.amounts.durations import short_duration

Say = Callable[[str], None]
TUNED, JUDGED = "tuned", "judged"
MOST_JUDGED = 5
"""Candidates that are replayed where nothing was tuned."""


@dataclass(frozen=True)
class SearchSettings:
    """How long to search, and how."""

    trials: int
    minutes: float | None
    together: int
    processes: int
    seed: int
    bound: float
    """The part of the gain that the smallest change may go without."""
    study: Path | None
    digest: str


class Tuning:
    """A search and what follows from it."""

    def __init__(
        self, space: Space, objective: Objective, settings: SearchSettings, replayer: Replayer, say: Say
    ) -> None:
        self._space = space
        self._objective = objective
        self._settings = settings
        self._replayer = replayer
        self._say = say
        self._began = monotonic()

    # -- the search

    def search(self) -> list[Tried]:
        """All that has been tried, the policy in force first; raises BadInput where that is nothing."""
        settings = self._settings
        ends = None if settings.minutes is None else self._began + settings.minutes * 60
        found = Search(self._space, self._objective, storage_at(settings.study), settings.seed, settings.digest)
        while found.trials < settings.trials and (ends is None or monotonic() < ends):
            found.step(self._evaluate, min(settings.together, settings.trials - found.trials))
            self._report(found)
        tried = found.tried()
        if not tried:
            raise BadInput(words.NO_TRIALS)
        return tried

    def _evaluate(self, candidates: Sequence[Chosen]) -> list[TrialOutcome | None]:
        """What candidates come to where they are tuned."""
        texts = [self._space.text_if_valid(self._space.changes(chosen)) for chosen in candidates]
        found = iter(self._replayer.many(TUNED, [text for text in texts if text is not None]))
        return [None if text is None else self._outcome(next(found)) for text in texts]

    def _outcome(self, found: Periods) -> TrialOutcome:
        return TrialOutcome(judging.values_of(self._objective, found), judging.excesses(self._objective, found))

    def _report(self, search: Search) -> None:
        tried = search.tried()
        kept = [one for one in tried if one.keeps_limits]
        best = max((self.gain_of(one) for one in kept), default=0.0)
        took = monotonic() - self._began
        of, replays = self._settings.trials, self._replayer.count()
        self._say(words.progress(search.trials, of, replays, len(kept), f"{best:.1%}", took))

    def gain_of(self, tried: Tried) -> float:
        """The gain where it was tuned."""
        before = judging.values_of(self._objective, self._replayer.one(TUNED, self._space.text))
        return judging.gain_of(self._objective, before, tried.values)

    # -- what is found

    def best(self, tried: Sequence[Tried]) -> list[Tried]:
        """Those that no other one beats in all goals, limits kept; the one with the largest gain first."""
        kept = [one for one in tried if one.keeps_limits]
        less = [goal.minimize for goal in self._objective.goals]
        front = [kept[at] for at in judging.pareto([one.values for one in kept], less)]
        return sorted(front, key=lambda one: (-self.gain_of(one), one.number))

    def smallest(self, best: Tried) -> tuple[TextChange, ...]:
        """The fewest of its changes that get most of its gain."""
        self._say(words.UNDOING)
        return judging.needed(self._space.changes(best.chosen), self._gains_with, self._settings.bound)

    def _gains_with(self, several: Sequence[tuple[TextChange, ...]]) -> list[float | None]:
        texts = [self._space.text_if_valid(changes) for changes in several]
        before = self._replayer.one(TUNED, self._space.text)
        values = judging.values_of(self._objective, before)
        replays = iter(self._replayer.many(TUNED, [text for text in texts if text is not None]))
        found: list[float | None] = []
        for text in texts:
            replay = None if text is None else next(replays)
            # A limit that the best candidate keeps has to be kept.
            if replay is None or not judging.keeps_limits(self._objective, replay):
                found.append(None)
            else:
                found.append(judging.gain_of(self._objective, values, judging.values_of(self._objective, replay)))
        return found

    def judge(self, several: Sequence[tuple[TextChange, ...]]) -> list[JudgedPolicy]:
        """What these changes come to in both parts."""
        texts = [self._space.text_of(changes) for changes in several]
        tuned, judged = (self._replayer.many(part, texts) for part in (TUNED, JUDGED))
        return [JudgedPolicy(*one) for one in zip(several, texts, tuned, judged, strict=True)]

    def without_each(self, changes: tuple[TextChange, ...]) -> list[JudgedPolicy]:
        """The same for these changes without one of them, for each one."""
        return self.judge([tuple(one for one in changes if one is not change) for change in changes])


class Tuned(NamedTuple):
    """The result."""

    document: dict[str, Any]
    policies: dict[str, str]
    """Texts of policy files by name."""


def tune(
    space: Space,
    objective: Objective,
    parts: Mapping[str, TracePart],
    settings: SearchSettings,
    facts: dict[str, Any],
    say: Say,
) -> Tuned:
    """Search, find the smallest change, and judge; raises BadInput."""
    with replaying(parts, settings.processes) as replayer:
        tuning = Tuning(space, objective, settings, replayer, say)
        tried = tuning.search()
        front = tuning.best(tried)
        front = [one for one in front if space.changes(one.chosen)]
        smallest = tuning.smallest(front[0]) if front and tuning.gain_of(front[0]) > 0 else ()
        say(words.JUDGING)
        base = tuning.judge([()])[0]
        found = tuning.judge([space.changes(one.chosen) for one in front[:MOST_JUDGED]])
        last = tuning.judge([smallest])[0]
        without = tuning.without_each(smallest)
    judged = list(zip(front, found, strict=False))
    document = document_of(objective, settings.seed, base, tried, judged, last, without, facts["policy"])
    recorded = {
        name: matching(part.trace, found)
        for (name, part), (_, found) in zip(parts.items(), base.parts(), strict=True)
        if part.trace.really
    }
    return Tuned(
        facts | document | {"recorded": recorded, "cannot_know": _cannot_know(facts["trace"], recorded)},
        {"smallest": last.text} | {f"candidate-{one.number}": at.text for one, at in judged},
    )


def matching(trace: ClusterTrace, found: Periods) -> dict[str, Any]:
    """How well the measured waits of a replay match what really happened."""
    jobs = found.jobs
    waits = {
        name: wait for name, wait, started in zip(jobs.names, jobs.waits.tolist(), jobs.started, strict=True) if started
    }
    return match(trace, waits)


def _cannot_know(trace: dict[str, Any], recorded: dict[str, dict[str, Any]]) -> list[str]:
    """What the result does not say, and how well a replay of the policy in force matches what happened."""
    real = [_matches(name, each) for name, each in recorded.items()] or [words.NO_REAL_STARTS]
    return [*real, *trace.get("notes", ()), words.HABITS, words.RUN_TIMES]


def _matches(part: str, found: dict[str, Any]) -> str:
    recorded, replayed = (short_duration(found["mean_wait_seconds"][name]) for name in ("recorded", "replayed"))
    return words.matches(part, found["jobs"], found["as_recorded"], recorded, replayed)
