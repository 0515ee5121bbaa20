"""What ``vsched replay`` says of the flags of the lab."""

from __future__ import annotations

TRACE_WITH_FILES = "--trace: replays one or two CSV files (expected no FILE and no --config; --policy names one)"


def not_with_trace(flags: str) -> str:
    return f"{flags}: not with --trace"


def only_with_trace(flags: str) -> str:
    return f"{flags}: only with --trace"


def only_with_fill(flags: str) -> str:
    return f"{flags}: only with --fill"


def not_with_fill(flags: str) -> str:
    return f"{flags}: not with --fill"


def file_with_kueue(file: object) -> str:
    return f"{file}: not with --kueue (expected no FILE)"


def not_with_kueue(flags: str) -> str:
    return f"{flags}: not with --kueue"


# -- values of flags ---------------------------------------------------------------------------------------------------


def no_share(value: str) -> str:
    return f"{value!r} (expected more than 0% and at most 100%, such as 60%)"


def no_weight(text: str, most: int) -> str:
    return f"{text!r} (expected QUEUE=WEIGHT with a weight from 1 to {most}, such as ls=3)"


def no_machines(text: str, most_machines: int, most_gpus: int) -> str:
    return f"{text!r} (expected COUNTxGPUS, 88x8 for 88 machines with 8 GPUs; at most {most_machines}x{most_gpus})"


def no_moment(value: str) -> str:
    return f"{value!r} (expected a date such as 2017-10-16 or 2017-10-16T12:00, or days since the first pod, such as 3)"


def no_seeds(value: str, most: int) -> str:
    return f"{value!r} (expected numbers and ranges, each once, at most {most}, such as 42-51 or 1,5,7)"
