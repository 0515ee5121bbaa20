"""What is wrong with options of the daemon, or with what the service manager gives it."""

from __future__ import annotations

# -- the policy and what it may name -----------------------------------------------------------------------------------

TWO_POLICIES = "--scheduler-configmap: given besides --scheduler-conf; one of them is enough"
ENV_PREFIX_EXPECTED = "--policy-env-prefix: '' (expected the beginning of variable names)"


def directory_expected(directory: str) -> str:
    return f"--policy-files: {directory!r} (expected a directory that begins with /)"


# -- what the daemon does ----------------------------------------------------------------------------------------------

NOTHING_TO_DO = "--no-schedule: leaves nothing to do (expected --arbitrate with it)"
NO_WORK_TO_RECORD = (
    "--record-work: this daemon does not see all work (expected no --shards, no --no-schedule; or vsched record)"
)
NO_WORKLOADS = "--workloads: has no effect with --no-schedule, which places no pods"
NOTHING_TO_REVIEW = "--webhook-address: there is nothing to review (expected --arbitrate or --job-controller with it)"
WEBHOOK_WITHOUT_TLS = (
    "--webhook-address: webhooks are called over TLS only (expected --tls-cert-file and --tls-private-key-file)"
)


NO_OPENTELEMETRY = "--otlp-endpoint: OpenTelemetry is not installed (expected: pip install 'vsched[otel]')"
AUDIT_WITHOUT_ENDPOINT = "--audit-log-otlp: there is no collector to send to (expected --otlp-endpoint with it)"


def bad_otlp_endpoint(given: str) -> str:
    return f"--otlp-endpoint {given!r}: expected a URL such as http://collector:4318, without a password in it"


JOB_NAMESPACES_WITHOUT_JOBS = "--job-namespace: no vcjobs are run (expected --schedule and --job-controller with it)"


def not_with_vcjobs_only(flag: str) -> str:
    return f"{flag}: cannot be used with --vcjobs only, which runs vcjobs and nothing else"


SECRET_WITHOUT_NAMES = (
    "--tls-secret: the certificate has no names or no place (expected --tls-name, --tls-cert-file and "
    "--tls-private-key-file with it)"
)
NAMES_WITHOUT_SECRET = "--tls-name, --webhook-configuration: no certificate is made (expected --tls-secret with them)"


def not_in_a_shadow(flag: str) -> str:
    return f"{flag}: cannot be used with --shadow, which writes nothing to the cluster"


# -- names -------------------------------------------------------------------------------------------------------------


def bad_command_namespace(name: str) -> str:
    return f"--command-namespace: {name!r} is not the name of a namespace"


def bad_job_namespace(name: str) -> str:
    return f"--job-namespace: {name!r} is not the name of a namespace"


def bad_volcano_namespace(name: str) -> str:
    return f"--volcano-namespace: {name!r} is not the name of a namespace"


def bad_user_key(key: str) -> str:
    return f"--user-key: {key!r} (expected the key of a label, as example.com/user)"


def bad_sharding_name(name: str) -> str:
    return f"--scheduler-sharding-name: {name!r} is not the name of a NodeShard"


def bad_node_pool_label(key: str) -> str:
    return f"--node-pool-label: {key!r} (expected the key of a label)"


# -- several daemons ---------------------------------------------------------------------------------------------------


def bad_shards(shards: int, most: int) -> str:
    return f"--shards: {shards} (expected 1 to {most})"


SHARDS_WITHOUT_LEASES = "--shards: each shard has a Lease (expected --leader-elect with it)"


def bad_lease_name(name: str) -> str:
    return f"--leader-elect-resource-name: {name!r} (expected a label's value, with --leader-pod)"


def no_port(address: str) -> str:
    return f"--leader-endpoints: {address!r} has no port (expected --listen-address :PORT)"


def bad_advertise_address(address: str) -> str:
    return f"--advertise-address: {address!r} (expected an IP address, with --leader-endpoints)"


# -- who may ask -------------------------------------------------------------------------------------------------------


def listens_without_tls(way: str) -> str:
    return f"{way}: --listen-address is without TLS (expected --tls-cert-file, and --tls-on listen)"


def no_client_possible(way: str) -> str:
    return f"{way}: no client could be authenticated (expected --client-ca-file)"


TOKEN_FILE_ALONE = "--token-file: goes with --authentication token-file, and that with it"
AUDIENCE_WITHOUT_EFFECT = "--token-audience: has no effect here (expected --authentication tokenreview)"
CLIENT_CA_WITHOUT_TLS = "--webhook-client-ca-file: there is no webhook without TLS (expected --tls-cert-file)"
HEALTHZ_WITHOUT_CERTIFICATE = "--tls-on healthz: there is no certificate (expected --tls-cert-file)"


def needs_authentication(flag: str) -> str:
    return f"{flag}: needs authentication (expected --authentication other than none)"


def half_a_certificate(flag: str) -> str:
    return f"{flag}: missing (a certificate and its key are needed together)"


# -- the service manager -----------------------------------------------------------------------------------------------


def bad_socket(address: str) -> str:
    return f"NOTIFY_SOCKET: {address!r} is not a socket (expected /PATH or @NAME)"


def bad_watchdog(text: str) -> str:
    return f"WATCHDOG_USEC: {text!r} is not a number of microseconds"
