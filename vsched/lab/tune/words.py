"""What ``vsched tune`` says."""

from __future__ import annotations

# -- objective files ---------------------------------------------------------------------------------------------------

KEYS_OF_OBJECTIVES = "minimize, maximize, limits and search"
NO_GOAL = "no goal (expected minimize or maximize with a figure)"
NAMES_EXPECTED = "expected names, such as usage-history.halfLife"


def cannot_be_read(path: object, why: object) -> str:
    return f"{path}: cannot be read: {why} (expected an objective)"


def too_large(path: object, kib: int) -> str:
    return f"{path}: too large for an objective: more than {kib} KiB"


def mapping_expected(got: str) -> str:
    return f"expected a mapping, got {got}"


def unknown_key(meant: str) -> str:
    return f"unknown key (expected minimize, maximize, limits or search){meant}"


def too_many(most: int, what: str) -> str:
    return f"too many {what} (expected at most {most})"


def twice(figure: str) -> str:
    return f"{figure!r} is a goal twice"


def known_figures(plain: str, queue: str) -> str:
    return (
        f"{plain}, utilisation of gpu, cpu or memory, or a wait such as 'p95 wait', 'mean wait of queue {queue}', "
        "'p50 wait of gangs over 64 gpus'"
    )


def no_figure(got: str, known: str) -> str:
    return f"{got} is no figure (expected one of {known})"


def no_limit(got: str, example: str) -> str:
    return f"expected <= or >= and a value, such as {example}, got {got}"


def no_values(got: str, most: int) -> str:
    return f"expected a range such as 1h .. 24h, or a list of 2 to {most} values, got {got}"


def no_such_queue(queue: str, known: str) -> str:
    return f"the trace has no queue {queue!r} (expected one of {known})"


# -- what is searched --------------------------------------------------------------------------------------------------


def nothing_to_search(where: str) -> str:
    return f"{where}: nothing to search (expected an argument under search in the objective)"


def unknown_search(meant: str) -> str:
    return f"no plugin, action or argument (expected PLUGIN.ARGUMENT, ACTION.ARGUMENT or PLUGIN){meant}"


def not_optional(name: str) -> str:
    return f"{name} is not searched: gangs, shares or filters would depend on it (expected one of its arguments)"


def values_are(known: str) -> str:
    return f"expected some of {known}"


def not_in_policy(name: str) -> str:
    return f"the policy has no {name} (expected {name} under search as well)"


def no_argument(owner: str, meant: str) -> str:
    return f"{owner} has no such argument{meant}"


def no_effect(why: str) -> str:
    return f"has no effect: {why}"


def no_range(given: bool) -> str:
    if given:
        return "the range does not suit the argument (expected its type, and the smaller end first)"
    return "expected a range such as 1 .. 20, or a list of values"


ORDER = "order of tier "
"""With the number of the tier behind it: the name under which an objective asks for the order of its plugins."""
NOT_A_PLAIN_POLICY = "--config: cannot be changed as it is written (expected actions and tiers, a plugin a line)"


def cannot_be_changed(name: str) -> str:
    return f"--config: {name} cannot be changed as it is written (expected actions and tiers, a plugin a line)"


# -- flags -------------------------------------------------------------------------------------------------------------

NOT_INSTALLED = "optuna is not installed (expected pip install 'vsched[tune]')"
ASKS_FOR_USAGE = "--config: metrics: a trace does not say how loaded nodes were (expected a policy without metrics)"
CALLS_EXTENDERS = "--config: extender: nobody answers in a replay (expected a policy without this plugin)"
OTHER_STUDY = "--study: it is about another trace, policy, objective or seed (expected the same, or a new file)"
NO_STUDY = "no study of this command"
NO_TRIALS = "--trials, --minutes: the search has tried nothing (expected more of them)"


def study_cannot_be_used(path: object, why: object) -> str:
    return f"--study: {path}: cannot be used: {why}"


