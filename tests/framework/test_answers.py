"""What services outside answered, taken down and given again."""

from __future__ import annotations

from vsched.errors import Unavailable
from vsched.framework.answers import Noting, Repeating, digest_of
from vsched.framework.callout import Callout, CalloutEndpoint
from vsched.model.dump.cycle import ExternalCall

AT = CalloutEndpoint("http://nowhere", 1.0, 1.0)


class Echo:
    """Answers with the question, but for one that it is silent on."""

    def call(self, endpoint: CalloutEndpoint, verb: str, body: bytes) -> bytes:
        if body == b"secret":
            raise Unavailable("silent")
        return body.upper()


def asked(callout: Callout, *questions: bytes) -> list[bytes | None]:
    found: list[bytes | None] = []
    for question in questions:
        try:
            found.append(callout.call(AT, "predicate", question))
        except Unavailable:
            found.append(None)
    return found


def test_answers_and_silence_are_given_again_whatever_is_asked_first() -> None:
    noting = Noting(Echo())
    assert asked(noting, b"a", b"secret", b"b", b"a") == [b"A", None, b"B", b"A"]
    again = Repeating(noting.calls)
    assert asked(again, b"b", b"a", b"a", b"secret") == [b"B", b"A", b"A", None]
    assert again.unknown == 0


def test_a_question_that_nobody_asked_has_no_answer() -> None:
    again = Repeating([ExternalCall("predicate", digest_of(b"a"), b"A")])
    assert asked(again, b"other", b"a", b"a") == [None, b"A", None]
    assert again.unknown == 2


def test_without_their_questions_answers_come_in_their_order() -> None:
    again = Repeating([ExternalCall("predicate", "", b"1"), ExternalCall("predicate", "", b"2")])
    assert asked(again, b"x", b"y") == [b"1", b"2"]


def test_no_more_is_kept_than_there_is_room_for() -> None:
    noting = Noting(Echo(), most_bytes=3)
    assert asked(noting, b"ab", b"cd", b"e") == [b"AB", b"CD", b"E"]
    assert ([call.answer for call in noting.calls], noting.unrecorded) == ([b"AB"], 2)
