"""What several commands of the lab say."""

from __future__ import annotations

# -- results and charts ------------------------------------------------------------------------------------------------

NOT_INSTALLED = "--plots: matplotlib is not installed (expected pip install 'vsched[plots]', or --no-plots)"


def cannot_be_made(out: object, why: object) -> str:
    return f"--out: {out}: cannot be made: {why}"


def cannot_be_written(path: object, why: object) -> str:
    return f"--out: {path}: cannot be written: {why}"


NOWHERE_TO_DRAW = "--plots: nowhere to draw them (expected --out DIR with it)"

# -- processes ---------------------------------------------------------------------------------------------------------


def ended(name: str, code: object, said: str) -> str:
    return f"the {name} ended with exit code {code}{said}"


DID_NOT_COME_UP = "did not come up"
WAS_NOT_READY = "was not ready"

# -- readiness ---------------------------------------------------------------------------------------------------------

SAYS_NOTHING = "it says nothing"


def not_ready(seconds: float, problem: object) -> str:
    return f"the scheduler was not ready within {seconds:.0f} s: {problem}"


BUILT_IN_POLICY = "the built-in policy"
PEAK_MEMORY = "peak memory (MB)"


def not_bound(pods: int, seconds: float) -> str:
    return f"{pods} pods were not bound within {seconds:.0f} s"
