"""How vsched logs: one structured event a line on stderr, as JSON for machines or in colour for people.

Records of libraries that use the standard logging module leave in the same form. Results never go here: they are
stdout's.
"""

from __future__ import annotations

import logging
import os
import sys
from enum import StrEnum
from typing import TextIO

import orjson
import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor

from vsched import words
from vsched.errors import BadInput
from vsched.printable import one_printable_line, printable, printable_json

LEVELS: dict[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}

_CHATTY = ("aiohttp.access", "asyncio", "kubernetes_asyncio", "watchfiles")
"""Libraries that are only worth reading from warnings on, unless everything is asked for."""


class LogFormat(StrEnum):
    """How a log line looks."""

    JSON = "json"
    CONSOLE = "console"


def configure(level: str = "info", format: str | LogFormat = LogFormat.CONSOLE, stream: TextIO | None = None) -> None:
    """Set up logging for the whole program; a level or format that does not exist is refused."""
    threshold = LEVELS.get(level.lower())
    if threshold is None:
        raise BadInput(words.no_level(level, ", ".join(LEVELS)))
    try:
        shape = LogFormat(format)
    except ValueError:
        raise BadInput(words.no_format(str(format), ", ".join(LogFormat))) from None
    target = stream or sys.stderr
    structlog.configure(
        processors=[*_shared(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    _route_standard_logging(threshold, shape, target)


class LogOutput(logging.StreamHandler[TextIO]):
    """Lines to a stream. Those that it does not take are counted, and told in a line of their own once it takes lines
    again: the disk behind it may be full for a while, or whoever reads them be gone."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.lost = 0
        """How many lines could not be written."""
        self._untold, self._why = 0, ""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception:
            self.handleError(record)
            return
        try:
            if self._untold:
                self._write(self.format(self._told()))
                self._untold = 0
            self._write(line)
        except (OSError, ValueError) as error:  # ValueError: the stream is closed
            self.lost, self._untold = self.lost + 1, self._untold + 1
            self._why = getattr(error, "strerror", None) or str(error)

    def _write(self, line: str) -> None:
        self.stream.write(line + self.terminator)
        self.stream.flush()

    def _told(self) -> logging.LogRecord:
        said = words.lines_lost(self._untold, self._why)
        return logging.makeLogRecord(
            {"name": __name__, "levelno": logging.WARNING, "levelname": "WARNING", "msg": said}
        )


def lines_lost() -> int:
    """How many lines of the log could not be written since it was set up."""
    return sum(each.lost for each in logging.getLogger().handlers if isinstance(each, LogOutput))


def logger(name: str) -> FilteringBoundLogger:
    """The logger of one room; call it with an event name and fields."""
    bound: FilteringBoundLogger = structlog.get_logger(name)
    return bound


def _shared() -> list[Processor]:
    """What every record passes, whoever wrote it."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]


def _renderers(shape: LogFormat, target: TextIO) -> list[Processor]:
    if shape is LogFormat.JSON:
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(serializer=_as_json)]
    colours = target.isatty() and not os.environ.get("NO_COLOR")
    # The usual formatter of tracebacks shows the values of local variables: tokens and passwords are among them.
    return [
        structlog.processors.format_exc_info,
        _printable,
        structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=structlog.dev.plain_traceback),
    ]


def _printable(_: object, __: str, record: EventDict) -> EventDict:
    """Names and messages of others are in there: nothing that a terminal would obey, and lines only in tracebacks."""
    for name, value in record.items():
        if isinstance(value, str):
            record[name] = printable(value) if name in ("exception", "stack") else one_printable_line(value)
        elif not isinstance(value, int | float | None):
            record[name] = one_printable_line(str(value))
    return record


def _as_json(record: object, **_: object) -> str:
    return printable_json(orjson.dumps(record, default=str, option=orjson.OPT_NON_STR_KEYS).decode())


def _route_standard_logging(threshold: int, shape: LogFormat, target: TextIO) -> None:
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_shared(),
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_renderers(shape, target)],
    )
    output = LogOutput(target)
    output.setFormatter(formatter)
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(output)
    root.setLevel(threshold)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(threshold if threshold == logging.DEBUG else logging.WARNING)
