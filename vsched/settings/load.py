"""A policy file to Settings, or one error that lists everything that is wrong with it.

Reads once and keeps nothing; watching the file is the daemon's business.
"""

from __future__ import annotations

from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import inspect as kinds

from vsched.errors import BadPolicy
from vsched.framework.policy import NO_AUTOSCALING, Autoscaling, Policy
from vsched.framework.registry import Registry
from vsched.settings.actions import check_victims, read_actions, read_configurations
from vsched.settings.manifest import embedded_policy, is_manifest
from vsched.settings.metrics import MetricsSource, read_metrics
from vsched.settings.reach import ANYTHING, Reach
from vsched.settings.reading.arguments import read_arguments
from vsched.settings.reading.problems import Problems, did_you_mean
from vsched.settings.reading.scalars import read_scalar
from vsched.settings.reading.tree import Keyed, MappingEntry, got, parse
from vsched.settings.settings import Settings
from vsched.settings.tiers import read_tiers
from vsched.settings.words import policy as words

BUILT_IN = "built-in"
MOST_BYTES = 256 * 1024
_KEYS = ("actions", "tiers", "configurations", "metrics", "schedulePeriod", "autoscaling")
_PERIOD = kinds.type_info(Annotated[float, msgspec.Meta(gt=0, le=3600, extra={"duration": True})])


def load_text(
    text: str, where: str, registry: Registry, *, generation: int = 1, reach: Reach = ANYTHING, key: str = ""
) -> Settings:
    """Parse the text of a policy, or of a ConfigMap that has one at this key, or just one.

    Raises BadPolicy with one line for every problem.
    """
    return _load(text, where, registry, sha256(text.encode()).hexdigest(), generation, reach, key)


def load_file(path: str | Path, registry: Registry, *, generation: int = 1, reach: Reach = ANYTHING) -> Settings:
    """The settings of a file; raises BadPolicy, also if the file cannot be read."""
    where = str(path)
    raw = read_file(where)
    return _load(text_of(raw, where), where, registry, sha256(raw).hexdigest(), generation, reach)


def read_file(where: str) -> bytes:
    """What a file holds, as far as it may be a policy; raises BadPolicy."""
    try:
        with Path(where).open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadPolicy([words.cannot_be_read(where, error.strerror or error)]) from error


def text_of(raw: bytes, where: str) -> str:
    """The text that a file or a pipe held; raises BadPolicy."""
    if len(raw) > MOST_BYTES:
        raise BadPolicy([words.too_large(where, MOST_BYTES // 1024)])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise BadPolicy([f"{where}:{line}: not UTF-8: byte 0x{raw[error.start]:02x}"]) from error


def default_text() -> str:
    """The built-in policy's own file."""
    return resources.files("vsched.settings").joinpath("default.yaml").read_text(encoding="utf-8")


def default_settings(registry: Registry) -> Settings:
    """The settings without a policy file."""
    return load_text(default_text(), BUILT_IN, registry)


class Examined(NamedTuple):
    """What is to be said of a policy, good or not: one line each, with place and path."""

    problems: tuple[str, ...]
    """What makes it unusable."""
    warnings: tuple[str, ...] = ()
    no_effect: tuple[str, ...] = ()


def examine(text: str, where: str, registry: Registry) -> Examined:
    """All that is wrong with the text of a policy and all that has no effect in it; raises nothing."""
    problems = Problems(where)
    try:
        _read(text, registry, ANYTHING, problems)
    except BadPolicy as error:
        return Examined(tuple(error.problems))
    found = tuple(problems.error().problems) if len(problems) else ()
    return Examined(found, problems.warnings(), problems.no_effect())


def _load(
    text: str, where: str, registry: Registry, digest: str, generation: int, reach: Reach, key: str = ""
) -> Settings:
    problems = Problems(where)
    policy, metrics, period_seconds = _read(text, registry, reach, problems, key)
    problems.raise_if_any()
    return Settings(
        policy=policy,
        metrics=metrics,
        period_seconds=period_seconds,
        source=where,
        sha256=digest,
        generation=generation,
        warnings=problems.warnings(),
        no_effect=problems.no_effect(),
    )


def _read(
    text: str, registry: Registry, reach: Reach, problems: Problems, key: str = ""
) -> tuple[Policy, MetricsSource | None, float | None]:
    """The parts of a policy; what is wrong is among the problems. Raises BadPolicy where there is no policy at all."""
    root = _policy_mapping(text, problems, key)
    for entry in root.entries:
        if entry.key not in _KEYS:
            problems.add(entry.line, entry.key, f"unknown key{did_you_mean(entry.key, _KEYS)}")
    policy = Policy(read_actions(root, registry, problems), read_tiers(root, registry, problems))
    check_victims(policy, root, registry, problems)
    action_args = read_configurations(root.get("configurations"), policy, registry, problems)
    autoscaling = _read_autoscaling(root.get("autoscaling"), problems)
    policy = msgspec.structs.replace(policy, action_args=action_args, autoscaling=autoscaling)
    metrics = read_metrics(root.get("metrics"), problems, reach.problems)
    return policy, metrics, _read_period(root.get("schedulePeriod"), problems)


def _read_autoscaling(entry: MappingEntry | None, problems: Problems) -> Autoscaling:
    if entry is None:
        return NO_AUTOSCALING
    found = read_arguments(entry.value, Autoscaling, "autoscaling", entry.line, problems)
    return found if isinstance(found, Autoscaling) else NO_AUTOSCALING


def _read_period(entry: MappingEntry | None, problems: Problems) -> float | None:
    if entry is None:
        return None
    value = read_scalar(entry.value, _PERIOD, "schedulePeriod", problems)
    return value if isinstance(value, float) else None


def _policy_mapping(text: str, problems: Problems, key: str) -> Keyed:
    """The top of the policy, out of its ConfigMap if it is in one; raises where there is none."""
    root = parse(text, problems)
    if isinstance(root, Keyed) and is_manifest(root):
        embedded = embedded_policy(root, problems, key)
        root = parse(embedded.text, problems, embedded.line_of) if embedded else None
    if root is None:
        raise problems.error()
    if not isinstance(root, Keyed):
        problems.add(root.line, "", words.mapping_expected(got(root)))
        raise problems.error()
    return root
