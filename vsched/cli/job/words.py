"""What ``vsched job`` says."""

from __future__ import annotations

# -- flags -------------------------------------------------------------------------------------------------------------


def not_with_vcjobs(flag: str) -> str:
    return f"{flag}: not with --vcjobs (vcjobs have other phases)"


def not_with_file(flags: str) -> str:
    return f"{flags}: not with -f (the file has these)"


# -- jobs that are asked about -----------------------------------------------------------------------------------------

WITHOUT_DAEMON = "what the PodGroups themselves say is shown, without positions and without counts of what is ready"
DAEMON_SHOWS_THEM = f"{WITHOUT_DAEMON} (--daemon URL shows them)"


def not_known(job: str, where: str) -> str:
    return f"no job {job} is known to the daemon at {where}"


def several_podgroups(number: int, job: str, names: str) -> str:
    return f"{number} PodGroups were made for {job}: {names}"


def no_podgroup(key: str, where: str) -> str:
    return f"there is no PodGroup {key} in {where}"


# -- vcjobs ------------------------------------------------------------------------------------------------------------


def no_vcjob(key: str, where: str) -> str:
    return f"there is no vcjob {key} in {where}"


def expected_job(origin: object, what: str, version: str) -> str:
    return f"{origin}: {what} (expected Job of {version})"


def nothing_in_it(file: object, version: str) -> str:
    return f"{file}: nothing in it (expected Job of {version})"


def above_the_limit(name: str, amount: str, limit: str) -> str:
    return f"--requests: {name}={amount} is more than the limit of {limit} (--limits sets it)"


def no_amounts(flag: str, part: str) -> str:
    return f"{flag}: {part!r} (expected amounts such as cpu=1000m,memory=100Mi)"


def not_installed(server: str, why: object) -> str:
    return f"{server}: {why} (are the definitions installed?)"


def which_namespace(stated: str, name: object, namespace: str) -> str:
    return f"vcjob {stated}/{name} with -n {namespace}: which namespace is meant?"


def has_ended(key: str, phase: str) -> str:
    return f"vcjob {key}: it has ended ({phase})"


ABOUT_TO_START = "about to start"


def is_already(key: str, state: str) -> str:
    return f"vcjob {key} is already {state}"


def still(key: str, asked: str, state: str, seconds: float) -> str:
    return (
        f"vcjob {key}: asked, by {asked}, and still {state} after {seconds:g} s (is vsched running, or Volcano's "
        "controllers?)"
    )


# -- the page ----------------------------------------------------------------------------------------------------------


def explain_shows_more(key: str) -> str:
    return f"\nvsched explain {key} shows more"


def position(position: int, of: int, overall: int, overall_of: int) -> str:
    return f"{position} of {of} in its queue, {overall} of {overall_of} in all"


WOULD_START_WITH = "would start with "
