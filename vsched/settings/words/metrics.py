"""What is said of the source that real usage is collected from."""

from __future__ import annotations

# -- what is wrong -----------------------------------------------------------------------------------------------------


def given_besides(key: str, other: str) -> str:
    return f"{key}: given besides {other}; one of them is enough"


def part_of_secret_missing(key: str, part: str) -> str:
    return f"{key}Secret.{part}: missing; a Secret is named by namespace, name and key"


ADDRESS_EXPECTED = "address: expected a URL such as http://prometheus:9090"


def address_missing(kind: str) -> str:
    return f"address: missing; a {kind} source needs one, such as http://192.168.0.10:9090"


USERNAME_MISSING = "username: missing; basicauth needs one"
PASSWORD_AND_TOKEN = "basicauth: a name and a password are not used together with a token"


def tls_missing(key: str) -> str:
    return f"tls.{key}: missing; a client certificate and its key are needed together"


LABEL_EXPECTED = "instanceLabel: expected the name of a label, such as instance"

# -- what is not read --------------------------------------------------------------------------------------------------


def not_read(kind: str) -> str:
    return f"a {kind} source does not read it"


NO_SOURCE = "neither a type nor an address is given, so no usage is collected"


def asked_through_cluster(kind: str) -> str:
    return f"not used: a {kind} source is asked through the cluster's API server"


NO_BASICAUTH = "not true, so Prometheus is asked without the user name and the password"
NO_QUERIES = "not used: the metrics server has no queries"
