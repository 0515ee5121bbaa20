"""The rollout of a policy: which candidate, in which steps, within which limits. Read from its text, with its lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, NamedTuple

import msgspec
from msgspec import inspect as kinds

from vsched.model.amounts.durations import parse_duration
from vsched.settings.manifest import data_of, embedded, is_manifest
from vsched.settings.reading.problems import Problems, did_you_mean
from vsched.settings.reading.scalars import INVALID, boolean, read_scalar
from vsched.settings.reading.tree import Keyed, Listed, MappingEntry, Node, Scalar, got, parse
from vsched.settings.words import rollout as words
from vsched.words import TRUE_OR_FALSE

KEY = "rollout"
"""The key of the policy's ConfigMap."""
MOST_STEPS = 20
_DAY_MINUTES = 24 * 60
_KEYS = ("candidate", "baseline", "steps", "limits", "takeBack")
_SECONDS = kinds.type_info(Annotated[float, msgspec.Meta(gt=0, le=90 * 86400, extra={"duration": True})])
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")
_LIMIT = re.compile(r"<= *([0-9.]{1,12}[a-zµ0-9.]{0,20})")
_OF_MEASURED = re.compile(r"<= *([0-9]{1,6}(?:\.[0-9]{1,3})?) *% of (baseline|predicted)")
_SHARD = re.compile(r"0|[1-9][0-9]{0,3}")
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,3})?")


class Measure(StrEnum):
    """What may be limited."""

    EVICTIONS = words.EVICTIONS_PER_HOUR
    """Pods that were evicted within the last hour."""
    IN_VAIN = words.EVICTIONS_IN_VAIN
    """Evictions within the last hour for pods that were not placed afterwards, although there was room."""
    WAIT = "wait p95"
    """From the creation of a pod until its binding; pods that are still waiting count with their age."""
    SESSION = "session p99"
    """The duration of a session."""

    @property
    def in_shadow(self) -> bool:
        """Whether it is measured of a candidate whose decisions are not carried out."""
        return self in (Measure.EVICTIONS, Measure.SESSION)

    @property
    def counts(self) -> bool:
        """Whether it is a number; else it is in seconds."""
        return self in (Measure.EVICTIONS, Measure.IN_VAIN)


class LimitReference(StrEnum):
    """What a limit may be a share of."""

    BASELINE = "baseline"
    PREDICTED = "predicted"
    """What the shadow step before has measured."""


class Limit(msgspec.Struct, frozen=True):
    """The most that a figure may be."""

    measure: Measure
    most: float
    """A number or seconds; a factor of ``of``, where that is given."""
    of: LimitReference | None = None

    def holds_in(self, step: RolloutStep) -> bool:
        """Whether a step is judged by it."""
        return not step.shadow or (self.measure.in_shadow and self.of is not LimitReference.PREDICTED)


class RolloutStep(msgspec.Struct, frozen=True):
    """For how long the candidate is in force, and in which hours."""

    seconds: float
    """Of time in force."""
    begins: int = 0
    """Minute of the day, UTC."""
    ends: int = _DAY_MINUTES
    shadow: bool = False
    """Whether the candidate is not in force, and only decides beside the policy that is."""
    shard: int | None = None
    """The shard that it is in force in, from 0; None for all."""

    @property
    def is_window(self) -> bool:
        """Whether it is in force in certain hours only."""
        return (self.begins, self.ends) != (0, _DAY_MINUTES)

    def covers(self, now: float) -> bool:
        """Whether the candidate may be in force at this time, in seconds since the epoch."""
        minute = now % 86400 / 60
        if self.begins < self.ends:
            return self.begins <= minute < self.ends
        return minute >= self.begins or minute < self.ends


class RolloutSpec(msgspec.Struct, frozen=True):
    """A rollout as it is asked for."""

    candidate: str
    """The key of the ConfigMap that has the candidate."""
    steps: tuple[RolloutStep, ...]
    limits: tuple[Limit, ...]
    take_back: bool = True
    """Whether a broken limit takes the candidate back; else its step is held."""
    baseline_seconds: float = 3600.0
    """How long the policy in force is measured before the first step, where a limit refers to it."""

    @property
    def shard(self) -> int | None:
        """The shard whose daemon carries it out; None for the daemon that decides for the whole cluster."""
        return next((step.shard for step in self.steps if step.shard is not None), None)

    @property
    def refers_to_baseline(self) -> bool:
        """Whether a limit does."""
        return any(limit.of is LimitReference.BASELINE for limit in self.limits)