def judge_from(why: str) -> str:
    return f"--judge-from: {why}"


def no_jobs_in_part(part: str) -> str:
    return f"--judge-from: no job comes in the part that is {part} (expected a time in the middle of the trace)"


MOST_FILES = "--trace: one file of jobs, or one of nodes and one of jobs"

# -- progress ----------------------------------------------------------------------------------------------------------


def progress(trials: int, of: int, replays: int, kept: int, gain: str, seconds: float) -> str:
    return (
        f"{trials} of {of} candidates, {kept} keep the limits, best gain {gain}; {replays} replays in {seconds:.0f} s"
    )


UNDOING = "undoing changes of the best candidate one at a time"
JUDGING = "replaying what was found where nothing was tuned"

# -- the result --------------------------------------------------------------------------------------------------------

TUNED, JUDGED = "tuned", "judged"
IN_FORCE = "in force"
FIGURE = "figure"
SMALLEST = "smallest change"
SMALLEST_TITLE = "The smallest change with most of the gain, and what each part of it does where nothing was tuned:"
NO_CHANGE = "No candidate is better than the policy in force: keep it."
NOTHING_KEEPS = "No candidate keeps the limits."
NOT_GIVEN = "not given"
PARETO = "Candidates where they were tuned"
OTHERS, FRONT, JUDGED_FRONT = "other candidates", "best candidates", "the same where not tuned"
BROKEN_LIMITS = "limits broken"
CANDIDATE = "candidate"


def title(policy: str, tuned: str, judged: str, dimensions: int, candidates: int) -> str:
    return f"{policy}: {candidates:,} candidates tried in {dimensions} dimensions; tuned on {tuned}, judged on {judged}"


def part(jobs: int, days: float) -> str:
    return f"{jobs:,} jobs in {days:.1f} days"


def resampled(periods: int, hours: float) -> str:
    return f"In brackets: 95 % of 1,000 resamples of {periods} periods of {hours:.0f} h, as days differ."


def gains(tuned: str, judged: str) -> str:
    return f"It gains {tuned} where it was tuned, {judged} where it was not."


def limit_broken(limit: str) -> str:
    return f"A limit is broken where nothing was tuned: {limit}."


HOLDS = "The gain holds where nothing was tuned."
SHRINKS = "Overfitting: less than half of the gain is left where nothing was tuned."
UNSURE = "The gain where nothing was tuned is not sure: it may as well be none."
LOST = "Overfitting: there is no gain where nothing was tuned. Do not use this."


def change_argument(name: str, before: str, after: str) -> str:
    return f"{name} {before} -> {after}"


def change_presence(name: str, after: str) -> str:
    return f"{name} {after}"


ADDED, REMOVED = "added", "left out"


def change_order(name: str, before: str) -> str:
    return f"{name} before {before}"


def effect(change: str, effects: str) -> str:
    return f"{change}: {effects}"


def effect_on(figure: str, value: str, low: str, high: str) -> str:
    return f"{figure} {value} ({low} to {high})"


# -- what it cannot know -----------------------------------------------------------------------------------------------

NO_REAL_STARTS = (
    "The trace does not say when jobs really started, or was changed by --nodes or --load: how well a replay of the "
    "policy in force matches what happened cannot be checked, so take differences between policies, not the figures."
)
HABITS = "Users change what they submit, and when, once waits change; the trace cannot show that."
RUN_TIMES = "A job runs as long as it did in the trace, wherever it runs; of those that never ran it is a guess."


def matches(part: str, jobs: int, share: float, recorded: str, replayed: str) -> str:
    return (
        f"Replayed under the policy in force, {share:.0%} of {jobs:,} jobs ({part}) wait as long as they really did, "
        f"within a minute or a tenth: {replayed} on average, and really {recorded}."
    )


# -- charts ------------------------------------------------------------------------------------------------------------

BY_CANDIDATE = "candidate, in the order of the search"
