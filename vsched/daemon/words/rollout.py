"""What is said of the rollout of a policy: in Events, in the log, and where its state is shown."""

from __future__ import annotations

BASELINE = "the policy in force is measured before the first step"
COMPLETE = "all steps are over: the candidate stays in force"
PROMOTED = "promoted by hand: the candidate is in force"
TAKEN_BACK_BY_HAND = "taken back by hand: the policy before is in force again"
ENDED = "the rollout was removed: the policy of its own key is in force"
WITHIN = "all figures are within their limits again: the step goes on"
WRITE_FAILED = "the state of the rollout cannot be written; it is tried again"
LOGGED = "rollout of the policy"


def step_begins(number: int, of: int, step: str) -> str:
    return f"step {number} of {of}: {step}"


SHADOW_FAILED = "the candidate cannot decide beside the policy in force; it is tried again"
SHADOWS = "decides with the candidate of a rollout, beside the policy in force"


def beside(span: str) -> str:
    return f"the candidate decides beside the policy in force for {span}; nothing of it is carried out"


def shadowed(compared: int, alike: int, evictions: int) -> str:
    return (
        f"of the last {compared} sessions that the candidate decided as well, {alike} had the same starts and "
        f"evictions; it would have evicted {evictions} pods"
    )


def in_force_all(span: str) -> str:
    return f"the candidate is in force for {span}"


def in_force_in_shard(shard: int, span: str) -> str:
    return f"the candidate is in force in shard {shard} for {span}"


def in_force_within(window: str, span: str) -> str:
    return f"the candidate is in force within {window} UTC, for {span} in all"


def breaks(measure: str, measured: str, promised: str, baseline: str) -> str:
    return f"{measure}: measured {measured}, promised {promised}{baseline}"


def of_reference(reference: str, figure: str) -> str:
    return f" ({reference} {figure})"


def taken_back(broken: str) -> str:
    return f"{broken}; the policy before is in force again"


def held(broken: str) -> str:
    return f"{broken}; the step is held"


def no_candidate(where: str, key: str) -> str:
    return f"{where}: candidate: no key {key} in the ConfigMap"


def is_the_policy(where: str, key: str) -> str:
    return f"{where}: candidate: {key} is the key of the policy in force (expected another one)"


def began_anew(what: str) -> str:
    return f"begins anew: the policy, the candidate or the rollout was edited; {what}"


def refused(problems: str) -> str:
    return f"rollout refused, the policy of its own key is in force: {problems}"


def told(phase: str, message: str, *, in_force: bool) -> str:
    return f"rollout {phase}, {'the candidate' if in_force else 'the policy before'} is in force: {message}"


def share_of_reference(share: float, reference: str) -> str:
    return f"<= {share:.0%} of {reference}"
