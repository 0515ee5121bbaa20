"""Recordings made of sights, run again, and anonymised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from traceback import extract_tb
from typing import Any, NamedTuple

import msgspec
import yaml

from vsched.errors import UNREADABLE
from vsched.framework.answers import Repeating
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.anonymous import Pseudonyms, anonymised
from vsched.model.anonymous_records import Renaming
from vsched.model.anonymous_snapshot import renamed_snapshot
from vsched.model.dump import ASKED, Call, Head, Recording, report_bytes
from vsched.model.plan import CycleReport
from vsched.settings import load_text
from vsched.settings.document import policy_document
from vsched.version import build
from vsched.web.snapshots import FrozenSnapshot

NOBODY = "http://extender.invalid"
"""Stands for the address of an extender."""
MOST_CHARACTERS = 500
"""Of an error."""
DIFFERS = "under these names the cycle decides something else than it did"


class Whose(NamedTuple):
    """What a daemon was started with that a recording tells of."""

    scheduler_names: tuple[str, ...] = ()
    default_queue: str = "default"
    decides: bool = True
    """Whether it places pods: else there is nothing to record."""


def recording_of(
    frozen: FrozenSnapshot, whose: Whose, *, why: str = ASKED, says: str = "", error: str = ""
) -> Recording:
    """A session as a recording; without a report where it ended in an error."""
    found = build()
    head = Head(
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
    """The file that loads as this policy; of what is secret in it nothing is shown."""
    document = policy_document(policy, None, show_secrets=False)
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def policy_of(recording: Recording, registry: Registry) -> Policy:
    """The policy that was in force; raises BadPolicy where this vsched does not take it."""
    return load_text(recording.policy, "the policy of the recording", registry).policy


def error_text(error: Exception) -> str:
    """An error in one line: its kind, its words, and where it was raised."""
    frames = extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename.rpartition('vsched/')[2]}:{frames[-1].lineno})" if frames else ""
    words = " ".join(str(error).split())[:MOST_CHARACTERS]
    return f"{type(error).__name__}: {words}{where}"


class Replay(NamedTuple):
    """A cycle that was run again."""

    report: CycleReport
    unknown: int
    """Questions to services outside that had not been asked then; they count as not answered."""


def replay(recording: Recording, policy: Policy, registry: Registry, trace: Trace | None = None) -> Replay:
    """Run the cycle again, by the policy that was in force or another one; nobody outside is called."""
    answers = Repeating(recording.calls)
    report = run_cycle(recording.snapshot, policy, registry, trace, answers)
    return Replay(report, answers.unknown)


# -- anonymous ------------------------------------------------------------------------------------------------------


def anonymous(recording: Recording, registry: Registry) -> Recording:
    """The recording under made-up names, with what is decided under them.

    Sentences are told anew by running the cycle under those names, up to twice. Where something else is decided than
    the recording says, the head of what is returned says so.
    """

    def under(names: Pseudonyms) -> tuple[Recording, CycleReport | None]:
        renaming = Renaming(names)
        made = replace(
            recording,
            snapshot=renamed_snapshot(renaming, recording.snapshot),
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
        renamed = replace(renamed, head=msgspec.structs.replace(renamed.head, says=DIFFERS))
    return replace(renamed, report=report)


def without_words(report: CycleReport) -> CycleReport:
    """What was decided, without any sentence about it: what names have no part in."""
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
    return msgspec.structs.replace(report, jobs=jobs, unschedulable=pods, queues=queues)


def _settled(recording: Recording, report: CycleReport) -> list[bool]:
    """Of each job in order, whether its object says already what the cycle would have it say."""
    outcomes, jobs = report.jobs, recording.snapshot.jobs
    return [
        key in outcomes and bool(job.spec.conditions) and outcomes[key].conditions == job.spec.conditions
        for key, job in jobs.items()
    ]


def _with_conditions(renamed: Recording, settled: list[bool], report: CycleReport) -> Recording:
    """Objects that say already what they are to say, say it under the new names, too."""
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


def _renamed_head(head: Head, names: Pseudonyms) -> Head:
    return msgspec.structs.replace(
        head,
        anonymous=True,
        says="",
        error=head.error.partition(":")[0],
        scheduler_names=tuple(map(names.name, head.scheduler_names)),
        default_queue=names.name(head.default_queue),
    )


def _renamed_policy(recording: Recording, registry: Registry, names: Pseudonyms) -> str:
    """The policy without names: zones are labels of nodes, and the address of an extender is nobody's business."""
    document = policy_document(policy_of(recording, registry), None, show_secrets=False)
    for tier in document["tiers"]:
        for plugin in tier["plugins"]:
            settled = plugin.get("arguments", {})
            plugin["arguments"] = {_renamed_key(key, names): value for key, value in settled.items()}
            if plugin["arguments"].get("extender.urlPrefix"):
                plugin["arguments"]["extender.urlPrefix"] = NOBODY
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


_ZONE = "tdm.revocable-zone."


def _renamed_key(key: str, names: Pseudonyms) -> str:
    return _ZONE + names.value(key.removeprefix(_ZONE)) if key.startswith(_ZONE) else key


def _renamed_call(call: Call, names: Pseudonyms) -> Call:
    """What was answered, with other names of nodes and pods in it; questions are no longer the same."""
    if call.answer is None:
        return Call(call.verb, "", None)
    try:
        found = msgspec.json.decode(call.answer)
    except UNREADABLE:
        return Call(call.verb, "", b"unreadable")
    return Call(call.verb, "", msgspec.json.encode(_renamed_answer(found, "", names)))


BY_NODE = ("nodes", "nodeScore")
UIDS = ("uid", "UID")
SAYS = "errorMessage"


def _renamed_answer(found: Any, under: str, names: Pseudonyms) -> Any:
    """An answer of an extender; what it does not need to have is left out."""
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
