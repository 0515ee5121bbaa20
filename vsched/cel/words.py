"""What is said of CEL expressions.

Most of it mimics what Kubernetes' own CEL says, to the letter, so that people find what they know from there.
"""

from __future__ import annotations

# -- as the API server says it: compiling and evaluating ---------------------------------------------------------------


def too_many_characters(chars: int, most: int) -> str:
    return f"ERROR: <input>:1:1: expression has {chars} characters, at most {most} are allowed"


def undeclared(name: str) -> str:
    return f"undeclared reference to '{name}' (in container '')"


COST_LIMIT = "operation cancelled: actual cost limit exceeded"


def no_such_key(key: object) -> str:
    return f"no such key: {key}"


MODULUS_BY_ZERO = "modulus by zero"
DIVISION_BY_ZERO = "division by zero"
UNSIGNED_OVERFLOW = "unsigned integer overflow"
INTEGER_OVERFLOW = "integer overflow"
NO_OVERLOAD = "no such overload"


def not_a_bool(kind: str) -> str:
    return f"must evaluate to bool, not {kind}"


# -- as the API server says it: functions ------------------------------------------------------------------------------

NOT_AN_INTEGER = "cannot convert value to integer"


def called_on_empty_list(name: str) -> str:
    return f"{name} called on empty list"


def index_out_of_range(index: int) -> str:
    return f"index out of range: {index}"


def invalid_substring(start: int, end: int) -> str:
    return f"invalid substring range. start: {start}, end: {end}"


def not_a_regexp(why: str) -> str:
    return f"error parsing regexp: {why}"


def not_a_bool_text(value: object) -> str:
    return f"type conversion error from 'string' to 'bool': {value!r}"


def repeated_key(key: object) -> str:
    return f"Failed with repeated key: {key}"


NONE_DEREFERENCED = "optional.none() dereference"

# -- as the API server says it: formats --------------------------------------------------------------------------------


def unknown_clause(clause: str) -> str:
    return f'could not parse formatting clause: unrecognized formatting clause "{clause}"'


def argument_missing(index: int) -> str:
    return f"index {index} out of range"


def clause_cannot_be_used(verb: str, on: str) -> str:
    return f"error during formatting: {verb} clause can only be used on {on}"


ANYTHING_SHOWN = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
INTEGERS_AND_BOOLS = "integers and bools"
INTEGERS_BYTES_AND_STRINGS = "integers, byte buffers, and strings"


def at_most(most: int) -> str:
    return f"must be no more than {most} characters"


def with_regex(what: str, pattern: str) -> str:
    return f"{what} (regex used for validation is '{pattern}')"


LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'"
SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"
LABEL_1035 = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', and start with a letter"
LABEL_VALUE = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'"
QUALIFIED_NAME = (
    "a qualified name must consist of alphanumeric characters, '-', '_' or '.', with an optional DNS subdomain "
    "prefix and '/' (e.g. 'example.com/MyName')"
)
INVALID_URI = "invalid URI for request"
INVALID_UUID = "does not match the UUID format"
INVALID_BASE64 = "invalid base64"
INVALID_DATE = "invalid date"
INVALID_DATETIME = "invalid datetime"

# -- as the API server says it: quantities, versions and networks ------------------------------------------------------

WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_NUMBER = "unable to parse numeric part of quantity"
WRONG_SUFFIX = "unable to parse quantity's suffix"


def no_version(text: str) -> str:
    return f"No Major.Minor.Patch elements found in {text!r}"


def no_address(text: str, why: Exception) -> str:
    return f"IP Address {text!r} parse error during conversion from string: {why}"


def address_with_zone(text: str) -> str:
    return f"IP address {text!r} with zone value is not allowed"


def mapped_address(text: str) -> str:
    return f"IPv4-mapped IPv6 address {text!r} is not allowed"


def no_network(why: Exception) -> str:
    return f"network address parse error during conversion from string: {why}"


def no_url(why: Exception) -> str:
    return f"URL parse error during conversion from string: {why}"


def invalid_url(text: str) -> str:
    return f"URL parse error during conversion from string: parse {text!r}: invalid URI for request"


# -- our own -----------------------------------------------------------------------------------------------------------

SYNTAX_ERROR = "Syntax error: not well formed, or too deeply nested"


def too_costly(cost: int, most: int) -> str:
    return f"it may cost {cost:,} steps for one device ({most:,} are taken at most)"


def precision_above(digits: int, most: int) -> str:
    return f"precision {digits} is above {most}"


def format_makes_too_much(most: int) -> str:
    return f"format makes a text of more than {most} characters"


def replace_makes_too_much(most: int) -> str:
    return f"replace makes a text of more than {most} characters"


def join_makes_too_much(most: int) -> str:
    return f"join makes a text of more than {most} characters"


def too_many_parts(parts: int, most: int) -> str:
    return f"a list of {parts} parts of a text is made, at most {most} are allowed"


NETWORK_EXPECTED = "expected an address, a slash and a number of bits"


def library_missing(module: str) -> str:
    return f"{module} is not there (expected the package common-expression-language)"


# -- as the library says it --------------------------------------------------------------------------------------------

UNDEFINED = "Undefined variable or function"
