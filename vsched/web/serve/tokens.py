"""Bearer tokens from a file in the format of Kubernetes' servers: token, user, uid and groups on each line."""

from __future__ import annotations

import csv
import hmac
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from vsched.errors import BadInput
from vsched.files import content
from vsched.web.serve.access import Person
from vsched.web.serve.renewal import Renewed
from vsched.web.words import access as words

FLAG = "--token-file"
LEAST_LETTERS = 16
"""The shortest token: shorter ones can be guessed, and swapped columns are detected."""
MOST_TOKENS = 1_000
"""The largest file: each request is compared with every token."""


class TokenTable:
    """Users by token; a changed file is read again. Raises BadInput where the first content is invalid."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.renewed = Renewed(FLAG, words.LIST_OF_TOKENS, (file,), self._read)

    async def owner(self, token: str) -> Person | None:
        """The user of a token, None for an unknown one. The time does not depend on how similar a token is."""
        presented = sha256(token.encode()).digest()
        found = None
        for digest, person in self.renewed.current:
            if hmac.compare_digest(digest, presented):
                found = person
        return found

    def _read(self) -> tuple[tuple[bytes, Person], ...]:
        where = f"{FLAG}: {self._file}"
        try:
            lines = content(self._file).decode("utf-8-sig").split("\n")
        except BadInput as error:
            raise BadInput(f"{FLAG}: {error}") from None
        except UnicodeDecodeError:
            raise BadInput(words.not_utf_8(where)) from None
        return _table(where, lines)


def _table(where: str, lines: Iterable[str]) -> tuple[tuple[bytes, Person], ...]:
    """Users by the digests of their tokens. Errors name lines, never their content."""
    table: dict[bytes, Person] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        at = f"{where}:{number}"
        try:
            columns = next(csv.reader((line.strip(),), skipinitialspace=True))
        except csv.Error:
            columns = []
        token, user, uid, groups = [*(column.strip() for column in columns), "", "", "", ""][:4]
        if not 3 <= len(columns) <= 4 or not user:
            raise BadInput(f"{at}: {words.TOKENS_EXPECTED}")
        if len(token) < LEAST_LETTERS or not token.isascii() or any(ord(letter) <= 32 for letter in token):
            raise BadInput(words.token_unusable(at, LEAST_LETTERS))
        digest = sha256(token.encode()).digest()
        if digest in table:
            raise BadInput(words.token_twice(at))
        table[digest] = Person(user, tuple(group.strip() for group in groups.split(",") if group.strip()), uid)
    if not table:
        raise BadInput(words.tokens_empty(where))
    if len(table) > MOST_TOKENS:
        raise BadInput(words.too_many_tokens(where, len(table), MOST_TOKENS))
    return tuple(table.items())
