"""Makes recordings of sessions, replays them, and anonymises them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from traceback import extract_tb
from typing import Any, NamedTuple

import msgspec
import yaml

from vsched.cel.devices import DeviceView, attribute_version, device_expression
from vsched.cel.errors import NotCompiled, NotEvaluated
from vsched.errors import UNREADABLE
from vsched.framework.answers import Repeating
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.kernels.topology.patterns import without_patterns
from vsched.model.anonymous.names import Pseudonyms, anonymised
from vsched.model.anonymous.rules import Renaming
from vsched.model.anonymous.snapshot import renamed_snapshot
from vsched.model.claims.devices import DeviceModel, Version
from vsched.model.claims.plan import ClaimPlan
from vsched.model.dump.cycle import ASKED, ExternalCall, Recording, RecordingHead, report_bytes
from vsched.model.plan import CycleReport
from vsched.settings import load_text
from vsched.settings.document import policy_document
from vsched.version import build
from vsched.web.snapshots import FrozenSnapshot
from vsched.web.words import answers as answers_words

NOBODY = "http://extender.invalid"
"""Replaces the address of an extender."""
MOST_CHARACTERS = 500
"""The longest text of an error."""


class Whose(NamedTuple):
    """Options of a daemon that a recording contains."""

    scheduler_names: tuple[str, ...] = ()
    default_queue: str = "default"
    decides: bool = True
    """Whether it places pods; otherwise there is nothing to record."""


def recording_of(
    frozen: FrozenSnapshot, whose: Whose, *, why: str = ASKED, says: str = "", error: str = ""
) -> Recording:
    """A session as a recording; without a report if it ended in an error."""
    found = build()
    head = RecordingHead(
        number=frozen.number,
        at=frozen.snapshot.now,
        version=found.version,
        commit=found.commit,
        why=why,
        says=says,
        error=error,
        scheduler_names=whose.scheduler_names,
        default_queue=whose.default_queue,
        unrecorded=frozen.unrecorded,
    )
    report = None if error else frozen.report
    return Recording(frozen.snapshot, text_of(frozen.policy), report, head, frozen.calls)


def text_of(policy: Policy) -> str:
    """A policy file that loads as this policy, without its secrets."""
    document = policy_document(policy, None, show_secrets=False)
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def policy_of(recording: Recording, registry: Registry) -> Policy:
    """The policy of a recording; raises BadPolicy where this version does not accept it."""
    return load_text(recording.policy, answers_words.POLICY_OF_RECORDING, registry).policy


def error_text(error: Exception) -> str:
    """An error in one line: its class, its message, and where it was raised."""
    frames = extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename.rpartition('vsched/')[2]}:{frames[-1].lineno})" if frames else ""
    words = " ".join(str(error).split())[:MOST_CHARACTERS]
    return f"{type(error).__name__}: {words}{where}"


class Replay(NamedTuple):
    """The result of a replayed cycle."""

    report: CycleReport
    unknown: int
    """Calls to external services that the recording does not have; they count as not answered."""


def replay(recording: Recording, policy: Policy, registry: Registry, trace: Trace | None = None) -> Replay:
    """Run the cycle again by this policy; external services are not called."""
    answers = Repeating(recording.calls)
    report = run_cycle(recording.snapshot, policy, registry, trace, answers)
    return Replay(report, answers.unknown)


# -- anonymous ------------------------------------------------------------------------------------------------------


def anonymous(recording: Recording, registry: Registry) -> Recording:
    """The recording with pseudonyms, and the decisions under them.

    The cycle is run again under the pseudonyms, up to twice, to get its messages. If the decisions differ from those
    of the recording, the head of the result says so.
    """

    snapshot = recording.snapshot
    # A pattern says what names look like. The names that it is found in say as much to a cycle.
    spelt_out = without_patterns(snapshot.topology, snapshot.nodes.statics)
    recording = replace(recording, snapshot=replace(snapshot, topology=spelt_out))

    def under(names: Pseudonyms) -> tuple[Recording, CycleReport | None]:
        renaming = Renaming(names)
        made = replace(
            recording,
            snapshot=renamed_snapshot(renaming, recording.snapshot, selects),
            policy=_renamed_policy(recording, registry, names),
            calls=tuple(_renamed_call(call, names) for call in recording.calls),
            head=_renamed_head(recording.head, names),
        )
        decided = recording.report
        return made, None if decided is None else renaming.record(decided)

    renamed, expected = anonymised(under)
    if recording.report is None or expected is None:
        return renamed
    policy = policy_of(renamed, registry)
    report = replay(renamed, policy, registry).report
    settled = _with_conditions(renamed, _settled(recording, recording.report), report)
    if settled is not renamed:
        renamed, report = settled, replay(settled, policy, registry).report
    if report_bytes(without_words(report)) != report_bytes(without_words(expected)):
        renamed = replace(renamed, head=msgspec.structs.replace(renamed.head, says=answers_words.DIFFERS))
    return replace(renamed, report=report)


def selects(expression: str, model: DeviceModel) -> bool | None:
    """Whether a selector holds for a device; None where it cannot be evaluated."""
    attributes = {
        name: attribute_version(value.text) if isinstance(value, Version) else value for name, value in model.attributes
    }
    seen = DeviceView(model.driver, attributes, dict(model.capacity), model.shareable)
    try:
        return device_expression(expression).matches(seen)
    except (NotCompiled, NotEvaluated):
        return None


def without_words(report: CycleReport) -> CycleReport:
    """The decisions without messages, which contain names, and without names that are made of uids."""
    jobs = {
        key: msgspec.structs.replace(
            job,
            message="",
            reasons={},
            conditions=tuple(msgspec.structs.replace(one, message="") for one in job.conditions),
        )
        for key, job in report.jobs.items()
    }
    pods = {key: msgspec.structs.replace(pod, message="", reasons={}) for key, pod in report.unschedulable.items()}
    queues = {name: msgspec.structs.replace(queue, problem="") for name, queue in report.queues.items()}
    binds = tuple(msgspec.structs.replace(one, claims=_without_shares(one.claims)) for one in report.binds)
    released = tuple(msgspec.structs.replace(one, reason="") for one in report.released)
    return msgspec.structs.replace(report, jobs=jobs, unschedulable=pods, queues=queues, released=released, binds=binds)


def _without_shares(plan: ClaimPlan | None) -> ClaimPlan | None:
    """What is decided about claims, without the names of shares of devices: they are made of uids."""
    if plan is None or not plan.devices:
        return plan
    with_ = msgspec.structs.replace
    choices = []
    for choice in plan.devices:
        devices = tuple(with_(one, share="") for one in choice.allocation.devices)
        choices.append(with_(choice, allocation=with_(choice.allocation, devices=devices)))
    return with_(plan, devices=tuple(choices))


def _settled(recording: Recording, report: CycleReport) -> list[bool]:
    """For each job in order, whether its object already has the conditions that the cycle decided."""
    outcomes, jobs = report.jobs, recording.snapshot.jobs
    return [
        key in outcomes and bool(job.spec.conditions) and outcomes[key].conditions == job.spec.conditions
        for key, job in jobs.items()
    ]


def _with_conditions(renamed: Recording, settled: list[bool], report: CycleReport) -> Recording:
    """Give such objects the conditions under the pseudonyms, too."""
    if not any(settled):
        return renamed
    jobs = dict(renamed.snapshot.jobs)
    for (key, job), is_settled in zip(renamed.snapshot.jobs.items(), settled, strict=True):
        if is_settled and key in report.jobs:
            jobs[key] = again = job.clone()
            again.spec = msgspec.structs.replace(job.spec, conditions=report.jobs[key].conditions)
            again.frozen = True
    holders = {queue: {key: jobs[key] for key in held} for queue, held in renamed.snapshot.holders.items()}
    return replace(renamed, snapshot=replace(renamed.snapshot, jobs=jobs, holders=holders))


def _renamed_head(head: RecordingHead, names: Pseudonyms) -> RecordingHead:
    return msgspec.structs.replace(
        head,
        anonymous=True,
        says="",
        error=head.error.partition(":")[0],
        scheduler_names=tuple(map(names.name, head.scheduler_names)),
        default_queue=names.name(head.default_queue),
    )


def _renamed_policy(recording: Recording, registry: Registry, names: Pseudonyms) -> str:
    """The policy without names: pseudonyms for zones, ConfigMaps and labels, and no address of an extender."""
    document = policy_document(policy_of(recording, registry), None, show_secrets=False)
    for tier in document["tiers"]:
        for plugin in tier["plugins"]:
            settled = plugin.get("arguments", {})
            plugin["arguments"] = {_renamed_key(key, names): value for key, value in settled.items()}
            if plugin["arguments"].get("extender.urlPrefix"):
                plugin["arguments"]["extender.urlPrefix"] = NOBODY
            if plugin["arguments"].get(_LABELS):
                plugin["arguments"][_LABELS] = [_renamed_tier(each, names) for each in plugin["arguments"][_LABELS]]
            for key in _LABEL_MAPS & plugin["arguments"].keys():
                plugin["arguments"][key] = [_renamed_labels(each, names) for each in plugin["arguments"][key]]
            for key in _NAMES & plugin["arguments"].keys():
                plugin["arguments"][key] = names.name(plugin["arguments"][key])
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


_ZONE = "tdm.revocable-zone."
_LABELS = "hypernode.labels"
_LABEL_MAPS = {"deviceshare.GPUExclusiveRules", "gpuExclusiveRules"}
_NAMES = {"deviceshare.KnownGeometriesCMName", "deviceshare.KnownGeometriesCMNamespace"}


def _renamed_key(key: str, names: Pseudonyms) -> str:
    return _ZONE + names.value(key.removeprefix(_ZONE)) if key.startswith(_ZONE) else key


def _renamed_labels(labels: dict[str, str], names: Pseudonyms) -> dict[str, str]:
    """Labels of pods, under the pseudonyms that they have there."""
    return {names.name(key): names.value(value) for key, value in labels.items()}


def _renamed_tier(entry: str | dict[str, Any], names: Pseudonyms) -> str | dict[str, Any]:
    """A label that makes a tier, under the pseudonym that it has on nodes."""
    if isinstance(entry, str):
        return names.name(entry)
    return {field: names.name(value) if isinstance(value, str) else value for field, value in entry.items()}


def _renamed_call(call: ExternalCall, names: Pseudonyms) -> ExternalCall:
    """A call with pseudonyms of nodes and pods in its answer, and without its question."""
    if call.answer is None:
        return ExternalCall(call.verb, "", None)
    try:
        found = msgspec.json.decode(call.answer)
    except UNREADABLE:
        return ExternalCall(call.verb, "", b"unreadable")
    return ExternalCall(call.verb, "", msgspec.json.encode(_renamed_answer(found, "", names)))


BY_NODE = ("nodes", "nodeScore")
UIDS = ("uid", "UID")
SAYS = "errorMessage"


def _renamed_answer(found: Any, under: str, names: Pseudonyms) -> Any:
    """The answer of an extender with pseudonyms; other text is removed."""
    match found:
        case Mapping() if under in BY_NODE:
            return {names.value(node): _renamed_answer(one, "", names) for node, one in found.items()}
        case Mapping():
            return {key: _renamed_answer(one, key, names) for key, one in found.items()}
        case list():
            return [_renamed_answer(one, under, names) for one in found]
        case str() if under in UIDS:
            return names.uid(found)
        case str() if under == SAYS:
            return names.text(found)
        case str():
            return ""
        case _:
            return found
