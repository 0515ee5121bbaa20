"""What is said of CEL expressions."""

from __future__ import annotations

from vsched.cel import words as cel

SENTENCES = [
    # cel/words
    (
        cel.too_many_characters(20000, 10240),
        "ERROR: <input>:1:1: expression has 20000 characters, at most 10240 are allowed",
    ),
    (cel.undeclared("devise"), "undeclared reference to 'devise' (in container '')"),
    (cel.COST_LIMIT, "operation cancelled: actual cost limit exceeded"),
    (cel.no_such_key("model"), "no such key: model"),
    (cel.MODULUS_BY_ZERO, "modulus by zero"),
    (cel.DIVISION_BY_ZERO, "division by zero"),
    (cel.UNSIGNED_OVERFLOW, "unsigned integer overflow"),
    (cel.INTEGER_OVERFLOW, "integer overflow"),
    (cel.NO_OVERLOAD, "no such overload"),
    (cel.not_a_bool("string"), "must evaluate to bool, not string"),
    (cel.NOT_AN_INTEGER, "cannot convert value to integer"),
    (cel.called_on_empty_list("min"), "min called on empty list"),
    (cel.index_out_of_range(7), "index out of range: 7"),
    (cel.invalid_substring(3, 2), "invalid substring range. start: 3, end: 2"),
    (cel.not_a_regexp("missing )"), "error parsing regexp: missing )"),
    (cel.not_a_bool_text("yes"), "type conversion error from 'string' to 'bool': 'yes'"),
    (cel.repeated_key("a"), "Failed with repeated key: a"),
    (cel.NONE_DEREFERENCED, "optional.none() dereference"),
    (cel.unknown_clause("z"), 'could not parse formatting clause: unrecognized formatting clause "z"'),
    (cel.argument_missing(2), "index 2 out of range"),
    (
        cel.clause_cannot_be_used("binary", "integers and bools"),
        "error during formatting: binary clause can only be used on integers and bools",
    ),
    (cel.ANYTHING_SHOWN, "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"),
    (cel.INTEGERS_AND_BOOLS, "integers and bools"),
    (cel.INTEGERS_BYTES_AND_STRINGS, "integers, byte buffers, and strings"),
    (cel.at_most(63), "must be no more than 63 characters"),
    (cel.with_regex("a name", "[a-z]+"), "a name (regex used for validation is '[a-z]+')"),
    (cel.LABEL, "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'"),
    (cel.SUBDOMAIN, "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"),
    (
        cel.LABEL_1035,
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', and start with a letter",
    ),
    (cel.LABEL_VALUE, "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'"),
    (
        cel.QUALIFIED_NAME,
        (
            "a qualified name must consist of alphanumeric characters, '-', '_' or '.', with an optional DNS subdomain "
            "prefix and '/' (e.g. 'example.com/MyName')"
        ),
    ),
    (cel.INVALID_URI, "invalid URI for request"),
    (cel.INVALID_UUID, "does not match the UUID format"),
    (cel.INVALID_BASE64, "invalid base64"),
    (cel.INVALID_DATE, "invalid date"),
    (cel.INVALID_DATETIME, "invalid datetime"),
    (cel.WRONG_FORMAT, "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    (cel.WRONG_NUMBER, "unable to parse numeric part of quantity"),
    (cel.WRONG_SUFFIX, "unable to parse quantity's suffix"),
    (cel.no_version("one"), "No Major.Minor.Patch elements found in 'one'"),
    (
        cel.no_address("1.2.3", ValueError("too short")),
        "IP Address '1.2.3' parse error during conversion from string: too short",
    ),
    (cel.address_with_zone("fe80::1%eth0"), "IP address 'fe80::1%eth0' with zone value is not allowed"),
    (cel.mapped_address("::ffff:1.2.3.4"), "IPv4-mapped IPv6 address '::ffff:1.2.3.4' is not allowed"),
    (cel.no_network(ValueError("too short")), "network address parse error during conversion from string: too short"),
    (cel.no_url(ValueError("too short")), "URL parse error during conversion from string: too short"),
    (cel.invalid_url("a b"), "URL parse error during conversion from string: parse 'a b': invalid URI for request"),
    (cel.SYNTAX_ERROR, "Syntax error: not well formed, or too deeply nested"),
    (cel.too_costly(2000000, 1000000), "it may cost 2,000,000 steps for one device (1,000,000 are taken at most)"),
    (cel.precision_above(1000, 500), "precision 1000 is above 500"),
    (cel.format_makes_too_much(100000), "format makes a text of more than 100000 characters"),
    (cel.replace_makes_too_much(100000), "replace makes a text of more than 100000 characters"),
    (cel.join_makes_too_much(100000), "join makes a text of more than 100000 characters"),
    (cel.too_many_parts(30000, 20000), "a list of 30000 parts of a text is made, at most 20000 are allowed"),
    (cel.NETWORK_EXPECTED, "expected an address, a slash and a number of bits"),
    (cel.library_missing("cel"), "cel is not there (expected the package common-expression-language)"),
    (cel.UNDEFINED, "Undefined variable or function"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
