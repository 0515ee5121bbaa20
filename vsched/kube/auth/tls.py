"""The TLS context of a connection: which certificates are trusted and which one is shown."""

from __future__ import annotations

import base64
import binascii
import ssl
import tempfile
from pathlib import Path

import msgspec

from vsched.errors import BadInput
from vsched.files import content
from vsched.kube.errors import one_line
from vsched.kube.words import auth as words


class Material(msgspec.Struct, frozen=True):
    """Certificates and keys, each as a file or as base64 in place; the latter wins."""

    authority_file: Path | None = None
    authority_data: str = ""
    certificate_file: Path | None = None
    certificate_data: str = ""
    key_file: Path | None = None
    key_data: str = ""
    verify: bool = True
    below: tuple[str, ...] | None = None
    """Files have to be in one of these directories; None for anywhere."""


def client_context(where: str, material: Material) -> ssl.SSLContext:
    """A context for talking to an API server; ``where`` opens the text of every complaint."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not material.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        _trust(where, context, material)
    _show(where, context, material)
    return context


def _trust(where: str, context: ssl.SSLContext, material: Material) -> None:
    pem = _content(where, "certificate-authority", material.authority_file, material.authority_data, material.below)
    if pem is None:
        context.load_default_certs()
        return
    try:
        context.load_verify_locations(cadata=pem.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise BadInput(words.no_authority(where, _why(error))) from error


def _show(where: str, context: ssl.SSLContext, material: Material) -> None:
    certificate = _content(
        where, "client-certificate", material.certificate_file, material.certificate_data, material.below
    )
    key = _content(where, "client-key", material.key_file, material.key_data, material.below)
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        missing = "client-certificate" if certificate is None else "client-key"
        raise BadInput(words.half_a_certificate(where, missing))
    # The ssl module reads certificates from files only; this one is private to us and gone in a moment.
    try:
        with tempfile.NamedTemporaryFile(prefix="vsched-", suffix=".pem") as file:
            file.write(certificate.rstrip() + b"\n" + key)
            file.flush()
            context.load_cert_chain(file.name)
    except (ssl.SSLError, ValueError) as error:
        raise BadInput(words.certificate_does_not_fit(where, _why(error))) from error
    except OSError as error:  # a full disk, or no directory that can be written to
        raise BadInput(words.no_temporary_file(where, error.strerror or str(error))) from error


def _content(where: str, field: str, file: Path | None, data: str, below: tuple[str, ...] | None) -> bytes | None:
    if data:
        try:
            return base64.b64decode("".join(data.split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise BadInput(words.not_base64(where, field, error)) from error
    if file is None:
        return None
    try:
        return content(file, below=below)
    except BadInput as error:
        raise BadInput(f"{where}: {field} {error}") from error


def _why(error: Exception) -> str:
    return one_line(str(error))
