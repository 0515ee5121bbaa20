"""What the pages of ``vsched plan`` say."""

from __future__ import annotations

# -- cycles ------------------------------------------------------------------------------------------------------------

SHARE_OF_DESERVED = "share: dominant share of what the queue deserves"
SHARE_OF_CLUSTER = "share: dominant share of the cluster"


def decides_nothing(number: int, cycles: int) -> str:
    return f"Cycle {number} of {cycles} decides nothing."


def decisions(number: int, cycles: int) -> str:
    return f"Decisions of cycle {number} of {cycles}"


OWN_VOLUMES = "with volumes and devices of their own"


def moves_to(action: str, node: str) -> str:
    return f"{action} to {node}"


def asked_to_end_within(span: str) -> str:
    return f"asked to end within {span}: "


ASKED_TO_END = "asked to end: "


def new_volume(claim: str) -> str:
    return f"a new volume for {claim}"


RESERVED = "reserved while other pods leave"
NOT_RESERVED = "no node is reserved for it any more"
JOB_OR_POD = "job or pod"


# -- times that pass ---------------------------------------------------------------------------------------------------


def more_end(first: str, others: int) -> str:
    return f"{first} and {others:,} more end"


def time_passes(cycle: int, span: str, who: str) -> str:
    return f"before cycle {cycle}, {span} pass: {who} as asked"


# -- a running cluster -------------------------------------------------------------------------------------------------

DIVISION_STAYS = "the division among namespaces (arbitration) stays as it was"


def session_ended_in_error(session: int, error: str) -> str:
    return (
        f"session {session} ended in an error, and does so again: {error} (expected a session that decided; vsched "
        "replay shows the error)"
    )


def extender_does_not_answer(why: str) -> str:
    return f"the extender does not answer: {why}"


RECORDED_POLICY = "the recorded policy"


# -- proofs ------------------------------------------------------------------------------------------------------------


def no_violations(checks: str) -> str:
    return f"vsched: {checks}, no violations"


# -- what is different -------------------------------------------------------------------------------------------------

TIMES_ITS_SHARE = "times its share used"


# -- the page of what is different -------------------------------------------------------------------------------------

STOP_OR_WAIT = "stop or wait"
IN_ANOTHER_PHASE = "in another phase"


def more_notes(number: int) -> str:
    return f"  and {number:,} more notes (-o json has them all)"


NOTHING_DIFFERENT = "\nNothing is different from today."
WHY_NOT_ALL = "why not all"


def no_longer_by(action: str) -> str:
    return f"no longer by {action}"


def more_rows(number: int) -> str:
    return f"and {number:,} more (-o json has them all)"


def no_longer(name: str) -> str:
    return f"no longer {name}"


def no_problem_any_more(queue: str) -> str:
    return f" queue {queue}: has no problem any more"