class RolloutMap(NamedTuple):
    """A ConfigMap with a policy and its rollout."""

    own: str
    """The key of the policy that is in force without the rollout."""
    spec: RolloutSpec


def rollout_map(text: str, where: str) -> RolloutMap | None:
    """What a manifest says of a rollout; None where it is no ConfigMap with one. Raises BadPolicy."""
    problems = Problems(where)
    root = parse(text, problems)
    if not isinstance(root, Keyed) or not is_manifest(root):
        return None
    entries = {entry.key: entry for entry in data_of(root)}
    entry = entries.pop(KEY, None)
    if entry is None or not isinstance(entry.value, Scalar):
        return None
    found = embedded(entry.value)
    spec = read_rollout(found.text, where, found.line_of)
    entries.pop(spec.candidate, None)
    if len(entries) != 1:
        problems.add(entry.line, "data", words.one_policy_beside(spec.candidate, ", ".join(entries) or "none"))
        raise problems.error()
    return RolloutMap(next(iter(entries)), spec)


def read_rollout(
    text: str, where: str, line_of: Callable[[int], int] = lambda line: line, shards: int | None = None
) -> RolloutSpec:
    """The rollout that a text asks for; raises BadPolicy with one line for every problem.

    ``line_of`` maps a line of it to the line that people see. ``shards`` is how many there are, where it is known.
    """
    problems = Problems(where)
    root = parse(text, problems, line_of, what=words.WHAT, holds=words.HOLDS)
    if root is None:
        raise problems.error()
    if not isinstance(root, Keyed):
        problems.add(root.line, "", words.expected(words.HOLDS, got(root)))
        raise problems.error()
    _known(root, _KEYS, "", problems)
    steps = _steps(root, shards, problems)
    spec = RolloutSpec(
        _candidate(root, problems),
        steps,
        _limits(root, predicts=bool(steps) and steps[0].shadow, problems=problems),
        _take_back(root.get("takeBack"), problems),
        _seconds(root.get("baseline"), "baseline", problems, 3600.0),
    )
    problems.raise_if_any()
    return spec


def _known(node: Keyed, known: tuple[str, ...], path: str, problems: Problems) -> None:
    for entry in node.entries:
        if entry.key not in known:
            problems.add(entry.line, path + entry.key, words.unknown_key(did_you_mean(entry.key, known)))


def _candidate(root: Keyed, problems: Problems) -> str:
    entry = root.get("candidate")
    if entry is not None and isinstance(entry.value, Scalar) and entry.value.text:
        return entry.value.text
    problems.add(*_at(root, entry), "candidate", words.expected(words.CANDIDATE, _got(entry)))
    return ""


def _at(root: Keyed, entry: MappingEntry | None) -> tuple[int]:
    return (root.line if entry is None else entry.line,)


def _got(entry: MappingEntry | None) -> str:
    return "nothing" if entry is None else got(entry.value)


def _steps(root: Keyed, shards: int | None, problems: Problems) -> tuple[RolloutStep, ...]:
    entry = root.get("steps")
    if entry is None or not isinstance(entry.value, Listed) or not 1 <= len(entry.value.items) <= MOST_STEPS:
        problems.add(*_at(root, entry), "steps", words.steps_expected(MOST_STEPS, _got(entry)))
        return ()
    steps = tuple(_step(node, f"steps[{at}]", problems) for at, node in enumerate(entry.value.items))
    shard = RolloutSpec("", steps, ()).shard
    if shard is None and shards is not None and shards > 1:
        problems.add(entry.line, "steps", words.no_shard(shards))
    for at, (node, step) in enumerate(zip(entry.value.items, steps, strict=True)):
        if shard is None or step.shadow:
            continue
        if step.shard is None:
            problems.add(node.line, f"steps[{at}]", words.beside_shard(shard))
        elif step.shard != shard:
            problems.add(node.line, f"steps[{at}].shard", words.another_shard(shard, step.shard))
        elif shards == 1:
            problems.add(node.line, f"steps[{at}].shard", words.WITHOUT_SHARDS)
        elif shards is not None and shard >= shards:
            problems.add(node.line, f"steps[{at}].shard", words.no_such_shard(shards, shard))
    return steps


