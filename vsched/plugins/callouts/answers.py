"""Answers of an extender about nodes: first it is asked about all nodes, then only about nodes that changed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.model.nodes.table import Floats, Ids
from vsched.model.pods.shape import PodLabels
from vsched.plugins.callouts.payloads import CalloutVerdict
from vsched.plugins.words import nodes

KINDS_MAX = 256
"""The most kinds of pods in the cache; the oldest is dropped first. At 5,000 nodes, each takes at most 40 KB."""

REASONS_MAX = 8
"""The most distinct reasons for one kind of pod; more would slow down each choice of a node."""
MESSAGE_MAX = 200
"""The longest reason, in characters."""
CURABLE = 2
"""Volcano's code for a refusal that evicting pods could cure."""

NUMBERING = frozenset(
    {
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
        "statefulset.kubernetes.io/pod-name",
        "volcano.sh/task-index",
    }
)
"""Labels that only number the pods of a workload; the extender is asked once about pods that differ only in these."""


def unnumbered(labels: PodLabels) -> PodLabels:
    """The labels without those that only number pods: what pods of one kind share."""
    return PodLabels(labels.namespace, tuple(pair for pair in labels.pairs if pair[0] not in NUMBERING))


class Verdicts:
    """Which nodes the extender refuses for one kind of pod, and why."""

    def __init__(self, nodes: int) -> None:
        self._codes: Ids = np.zeros(nodes, dtype=np.int32)
        """int32[nodes]: 0 where the node passes, else 1 + the position of its reason."""
        self._reasons: dict[tuple[str, bool], int] = {}
        self._checks: tuple[Check, ...] | None = None

    def set(self, row: int, verdict: CalloutVerdict | None) -> None:
        """Set the verdict on one node; None means that it passes."""
        self._checks = None
        self._codes[row] = 0 if verdict is None or not verdict.error_message else self._code(verdict)

    def checks(self) -> Sequence[Check]:
        """One check for each reason that some node fails."""
        if self._checks is None:
            failed = ((reason, self._codes == code) for reason, code in self._reasons.items())
            self._checks = tuple(
                Check(text, ~rows, resolvable, Code.REFUSED) for (text, resolvable), rows in failed if rows.any()
            )
        return self._checks

    def _code(self, verdict: CalloutVerdict) -> int:
        resolvable = verdict.code == CURABLE
        reason = (" ".join(verdict.error_message.split())[:MESSAGE_MAX], resolvable)
        if reason not in self._reasons and len(self._reasons) >= REASONS_MAX:
            reason = (nodes.OTHER_REASON, resolvable)
        return self._reasons.setdefault(reason, len(self._reasons) + 1)


class Scores:
    """The extender's scores of nodes for one kind of pod."""

    def __init__(self, nodes: int) -> None:
        self.values: Floats = np.zeros(nodes)

    def set(self, row: int, score: float | None) -> None:
        """Set the score of one node; None means 0."""
        self.values[row] = score or 0.0


AnswersT = TypeVar("AnswersT")


class NodeAnswers(Generic[AnswersT]):
    """Answers by kind of pod; brought up to date when they are needed."""

    def __init__(self, nodes: int, moved: Sequence[int], make: Callable[[int], AnswersT]) -> None:
        self._nodes = nodes
        self._moved = moved
        self._make = make
        self._kinds: dict[Hashable, tuple[AnswersT, int]] = {}
        """The answers, and how many entries of ``moved`` they include."""

    def of(self, kind: Hashable, ask: Callable[[AnswersT, Sequence[int]], None]) -> AnswersT:
        """The answers for a kind of pod; ``ask`` fills in the rows that are missing or out of date."""
        known = self._kinds.get(kind)
        position = len(self._moved)
        if known is not None and known[1] == position:
            return known[0]
        if known is None:
            if len(self._kinds) >= KINDS_MAX:
                del self._kinds[next(iter(self._kinds))]
            answers, rows = self._make(self._nodes), list(range(self._nodes))
        else:
            answers, rows = known[0], sorted(set(self._moved[known[1] :]))
        if rows:
            ask(answers, rows)
        self._kinds[kind] = (answers, position)
        return answers
