"""What is said of the address and the credentials of a daemon, and of one that does not answer as it should."""

from __future__ import annotations

# -- the flags that name a daemon --------------------------------------------------------------------------------------


def no_url(given: str, default: str) -> str:
    return f"--daemon {given!r}: expected a URL such as {default}, or host:port"


CREDENTIALS_IN_URL = "--daemon: has a name or a password in it (expected --daemon-token-file FILE)"


def reached_without_tls(flag: str, server: str) -> str:
    return f"--daemon-{flag}: {server} is reached without TLS (expected --daemon https://…)"


CERTIFICATE_WITHOUT_KEY = "--daemon-cert-file and --daemon-key-file are needed together"


def bad_certificate(cert_file: object, key_file: object, why: str) -> str:
    return (
        f"--daemon-cert-file {cert_file}, --daemon-key-file {key_file}: {why} (expected a certificate and its key as "
        "PEM files)"
    )


# -- a daemon that does not answer, or not as a daemon does ------------------------------------------------------------

REACHING = (
    "is vsched running there? --daemon URL says where; kubectl -n vsched port-forward svc/vsched-leader 8080 leads "
    "there"
)
LETTING_IN = "--daemon-token-file FILE, or --daemon-cert-file and --daemon-key-file, say who you are"
PERMITTING = "a role with nonResourceURLs gives it, or --allow-user and --allow-group of vsched run"
TRUSTING = "--daemon-ca-file FILE names its CA, --daemon-server-name NAME the name on its certificate"


def unknown_caller(where: str, why: str) -> str:
    return f"{where}: does not know the caller: {why} ({LETTING_IN})"


def serves_no(where: str, path: str) -> str:
    return f"{where}: serves no {path} (is it vsched, and of this version?)"


IS_THE_SERVER_URL = ": is the server URL"


def no_daemon(where: str, why: str) -> str:
    return f"{where}: {why} (is it vsched?)"


PAGE_NOT_FOUND = "404 page not found"


def not_trusted(why: str) -> str:
    return f"its certificate is not trusted: {why} ({TRUSTING})"


def answers_without_tls(why: str) -> str:
    return f"{why} (does it serve plain http:// there?)"


UNKNOWN_HOST = f"unknown host ({REACHING})"
NOBODY_LISTENS = "nobody listens there"
NOBODY_LISTENS_REACHING = f"nobody listens there ({REACHING})"


def answers_over_tls(why: str) -> str:
    return f"{why} (does it serve https:// there?)"


CHECK_AUTHORITY = "; check certificate-authority"


# -- answers -----------------------------------------------------------------------------------------------------------


def which_version(version: str) -> str:
    return f"is it vsched, and of this version, {version}?"


def answer_cannot_be_read(where: str, why: str, asked: str) -> str:
    return f"{where}: its answer cannot be read: {why} ({asked})"


def no_shadow(where: str) -> str:
    return f"{where} is no shadow (expected a daemon with vsched run --shadow)"


# -- the stream of overviews -------------------------------------------------------------------------------------------


def unreadable(why: str) -> str:
    return f"the answer cannot be read: {why}"


STREAM_ENDED = "the daemon ended the stream"


def event_too_long(most_bytes: int) -> str:
    return f"an event is longer than {most_bytes} bytes (is it vsched?)"


def out_of_order(version: int) -> str:
    return f"an update to version {version} came out of order"


def unreadable_by_this_version(why: object) -> str:
    return f"the answer cannot be read: {why} (is it vsched, and of this version?)"
