"""What is said of daemons that programs and commands ask."""

from __future__ import annotations

from vsched.client import words

SENTENCES = [
    (
        words.no_url("::", "http://localhost:8080"),
        "--daemon '::': expected a URL such as http://localhost:8080, or host:port",
    ),
    (words.CREDENTIALS_IN_URL, "--daemon: has a name or a password in it (expected --daemon-token-file FILE)"),
    (
        words.reached_without_tls("token-file", "http://10.0.0.1:8080"),
        "--daemon-token-file: http://10.0.0.1:8080 is reached without TLS (expected --daemon https://…)",
    ),
    (words.CERTIFICATE_WITHOUT_KEY, "--daemon-cert-file and --daemon-key-file are needed together"),
    (
        words.bad_certificate("a.crt", "a.key", "it is gone"),
        "--daemon-cert-file a.crt, --daemon-key-file a.key: it is gone (expected a certificate and its "
        "key as PEM files)",
    ),
    (
        words.REACHING,
        "is vsched running there? --daemon URL says where; kubectl -n vsched port-forward "
        "svc/vsched-leader 8080 leads there",
    ),
    (words.LETTING_IN, "--daemon-token-file FILE, or --daemon-cert-file and --daemon-key-file, say who you are"),
    (words.PERMITTING, "a role with nonResourceURLs gives it, or --allow-user and --allow-group of vsched run"),
    (words.TRUSTING, "--daemon-ca-file FILE names its CA, --daemon-server-name NAME the name on its certificate"),
    (
        words.unknown_caller("http://127.0.0.1:8080", "it is gone"),
        "http://127.0.0.1:8080: does not know the caller: it is gone (--daemon-token-file FILE, or "
        "--daemon-cert-file and --daemon-key-file, say who you are)",
    ),
    (
        words.serves_no("http://127.0.0.1:8080", "/api/v1/pods"),
        "http://127.0.0.1:8080: serves no /api/v1/pods (is it vsched, and of this version?)",
    ),
    (words.IS_THE_SERVER_URL, ": is the server URL"),
    (words.no_daemon("http://127.0.0.1:8080", "it is gone"), "http://127.0.0.1:8080: it is gone (is it vsched?)"),
    (words.PAGE_NOT_FOUND, "404 page not found"),
    (
        words.not_trusted("it is gone"),
        "its certificate is not trusted: it is gone (--daemon-ca-file FILE names its CA, "
        "--daemon-server-name NAME the name on its certificate)",
    ),
    (words.answers_without_tls("it is gone"), "it is gone (does it serve plain http:// there?)"),
    (
        words.UNKNOWN_HOST,
        "unknown host (is vsched running there? --daemon URL says where; kubectl -n vsched port-forward "
        "svc/vsched-leader 8080 leads there)",
    ),
    (words.NOBODY_LISTENS, "nobody listens there"),
    (
        words.NOBODY_LISTENS_REACHING,
        "nobody listens there (is vsched running there? --daemon URL says where; kubectl -n vsched "
        "port-forward svc/vsched-leader 8080 leads there)",
    ),
    (words.answers_over_tls("it is gone"), "it is gone (does it serve https:// there?)"),
    (words.CHECK_AUTHORITY, "; check certificate-authority"),
    (words.which_version("0.9.0"), "is it vsched, and of this version, 0.9.0?"),
    (
        words.answer_cannot_be_read("http://127.0.0.1:8080", "it is cut off", "is it vsched?"),
        "http://127.0.0.1:8080: its answer cannot be read: it is cut off (is it vsched?)",
    ),
    (words.unreadable("it is gone"), "the answer cannot be read: it is gone"),
    (words.STREAM_ENDED, "the daemon ended the stream"),
    (words.event_too_long(1000), "an event is longer than 1000 bytes (is it vsched?)"),
    (words.out_of_order(3), "an update to version 3 came out of order"),
    (
        words.unreadable_by_this_version("it is gone"),
        "the answer cannot be read: it is gone (is it vsched, and of this version?)",
    ),
    (
        words.no_shadow("http://127.0.0.1:8080"),
        "http://127.0.0.1:8080 is no shadow (expected a daemon with vsched run --shadow)",
    ),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
