"""What is said of the connection to the API server, and of leases."""

from __future__ import annotations

from vsched.kube.words import answers, auth, leases, watching

SENTENCES = [
    # kube/words/auth
    (
        auth.NO_CLUSTER,
        (
            "no cluster to connect to: no --kubeconfig, KUBECONFIG is not set, ~/.kube/config does not "
            "exist and this is not a pod; name a file with --kubeconfig FILE"
        ),
    ),
    (
        auth.named_does_not_exist("/home/me/config"),
        "kubeconfig /home/me/config: does not exist; name another with --kubeconfig FILE",
    ),
    (
        auth.does_not_exist("/home/me/config"),
        "kubeconfig /home/me/config: does not exist; it is named by KUBECONFIG: correct or unset it",
    ),
    (auth.too_large("/home/me/config", 1), "kubeconfig /home/me/config: is larger than 1 MiB"),
    (
        auth.nested_too_deeply("/home/me/config"),
        "kubeconfig /home/me/config: is nested too deeply, expected clusters, users and contexts",
    ),
    (auth.cannot_be_read("/home/me/config", "it is gone"), "kubeconfig /home/me/config: cannot be read: it is gone"),
    (auth.not_utf_8("/home/me/config"), "kubeconfig /home/me/config: is not text in UTF-8"),
    (
        auth.second_document("/home/me/config", ":3:1"),
        "kubeconfig /home/me/config:3:1: a second document begins here, expected one",
    ),
    (auth.not_yaml("/home/me/config", ":3:1", "unreadable"), "kubeconfig /home/me/config:3:1: is not YAML: unreadable"),
    (
        auth.not_a_kubeconfig("/home/me/config", "a list"),
        "kubeconfig /home/me/config: is a list, expected clusters, users and contexts",
    ),
    (auth.ANOTHER_DOCUMENT, "but found another document"),
    (
        auth.no_context_set("kubeconfig config", "; there is prod"),
        "kubeconfig config: no current-context is set; choose one with --context; there is prod",
    ),
    (
        auth.no_context("kubeconfig config", "prd", "", "; there is prod"),
        "kubeconfig config: there is no context 'prd'; there is prod",
    ),
    (
        auth.no_cluster("kubeconfig config: context 'prod'", "prd", "; there is prod"),
        "kubeconfig config: context 'prod': there is no cluster 'prd'; there is prod",
    ),
    (
        auth.no_user("kubeconfig config: context 'prod'", "me", "; the file has none"),
        "kubeconfig config: context 'prod': there is no user 'me'; the file has none",
    ),
    (auth.there_is("prod, test"), "; there is prod, test"),
    (auth.THERE_IS_NONE, "; the file has none"),
    (
        auth.login_in_address("kubeconfig config: context 'prod'", "prod"),
        (
            "kubeconfig config: context 'prod': server of cluster 'prod' has a name or a password in it, "
            "expected them in the entry of the user"
        ),
    ),
    (
        auth.no_address("kubeconfig config: context 'prod'", "prod", "prod"),
        (
            "kubeconfig config: context 'prod': server of cluster 'prod' is 'prod', expected a URL like "
            "https://host:6443"
        ),
    ),
    (
        auth.bad_address("kubeconfig config: context 'prod'", "prod", "https://", "it names no host"),
        (
            "kubeconfig config: context 'prod': server of cluster 'prod' is 'https://': it names no host, "
            "expected a URL like https://host:6443"
        ),
    ),
    (auth.NO_HOST, "it names no host"),
    (auth.PORT_ZERO, "there is no port 0"),
    (auth.HAS_QUERY, "it has a query"),
    (auth.LETTERS_NOT_IN_URL, "it has letters that cannot be in a URL"),
    (auth.scheme_not_spoken("socks5"), "'socks5' is not spoken here"),
    (
        auth.bad_proxy("kubeconfig config: context 'prod'", "prod", "it names no host"),
        (
            "kubeconfig config: context 'prod': proxy-url of cluster 'prod' cannot be used: it names no "
            "host, expected one like http://proxy:3128"
        ),
    ),
    (
        auth.no_authority("kubeconfig config", "it is cut off"),
        "kubeconfig config: certificate-authority holds no certificate in PEM form: it is cut off",
    ),
    (
        auth.half_a_certificate("kubeconfig config", "client-key"),
        "kubeconfig config: client-key is missing: a client certificate and its key are needed together",
    ),
    (
        auth.no_temporary_file("kubeconfig config", "No space left on device"),
        "kubeconfig config: client-certificate: cannot be put into a temporary file, from which it has to be read: "
        "No space left on device",
    ),
    (
        auth.certificate_does_not_fit("kubeconfig config", "it is cut off"),
        "kubeconfig config: client-certificate and client-key do not fit: it is cut off",
    ),
    (
        auth.not_base64("kubeconfig config", "client-key", ValueError("it is cut off")),
        "kubeconfig config: client-key-data is not base64: it is cut off",
    ),
    (
        auth.no_service("in a pod"),
        "in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are both needed in a pod",
    ),
    (
        auth.no_token_mounted("in a pod", ValueError("it is gone")),
        "in a pod: it is gone; does the pod set automountServiceAccountToken: false?",
    ),
    (auth.TOKEN_CANNOT_BE_SENT, "the token holds characters that cannot be sent in a header"),
    (auth.token_file(ValueError("it is gone")), "token file it is gone"),
    (auth.token_not_utf_8("/run/token"), "token file /run/token: cannot be read: is not text in UTF-8"),
    (auth.token_is_empty("/run/token"), "token file /run/token: is empty, expected a bearer token"),
    (auth.no_credentials_in_time("exec", 30), "exec: the plugin gave no credentials within 30 s"),
    (auth.no_credentials("exec", "it is gone"), "exec: the plugin gave no credentials: it is gone"),
    (auth.neither_token_nor_certificate("exec"), "exec: the plugin gave neither a token nor a certificate"),
    (auth.PROCESS_STOPPED, "exec: process returned 124"),
    # kube/words/answers
    (answers.no_namespace("nodes", "team"), "nodes have no namespace, so 'team' cannot be asked for"),
    (answers.namespace_missing("pods", "p-0"), "pods 'p-0' cannot be asked for without its namespace"),
    (answers.name_missing("pods", "binding"), "pods: the subresource 'binding' needs the name of an object"),
    (answers.no_name("a/b"), "'a/b' is not the name of an object"),
    (
        answers.not_in_a_url("GET", "/api/v1/a b"),
        "GET '/api/v1/a b': cannot be asked for: it has letters that cannot be in a URL",
    ),
    (answers.client_is_closed("GET /api/v1/pods"), "GET /api/v1/pods: the client is closed"),
    (answers.header_cannot_be_sent("Authorization"), "the header 'Authorization' holds characters that cannot be sent"),
    (answers.CLIENT_IS_CLOSED, "the client is closed"),
    (
        answers.no_connection_in_time("Cannot connect to host h:6443"),
        "Cannot connect to host h:6443 [no connection in time]",
    ),
    (answers.cannot_connect("h", 6443), "Cannot connect to host h:6443"),
    (
        answers.handshake_failed("self-signed certificate"),
        "the TLS handshake failed: self-signed certificate; check certificate-authority and the server's name",
    ),
    (answers.proxy_answered(403, "Forbidden"), "the proxy answered 403: Forbidden"),
    (answers.no_answer_within(2.0), "no answer within 2.0 s"),
    (answers.TOO_LONG, "the answer is too long"),
    (answers.head_is_longer(65536), "the head of the answer is longer than 65536 bytes"),
    (answers.ANOTHER_PROTOCOL, "the server wants to speak another protocol"),
    (answers.encoded_otherwise("'br'"), "the answer is encoded as 'br', which was not asked for"),
    (answers.LENGTH_UNKNOWN, "nobody can say how long the answer is"),
    (answers.bad_length("'ten'"), "the length of the answer is 'ten'"),
    (answers.bad_chunk(b"xyz"), "the answer has a chunk of the length b'xyz'"),
    (answers.CHUNK_IS_LONGER, "a chunk of the answer is longer than it says"),
    (answers.line_is_longer(8192), "a line of the answer is longer than 8192 bytes"),
    (answers.no_http("'SSH-2.0'"), "what came is no HTTP: it starts with 'SSH-2.0'"),
    (answers.bad_header("'x y'"), "the answer has the header 'x y'"),
    (answers.BREAKS_OFF, "the packed answer breaks off"),
    (answers.cannot_be_unpacked(ValueError("it is cut off")), "the answer cannot be unpacked: it is cut off"),
    (answers.unpacks_to_more(512), "the answer unpacks to more than 512 MiB"),
    (answers.answer_is_longer(1024), "the answer is longer than 1024 bytes"),
    (answers.not_json("it is cut off"), "answered with something that is not JSON: it is cut off"),
    (answers.not_an_object("list"), "answered with a JSON list, expected an object"),
    (answers.redirects("https://login"), "redirects to https://login: is the server URL that of a Kubernetes API?"),
    (
        answers.web_page_with_reason("Bad Gateway", ' "nginx"'),
        'Bad Gateway (a web page "nginx", so from something in front of the API server)',
    ),
    (
        answers.web_page(' "nginx"'),
        'answered with a web page "nginx", not JSON: is the server URL that of a Kubernetes API?',
    ),
    (
        answers.starts_with("sent an ERROR event without a Status", '{"kind"'),
        "sent an ERROR event without a Status; the answer starts with '{\"kind\"'",
    ),
    (answers.NO_REASON, "no reason given"),
    # kube/words/watching
    (watching.line_is_longer(1024), "a line of the watch is longer than 1024 bytes"),
    (watching.not_a_list("it is cut off"), "answered with something that is not a list: it is cut off"),
    (watching.NO_VERSION, "answered with a list that has no resourceVersion"),
    (watching.not_served("queues"), "the API server serves no queues"),
    (watching.ENDED_EARLY, "ended the watch before the list was complete"),
    (watching.was_away(12.3), "the server was away for 12 s, and is listed again"),
    (
        watching.restored("GET /api/v1/pods", "10", "20"),
        (
            "GET /api/v1/pods: the server is at version 10 and was at 20 before: it was restored from a "
            "backup, and is listed again"
        ),
    ),
    (watching.no_event("it is cut off"), "sent a line that is not a watch event: it is cut off"),
    (watching.unknown_event("MOVED"), "sent a watch event of the unknown type 'MOVED'"),
    (watching.NO_STATUS, "sent an ERROR event without a Status"),
    (watching.BOOKMARK_EARLY, "sent a bookmark before the list was complete"),
    # kube/words/leases
    (
        leases.bad_name("name", "A b"),
        "lease: name 'A b': expected lower-case letters, digits and dashes, as in 'vsched'",
    ),
    (leases.bad_duration(0.5, 3600), "lease: duration 0.5s: expected whole seconds from 1 to 3600"),
    (leases.bad_retry_period(0), "lease: retry period 0s: expected a time above 0"),
    (
        leases.bad_deadline(1, "more than 1.2 times the retry period of 2s"),
        "lease: renew deadline 1s: expected more than 1.2 times the retry period of 2s",
    ),
    (leases.more_than_retries(1.2, 2), "more than 1.2 times the retry period of 2s"),
    (leases.duration_too_short(10, 12), "lease: duration 10s: expected more than the renew deadline of 12s"),
    (leases.not_renewed_for(10.0), "not renewed for 10.0 s"),
    (leases.taken_by("vsched-1"), "taken by vsched-1"),
    (leases.TAKEN_BACK, "taken back by somebody else"),
    (leases.lease_is_lost("vsched/vsched", "taken by vsched-1"), "lease vsched/vsched is lost: taken by vsched-1"),
    (leases.NO_ANSWER, "no answer in time"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