_NO_STEP = RolloutStep(1.0)


def _step(node: Node, path: str, problems: Problems) -> RolloutStep:
    kinds_of = {"shadow", "all", "window", "shard"}
    if not isinstance(node, Keyed) or len(kinds_of & {entry.key for entry in node.entries}) != 1:
        problems.add(node.line, path, words.expected(words.STEP, got(node)))
        return _NO_STEP
    part = node.get("window") or node.get("shard")
    if part is None:
        key = "all" if node.get("all") is not None else "shadow"
        _known(node, (key,), f"{path}.", problems)
        return RolloutStep(_seconds(node.get(key), f"{path}.{key}", problems, 1.0), shadow=key == "shadow")
    _known(node, (part.key, "for"), f"{path}.", problems)
    length = node.get("for")
    if length is None:
        problems.add(node.line, path, words.without_length("for"))
    seconds = _seconds(length, f"{path}.for", problems, 1.0)
    if part.key == "shard":
        return RolloutStep(seconds, shard=_shard(part.value, f"{path}.shard", problems))
    return RolloutStep(seconds, *_window(part.value, f"{path}.window", problems))


def _shard(node: Node, path: str, problems: Problems) -> int | None:
    found = _SHARD.fullmatch(node.text) if isinstance(node, Scalar) else None
    if found is None:
        problems.add(node.line, path, words.expected(words.SHARD, got(node)))
    return None if found is None else int(found[0])


def _window(node: Node, path: str, problems: Problems) -> tuple[int, int]:
    found = _CLOCK.fullmatch(node.text) if isinstance(node, Scalar) else None
    if found is None:
        problems.add(node.line, path, words.expected(words.WINDOW, got(node)))
        return 0, _DAY_MINUTES
    hour, minute, end_hour, end_minute = map(int, found.groups())
    begins, ends = hour * 60 + minute, end_hour * 60 + end_minute
    if begins == ends:
        problems.add(node.line, path, words.expected(words.EMPTY_WINDOW, got(node)))
    return begins, ends


def _seconds(entry: MappingEntry | None, path: str, problems: Problems, default: float) -> float:
    if entry is None:
        return default
    found = read_scalar(entry.value, _SECONDS, path, problems)
    return default if found is INVALID else float(str(found))


def _take_back(entry: MappingEntry | None, problems: Problems) -> bool:
    if entry is None:
        return True
    found = boolean(entry.value) if isinstance(entry.value, Scalar) else INVALID
    if found is INVALID:
        problems.add(entry.line, "takeBack", words.expected(TRUE_OR_FALSE, got(entry.value)))
    return found is not False


def _limits(root: Keyed, *, predicts: bool, problems: Problems) -> tuple[Limit, ...]:
    entry = root.get("limits")
    if entry is None or not isinstance(entry.value, Keyed) or not entry.value.entries:
        problems.add(*_at(root, entry), "limits", words.expected(words.NO_LIMIT, _got(entry)))
        return ()
    limits = []
    for each in entry.value.entries:
        limit = _limit(each, problems)
        if limit is None:
            continue
        if limit.of is LimitReference.PREDICTED and not (predicts and limit.measure.in_shadow):
            problems.add(each.line, f"limits.{each.key}", words.NOT_PREDICTED)
        else:
            limits.append(limit)
    return tuple(limits)


def _limit(entry: MappingEntry, problems: Problems) -> Limit | None:
    path = f"limits.{entry.key}"
    known = [measure.value for measure in Measure]
    if entry.key not in known:
        problems.add(entry.line, path, words.unknown_measure(", ".join(known), did_you_mean(entry.key, known)))
        return None
    measure = Measure(entry.key)
    text = entry.value.text.strip() if isinstance(entry.value, Scalar) else ""
    percent, plain = _OF_MEASURED.fullmatch(text), _LIMIT.fullmatch(text)
    if percent is not None:
        return Limit(measure, float(percent[1]) / 100, LimitReference(percent[2]))
    if plain is not None and measure.counts and _NUMBER.fullmatch(plain[1]):
        return Limit(measure, float(plain[1]))
    seconds = parse_duration(plain[1]) if plain is not None and not measure.counts else None
    if seconds is not None:
        return Limit(measure, seconds)
    what = words.COUNT if measure.counts else words.SPAN
    problems.add(entry.line, path, words.expected(what, got(entry.value)))
    return None
