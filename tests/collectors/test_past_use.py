"""What queues held by the hour, from answers of Prometheus."""

from __future__ import annotations

import orjson
import pytest

from vsched.collectors.past_use import Amount, parse_range, past_history
from vsched.collectors.source import SourceError
from vsched.model.history.records import CLUSTER, HOUR_SECONDS, Decay, Holder

WHOLE = Decay(float("inf"))
END = 1_000 * HOUR_SECONDS
TOTAL = {"cpu": 8000, "example.com/gpu": 4000}


def answer(*series: tuple[dict[str, str], list[tuple[float, str]]], kind: str = "matrix") -> bytes:
    result = [{"metric": metric, "values": values} for metric, values in series]
    return orjson.dumps({"status": "success", "data": {"resultType": kind, "result": result}})


def test_an_answer_is_read() -> None:
    a, b = {"queue_name": "a"}, {"queue_name": "b", "resource": "example.com/gpu"}
    body = answer((a, [(3600.0, "100"), (7200.0, "50")]), (b, [(7200.0, "4000")]), ({}, [(7200.0, "1")]))
    assert parse_range("cpu", body) == [
        Amount("a", "cpu", 3600.0, 100.0),
        Amount("a", "cpu", 7200.0, 50.0),
        Amount("b", "example.com/gpu", 7200.0, 4000.0),
    ]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param(b"no", "cpu: ", id="no JSON"),
        pytest.param(answer(kind="vector"), "expected a range", id="another kind of answer"),
        pytest.param(answer(({"queue_name": "a"}, [(1.0, "x")])), "cpu: ", id="no number"),
    ],
)
def test_an_answer_that_is_none_says_why(body: bytes, why: str) -> None:
    with pytest.raises(SourceError, match=why):
        parse_range("cpu", body)


def test_a_history_is_made_of_amounts() -> None:
    found = past_history(
        [
            Amount("a", "cpu", END - HOUR_SECONDS, 1000.0),
            Amount("a", "cpu", END, 500.0),
            Amount("b", "example.com/gpu", END, 2000.0),
            Amount("b", "other", END, 7.0),
            Amount("parent", "cpu", END, 500.0),
            Amount("b", "cpu", END, float("nan")),
        ],
        END + 60,
        TOTAL,
        {"parent"},
    )
    assert found is not None
    assert found.holders == (CLUSTER, Holder("a"), Holder("b"))
    assert (found.at, found.since) == (END + 60, END - 2 * HOUR_SECONDS)
    assert (found.used(WHOLE) / HOUR_SECONDS).tolist() == [[16_000, 8000], [1500, 0], [0, 2000]]


def test_without_any_amount_there_is_no_history() -> None:
    assert past_history([Amount("a", "other", END, 1.0)], END, TOTAL, ()) is None
