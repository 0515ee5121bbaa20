"""New certificates of a server, each by an authority of its own that is thrown away. Apart because they are random."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from vsched.daemon.system.served_pair import ServedPair

END = b"-----END CERTIFICATE-----"
EARLIER = timedelta(minutes=5)
"""Clocks of machines differ."""


def new_pair(names: Sequence[str], now: float, days: float, before: ServedPair | None) -> ServedPair:
    """A pair for these DNS names; takes a few milliseconds. ``now`` is seconds since the epoch."""
    began = datetime.fromtimestamp(now, UTC) - EARLIER
    ended = began + timedelta(days=days) + EARLIER
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"vsched {began:%Y-%m-%d}")])
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))

    def begin(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return x509.CertificateBuilder(
            issuer, subject, public, x509.random_serial_number(), began, ended
        ).add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)

    authority = (
        begin(issuer, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    certificate = (
        begin(x509.Name([]), key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    old = before.authorities.partition(END)[:2] if before is not None else ()
    return ServedPair(
        authority.public_bytes(pem) + b"".join(old) + (b"\n" if old else b""), certificate.public_bytes(pem), private
    )


def is_due(pair: ServedPair, names: Sequence[str], now: float) -> bool:
    """Whether a pair should be replaced: two thirds of its time are over, it is for other names, or cannot be read."""
    try:
        found = x509.load_pem_x509_certificate(pair.certificate)
        known = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return True
    begun, ends = found.not_valid_before_utc.timestamp(), found.not_valid_after_utc.timestamp()
    return not set(names) <= set(known.get_values_for_type(x509.DNSName)) or now >= begun + (ends - begun) * 2 / 3
