"""New key pairs for the ssh plugin. Apart from the rest because they are random."""

from __future__ import annotations

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from vsched.controllers.vcjobs.plugins import KeyPair

_BITS = 2048


def new_keys() -> KeyPair:
    """A new pair of RSA keys; takes a tenth of a second or more, so not for the event loop."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=_BITS)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return KeyPair(private.decode(), f"{public.decode()}\n")
