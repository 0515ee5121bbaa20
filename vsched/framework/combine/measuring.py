"""Measures the time of each plugin in a cycle: wraps every extension point function of the plugin in a timer."""

from __future__ import annotations

from typing import Any

from vsched.framework.combine.agreeing import Voter
from vsched.framework.points.extension import Plugin, Point
from vsched.framework.points.victims import Purpose, VictimVotes, Votes
from vsched.framework.trace import Trace
from vsched.model.pods.task import Task


def measure(plugin: Plugin[Any], trace: Trace) -> list[str]:
    """Wrap every extension point function of the plugin object in a timer; returns the names of these functions."""
    points = [base for base in type(plugin).__mro__ if issubclass(base, Point) and base is not Point]
    names = {name for base in points for name in vars(base) if not name.startswith("_") and name != "point"}
    questions = [name for name in sorted(names) if callable(getattr(plugin, name, None))]
    for name in questions:
        setattr(plugin, name, trace.wrap(plugin.name, getattr(plugin, name)))
    if isinstance(plugin, VictimVotes):
        setattr(plugin, "victim_votes", _measured_votes(plugin.name, plugin.victim_votes, trace))  # noqa: B010
    return questions


def _measured_votes(name: str, ask: Voter, trace: Trace) -> Voter:
    """The same victim votes, with a timer around the functions that they carry."""

    def measured(evictor: Task, purpose: Purpose) -> Votes | None:
        votes = ask(evictor, purpose)
        if votes is None:
            return None
        regains = None if votes.regains is None else trace.wrap(name, votes.regains)
        keeping = None if votes.agreed_keeping is None else trace.wrap(name, votes.agreed_keeping)
        agreed, rules_out = trace.wrap(name, votes.agreed), trace.wrap(name, votes.rules_out)
        return votes._replace(agreed=agreed, rules_out=rules_out, regains=regains, agreed_keeping=keeping)

    return measured
