"""What is said of kubeconfig files, certificates and tokens."""

from __future__ import annotations

# -- which file --------------------------------------------------------------------------------------------------------

NO_CLUSTER = (
    "no cluster to connect to: no --kubeconfig, KUBECONFIG is not set, ~/.kube/config does not "
    "exist and this is not a pod; name a file with --kubeconfig FILE"
)


def named_does_not_exist(file: object) -> str:
    return f"kubeconfig {file}: does not exist; name another with --kubeconfig FILE"


def does_not_exist(file: object) -> str:
    return f"kubeconfig {file}: does not exist; it is named by KUBECONFIG: correct or unset it"


# -- the file ----------------------------------------------------------------------------------------------------------


def too_large(file: object, mib: int) -> str:
    return f"kubeconfig {file}: is larger than {mib} MiB"


def nested_too_deeply(file: object) -> str:
    return f"kubeconfig {file}: is nested too deeply, expected clusters, users and contexts"


def cannot_be_read(file: object, why: str | None) -> str:
    return f"kubeconfig {file}: cannot be read: {why}"


def not_utf_8(file: object) -> str:
    return f"kubeconfig {file}: is not text in UTF-8"


def second_document(file: object, place: str) -> str:
    return f"kubeconfig {file}{place}: a second document begins here, expected one"


def not_yaml(file: object, place: str, why: str) -> str:
    return f"kubeconfig {file}{place}: is not YAML: {why}"


def not_a_kubeconfig(file: object, found: str) -> str:
    return f"kubeconfig {file}: is {found}, expected clusters, users and contexts"


ANOTHER_DOCUMENT = "but found another document"
"""What PyYAML says."""

# -- its entries -------------------------------------------------------------------------------------------------------


def no_context_set(named: str, among: str) -> str:
    return f"{named}: no current-context is set; choose one with --context{among}"


def no_context(named: str, name: str, origin: str, among: str) -> str:
    return f"{named}: there is no context {name!r}{origin}{among}"


def no_cluster(where: str, name: str, among: str) -> str:
    return f"{where}: there is no cluster {name!r}{among}"


def no_user(where: str, name: str, among: str) -> str:
    return f"{where}: there is no user {name!r}{among}"


def there_is(names: str) -> str:
    return f"; there is {names}"


THERE_IS_NONE = "; the file has none"

# -- the address of a server -------------------------------------------------------------------------------------------


def login_in_address(where: str, cluster: str) -> str:
    return (
        f"{where}: server of cluster {cluster!r} has a name or a password in it, expected them in the entry of the user"
    )


def no_address(where: str, cluster: str, server: str) -> str:
    return f"{where}: server of cluster {cluster!r} is {server!r}, expected a URL like https://host:6443"


def bad_address(where: str, cluster: str, server: str, why: str) -> str:
    return f"{where}: server of cluster {cluster!r} is {server!r}: {why}, expected a URL like https://host:6443"


NO_HOST = "it names no host"
PORT_ZERO = "there is no port 0"
HAS_QUERY = "it has a query"
LETTERS_NOT_IN_URL = "it has letters that cannot be in a URL"


def scheme_not_spoken(scheme: str) -> str:
    return f"{scheme!a} is not spoken here"


def bad_proxy(where: str, cluster: str, why: str) -> str:
    return f"{where}: proxy-url of cluster {cluster!r} cannot be used: {why}, expected one like http://proxy:3128"


# -- certificates ------------------------------------------------------------------------------------------------------


def no_authority(where: str, why: str) -> str:
    return f"{where}: certificate-authority holds no certificate in PEM form: {why}"


def half_a_certificate(where: str, missing: str) -> str:
    return f"{where}: {missing} is missing: a client certificate and its key are needed together"


def no_temporary_file(where: str, why: str) -> str:
    return f"{where}: client-certificate: cannot be put into a temporary file, from which it has to be read: {why}"


def certificate_does_not_fit(where: str, why: str) -> str:
    return f"{where}: client-certificate and client-key do not fit: {why}"


def not_base64(where: str, field: str, why: Exception) -> str:
    return f"{where}: {field}-data is not base64: {why}"


# -- tokens and plugins ------------------------------------------------------------------------------------------------


def no_service(where: str) -> str:
    return f"{where}: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are both needed in a pod"


def no_token_mounted(where: str, why: Exception) -> str:
    return f"{where}: {why}; does the pod set automountServiceAccountToken: false?"


TOKEN_CANNOT_BE_SENT = "the token holds characters that cannot be sent in a header"


def token_file(why: Exception) -> str:
    return f"token file {why}"


def token_not_utf_8(path: object) -> str:
    return f"token file {path}: cannot be read: is not text in UTF-8"


def token_is_empty(path: object) -> str:
    return f"token file {path}: is empty, expected a bearer token"


def no_credentials_in_time(where: str, seconds: float) -> str:
    return f"{where}: the plugin gave no credentials within {seconds:g} s"


def no_credentials(where: str, why: str) -> str:
    return f"{where}: the plugin gave no credentials: {why}"


def neither_token_nor_certificate(where: str) -> str:
    return f"{where}: the plugin gave neither a token nor a certificate"


PROCESS_STOPPED = "exec: process returned 124"
"""What kubernetes_asyncio says of a plugin that ``timeout`` stopped."""
