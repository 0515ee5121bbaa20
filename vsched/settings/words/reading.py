"""What is said of YAML and of the values in it."""

from __future__ import annotations

# -- the text ----------------------------------------------------------------------------------------------------------

ACTIONS_AND_TIERS = "actions and tiers"


def nested_too_deeply(what: str) -> str:
    return f"nested too deeply for a {what}"


def too_many_lines(what: str, most: int) -> str:
    return f"too large for a {what}: more than {most} lines, commas and brackets"


def too_many_values(what: str, most: int) -> str:
    return f"too large for a {what}: more than {most} values once aliases are expanded"


def second_document(what: str) -> str:
    return f"a second document begins here; expected one {what}"


def not_yaml(why: str, column: str) -> str:
    return f"not YAML: {why}{column}"


STRAY_COLON = "a ':' where none can be; drop it, or put the value in quotes"
ANCHOR_TWICE = "the same anchor twice"
HALF_A_CHARACTER = "half a character (a surrogate escape)"


def unknown_tag(tag: str, what: str) -> str:
    return f"the tag {tag!r} has no meaning in a {what}"


PLAIN_KEY_EXPECTED = "a key must be a plain word (no merge keys, lists or mappings)"


def key_twice(line: int) -> str:
    return f"the same key twice (first on line {line})"


# -- what PyYAML says --------------------------------------------------------------------------------------------------

NOT_ALLOWED_HERE = "mapping values are not allowed here"
ANOTHER_DOCUMENT = "but found another document"

# -- problems ----------------------------------------------------------------------------------------------------------


def no_effect(why: str) -> str:
    return f"has no effect: {why}"


def more_problems(where: str, rest: int) -> str:
    return f"{where}: and {rest} more problems"


def did_you_mean(word: str) -> str:
    return f"; did you mean {word!r}?"


# -- values ------------------------------------------------------------------------------------------------------------

DURATION = "a duration such as 30s or 1m30s"
MULTIPLE_OF = "a multiple of"


def text_that_matches(pattern: str) -> str:
    return f"text that matches {pattern}"


LEADING_ZERO = ": a leading zero means octal in YAML; write the number without it"


def plain_boolean(text: str) -> str:
    return f": a plain {text} is a boolean in YAML; put it in quotes"


def expected(expected: str, got: str) -> str:
    return f"expected {expected}, got {got}"


def given_twice(line: int) -> str:
    return f"given twice (first on line {line})"


NO_ARGUMENTS = "unknown argument: none are taken here"


def keys_expected(keys: str, got: str) -> str:
    return f"expected a mapping with {keys}; got {got}"


def list_expected(got: str) -> str:
    return f"expected a list, got {got}"


def mapping_expected(got: str) -> str:
    return f"expected a mapping, got {got}"


def arguments_expected(got: str) -> str:
    return f"expected a mapping of arguments, got {got}"
