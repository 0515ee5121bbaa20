"""The search: Optuna proposes candidates, several at a time, and hears what became of them.

How many are proposed at a time is fixed, and so is the seed of each proposal. So the search comes to the same however
many processes replay the candidates, and where it is stopped and resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
import optuna
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from vsched.errors import BadInput
from vsched.lab.tune import words
from vsched.lab.tune.objective import Objective
from vsched.lab.tune.space import Chosen, Dimension, Space

STUDY = "vsched tune"
DIGEST, REFUSED = "digest", "refused"
STARTUP = 10
"""Candidates by chance before the search learns from them."""


class Tried(NamedTuple):
    """A candidate and what became of it where it was tuned."""

    number: int
    chosen: Chosen
    values: tuple[float, ...]
    """Of the goals."""
    excesses: tuple[float, ...]
    """Of the limits."""

    @property
    def keeps_limits(self) -> bool:
        """Whether it keeps all limits."""
        return all(excess <= 0 for excess in self.excesses)


class TrialOutcome(NamedTuple):
    """What a candidate comes to."""

    values: Sequence[float]
    excesses: Sequence[float]


Evaluate = Callable[[Sequence[Chosen]], list[TrialOutcome | None]]
"""What becomes of candidates; None for one that the loader does not take."""


def digest_of(*parts: object) -> str:
    """What a study is about, so that it is not resumed with something else."""
    return sha256("\0".join(map(str, parts)).encode()).hexdigest()


class Search:
    """A study of a space."""

    def __init__(self, space: Space, objective: Objective, storage: BaseStorage, seed: int, digest: str) -> None:
        """Resumes what the storage has; raises BadInput where that is about something else."""
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space = space
        self._seed = seed
        directions = [StudyDirection.MINIMIZE if goal.minimize else StudyDirection.MAXIMIZE for goal in objective.goals]
        self._limits = len(objective.limits)
        self._study = optuna.create_study(
            storage=storage, study_name=STUDY, directions=directions, load_if_exists=True, sampler=self._sampler(0)
        )
        known = self._study.user_attrs.get(DIGEST)
        if known is None:
            self._study.set_user_attr(DIGEST, digest)
        elif known != digest:
            raise BadInput(words.OTHER_STUDY)
        for trial in self._study.get_trials(states=(TrialState.RUNNING,)):
            self._study.tell(trial.number, state=TrialState.FAIL)  # it was under way when the search was stopped
        if not self.trials:
            self._study.enqueue_trial({one.name: one.in_force for one in space.dimensions}, skip_if_exists=True)

    @property
    def trials(self) -> int:
        """Candidates of which was told what became of them."""
        trials = self._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.FAIL))
        return sum(trial.state is TrialState.COMPLETE or REFUSED in trial.user_attrs for trial in trials)

    def step(self, evaluate: Evaluate, together: int) -> None:
        """Propose so many candidates, and tell what becomes of them."""
        self._study.sampler = self._sampler(self.trials)
        asked = [self._study.ask() for _ in range(together)]
        found = evaluate([self._chosen(trial) for trial in asked])
        for trial, outcome in zip(asked, found, strict=True):
            if outcome is None:
                trial.set_user_attr(REFUSED, True)
                self._study.tell(trial, state=TrialState.FAIL)
                continue
            for number, excess in enumerate(outcome.excesses):
                trial.set_constraint(f"limit {number}", excess)
            trial.set_user_attr("excesses", [*outcome.excesses])
            self._study.tell(trial, [*outcome.values])

    def tried(self) -> list[Tried]:
        """All candidates that have been measured, in the order of the search; each once."""
        found: dict[tuple[tuple[str, int], ...], Tried] = {}
        for trial in self._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
            found.setdefault(tuple(sorted(trial.params.items())), _tried(trial))
        return [*found.values()]

    def _sampler(self, told: int) -> optuna.samplers.BaseSampler:
        """A sampler for the next proposals: the same after a pause as without one."""
        seed = int(np.random.SeedSequence([self._seed, told]).generate_state(1)[0])
        return optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP)

    def _chosen(self, trial: optuna.Trial) -> dict[str, int]:
        chosen: dict[str, int] = {}
        for dimension in sorted(self._space.dimensions, key=lambda one: one.kind == "argument"):
            if self._space.asks(dimension, chosen):
                chosen[dimension.name] = _suggested(trial, dimension)
        return chosen


def _suggested(trial: optuna.Trial, dimension: Dimension) -> int:
    if dimension.ordered:
        return trial.suggest_int(dimension.name, 0, len(dimension.values) - 1)
    return int(trial.suggest_categorical(dimension.name, [*range(len(dimension.values))]))


def _tried(trial: FrozenTrial) -> Tried:
    return Tried(trial.number, dict(trial.params), tuple(trial.values), tuple(trial.user_attrs["excesses"]))


def storage_at(path: Path | None) -> BaseStorage:
    """Where a study is kept: a file that it can be resumed from, or memory; raises BadInput."""
    if path is None:
        return InMemoryStorage()
    try:
        return JournalStorage(JournalFileBackend(str(path)))
    except (OSError, ValueError) as error:
        raise BadInput(words.study_cannot_be_used(path, getattr(error, "strerror", None) or words.NO_STUDY)) from None
