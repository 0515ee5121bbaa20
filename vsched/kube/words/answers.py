"""What is said of requests to the API server and of its answers."""

from __future__ import annotations

# -- what is asked for -------------------------------------------------------------------------------------------------


def no_namespace(plural: str, namespace: str) -> str:
    return f"{plural} have no namespace, so {namespace!r} cannot be asked for"


def namespace_missing(plural: str, name: str) -> str:
    return f"{plural} {name!r} cannot be asked for without its namespace"


def name_missing(plural: str, subresource: str) -> str:
    return f"{plural}: the subresource {subresource!r} needs the name of an object"


def no_name(text: str) -> str:
    return f"{text!r} is not the name of an object"


def not_in_a_url(method: str, path: str) -> str:
    return f"{method} {path!a}: cannot be asked for: it has letters that cannot be in a URL"


def client_is_closed(where: str) -> str:
    return f"{where}: the client is closed"


def header_cannot_be_sent(name: str) -> str:
    return f"the header {name!a} holds characters that cannot be sent"


# -- connections -------------------------------------------------------------------------------------------------------

CLIENT_IS_CLOSED = "the client is closed"


def no_connection_in_time(why: str) -> str:
    return f"{why} [no connection in time]"


def cannot_connect(host: str, port: int) -> str:
    return f"Cannot connect to host {host}:{port}"


def handshake_failed(why: str) -> str:
    return f"the TLS handshake failed: {why}; check certificate-authority and the server's name"


def proxy_answered(status: int, message: str) -> str:
    return f"the proxy answered {status}: {message}"


def no_answer_within(seconds: float) -> str:
    return f"no answer within {seconds:.1f} s"


# -- HTTP --------------------------------------------------------------------------------------------------------------

TOO_LONG = "the answer is too long"


def head_is_longer(most: int) -> str:
    return f"the head of the answer is longer than {most} bytes"


ANOTHER_PROTOCOL = "the server wants to speak another protocol"


def encoded_otherwise(encoding: str) -> str:
    return f"the answer is encoded as {encoding}, which was not asked for"


LENGTH_UNKNOWN = "nobody can say how long the answer is"


def bad_length(length: str) -> str:
    return f"the length of the answer is {length}"


def bad_chunk(length: bytes) -> str:
    return f"the answer has a chunk of the length {length!a}"


CHUNK_IS_LONGER = "a chunk of the answer is longer than it says"


def line_is_longer(most: int) -> str:
    return f"a line of the answer is longer than {most} bytes"


def no_http(start: str) -> str:
    return f"what came is no HTTP: it starts with {start}"


def bad_header(header: str) -> str:
    return f"the answer has the header {header}"


BREAKS_OFF = "the packed answer breaks off"


def cannot_be_unpacked(why: Exception) -> str:
    return f"the answer cannot be unpacked: {why}"


def unpacks_to_more(mib: int) -> str:
    return f"the answer unpacks to more than {mib} MiB"


# -- what it says ------------------------------------------------------------------------------------------------------


def answer_is_longer(most: int) -> str:
    return f"the answer is longer than {most} bytes"


def not_json(why: str) -> str:
    return f"answered with something that is not JSON: {why}"


def not_an_object(kind: str) -> str:
    return f"answered with a JSON {kind}, expected an object"


def redirects(target: str) -> str:
    return f"redirects to {target}: is the server URL that of a Kubernetes API?"


def web_page_with_reason(reason: str, title: str) -> str:
    return f"{reason} (a web page{title}, so from something in front of the API server)"


def web_page(title: str) -> str:
    return f"answered with a web page{title}, not JSON: is the server URL that of a Kubernetes API?"


def starts_with(why: str, start: str) -> str:
    return f"{why}; the answer starts with {start!r}"


NO_REASON = "no reason given"
