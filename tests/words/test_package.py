"""What the modules of the package itself say."""

from __future__ import annotations

from vsched import words
from vsched.record import words as record

SENTENCES = [
    # words
    (words.goes_back(2.5), "time does not go back: 2.5"),
    (words.not_utf8(255), "the text is not UTF-8 (byte 0xff)"),
    (words.NESTED_TOO_DEEPLY, "it is nested too deeply to be read"),
    (words.TRUE_OR_FALSE, "true or false"),
    (words.WHOLE_NUMBER, "a whole number"),
    (words.must_be("an integer or a string"), "must be an integer or a string"),
    (words.AN_ALLOWED_DIRECTORY, "a directory that is allowed"),
    (
        words.is_not_in("/etc/passwd", "/var/run/secrets or /etc/vsched"),
        "/etc/passwd: is not in /var/run/secrets or /etc/vsched",
    ),
    (words.no_text("trace.csv", 3), "trace.csv: byte 3 is not UTF-8 (expected YAML or JSON text)"),
    (words.no_regular_file("trace.csv"), "trace.csv: cannot be read: it is no regular file"),
    (words.cannot_be_read("trace.csv", "Permission denied"), "trace.csv: cannot be read: Permission denied"),
    (words.is_longer("ca.crt", "1024 KiB"), "ca.crt: is longer than 1024 KiB"),
    (record.no_segments("work", ".gz"), "work: no work trace in this folder (expected files work-*.gz)"),
    (record.no_line("a.gz", 3, "bad"), "a.gz: line 3: bad (expected a line of a work trace)"),
    (record.no_beginning("a.gz"), "a.gz: line 1 does not say that a recording began (expected a work trace)"),
    (
        record.newer_format("a.gz", 2, 1),
        "a.gz: format 2 of work traces is newer than this vsched (which reads up to 1)",
    ),
    (record.nothing_in_it("a.gz"), "a.gz: nothing in it (expected a work trace)"),
    (record.line_too_long("a.gz", 1024), "a.gz: a line has more than 1,024 bytes (expected a work trace)"),
    (record.not_unpacked("a.gz", "bad"), "a.gz: cannot be unpacked: bad"),
    (record.not_read("a.gz", "bad"), "a.gz: cannot be read: bad"),
    (record.not_written("a.gz", "No space left on device"), "a.gz: not written: No space left on device"),
    (words.no_level("loud", "debug, info"), "log level 'loud' does not exist: use one of debug, info"),
    (words.no_format("xml", "console, json"), "log format 'xml' does not exist: use one of console, json"),
    (
        words.lines_lost(12, "No space left on device"),
        "12 log lines could not be written: No space left on device",
    ),
    (words.CANNOT_BE_PARSED, "cannot be parsed"),
    (words.ALIASES_EXPAND, "its aliases expand to far more than it says"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
