"""Who may ask, and what is wrong with certificates, tokens and addresses."""

from __future__ import annotations

# -- who may ask -------------------------------------------------------------------------------------------------------

CLIENT_CERTIFICATE = "a client certificate"
BEARER_TOKEN = "a bearer token"


def may_not(name: str, method: str, path: str) -> str:
    return f"{name} may not {method} {path}"


TOKEN_NOT_KNOWN = "the bearer token is not known"


def this_machine_only(path: str) -> str:
    return f"{path} is served to this machine only without authentication (--authentication none)"


# -- reviews by the API server -----------------------------------------------------------------------------------------


def too_many(what: str) -> str:
    return f"too many {what} at once"


REVIEW_FAILED = "access review failed"
"""An event of the log."""


def cannot_be_reached(what: str) -> str:
    return f"the API server cannot be reached for {what} at the moment"


def answered(code: int) -> str:
    return f"the API server answered {code}"


def no_answer_within(seconds: float) -> str:
    return f"no answer within {seconds:g} s"


NO_REVIEW = "the API server's answer is not a review"

# -- files that change -------------------------------------------------------------------------------------------------


def back_to(what: str) -> str:
    return f"back to the {what} in use"


def previous_stays(why: Exception, what: str) -> str:
    return f"{why}; the previous {what} stays in use"


def new_in_use(what: str, file: object) -> str:
    return f"new {what} in use, from {file}"


# -- certificates ------------------------------------------------------------------------------------------------------

CERTIFICATE_FLAGS = "--tls-cert-file and --tls-private-key-file"


def certificate_unusable(flags: str, certificate: object, key: object, why: str) -> str:
    expected = "expected a certificate and its key without a password, in PEM form"
    return f"{flags}: {certificate} and {key}: cannot be used: {why} ({expected})"


def authorities_unusable(flag: str, file: object, why: str) -> str:
    return f"{flag}: {file}: cannot be used: {why} (expected certificates in PEM form)"


# -- tokens ------------------------------------------------------------------------------------------------------------

TOKENS_EXPECTED = 'expected token,user,uid,"group,group" a line'
LIST_OF_TOKENS = "list of tokens"


def not_utf_8(where: str) -> str:
    return f"{where}: cannot be read: is not text in UTF-8"


def token_unusable(at: str, least: int) -> str:
    return f"{at}: the token cannot be used (expected at least {least} letters without spaces)"


def token_twice(at: str) -> str:
    return f"{at}: the token is also on an earlier line"


def tokens_empty(where: str) -> str:
    return f"{where}: is empty ({TOKENS_EXPECTED})"


def too_many_tokens(where: str, tokens: int, most: int) -> str:
    return f"{where}: holds {tokens} tokens (expected at most {most})"


# -- addresses ---------------------------------------------------------------------------------------------------------


def bad_address(what: str, text: str) -> str:
    return f"{what}: {text!r} is not an address (expected HOST:PORT or :PORT, as :8080)"


def cannot_listen(what: str, address: str, why: object) -> str:
    return f"{what}: cannot listen on {address}: {why}"
