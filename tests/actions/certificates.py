"""Creates a certificate authority and a certificate for this machine, in a folder."""

import sys
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

YEARS = timedelta(days=3650)


def certificate(name, key, issuer, issuer_key, extensions):
    def x509_name(text):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(x509_name(issuer), x509_name(name), key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + YEARS)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def main():
    folder = Path(sys.argv[1])
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    is_authority = x509.BasicConstraints(ca=True, path_length=None)
    names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    alternative_names = x509.SubjectAlternativeName(names)
    issuer = "Minutehand tests"
    folder.joinpath("authority.pem").write_bytes(
        certificate(issuer, authority_key, issuer, authority_key, [is_authority])
    )
    folder.joinpath("certificate.pem").write_bytes(
        certificate("localhost", key, issuer, authority_key, [alternative_names])
    )
    folder.joinpath("key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


if __name__ == "__main__":
    main()
