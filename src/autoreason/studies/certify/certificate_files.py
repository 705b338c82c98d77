"""Certificates on the user's machine: one file per judge, written whole or not at all."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from autoreason.files import write
from autoreason.paths import certificates_folder
from autoreason.report.report import plain_values
from autoreason.story import Story
from autoreason.studies.certify.certificate import Certificate, certificate_of

_MAX_NAME = 180


class StoredCertificate(Struct, frozen=True, kw_only=True):
    """A certificate with the run it comes from."""

    certificate: Certificate
    run: str
    date: datetime

    def to_dict(self) -> dict[str, Any]:
        """The verdict first, then all of it, as plain values."""
        one = self.certificate
        verdict = {
            "conclusion": one.conclusion,
            "model": one.model,
            "verdict": one.verdict,
            "failed": one.failed,
        }
        return verdict | plain_values(self)


def certificate_path(model: str, base_url: str | None = None) -> Path:
    """The file of one judge; the same model on another server is another judge."""
    name = quote(f"{model}@{base_url}" if base_url else model, safe="")
    if len(name) > _MAX_NAME:
        name = f"{name[:_MAX_NAME]}-{blake2b(name.encode(), digest_size=8).hexdigest()}"
    return certificates_folder() / f"{name}.json"


def keep_certificate(story: Story, run: str, *, if_missing: bool = False) -> None:
    """Store the certificate of a run; `if_missing`, only where the judge has none."""
    certificate = certificate_of(story)
    if not (if_missing and find_certificate(certificate.model, certificate.base_url)):
        write_certificate(
            StoredCertificate(certificate=certificate, run=run, date=datetime.now(UTC))
        )


def write_certificate(stored: StoredCertificate) -> Path:
    """Write a certificate in place of an older one of the same judge; a reader never sees half of it."""
    path = certificate_path(stored.certificate.model, stored.certificate.base_url)
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, msgspec.json.format(msgspec.json.encode(stored), indent=2).decode(), private=True)
    return path


def find_certificate(model: str, base_url: str | None = None) -> StoredCertificate | None:
    """The certificate of a judge; a damaged file is no certificate."""
    stored = _read_certificate(certificate_path(model, base_url))
    if stored is None or stored.certificate.model != model:
        # A disk that ignores case may return another judge's.
        return None
    return stored


def all_certificates() -> list[StoredCertificate]:
    """Every certificate that can be read, by judge."""
    read = [_read_certificate(path) for path in certificates_folder().glob("*.json")]
    stored = [each for each in read if each]
    return sorted(stored, key=lambda s: (s.certificate.model, s.certificate.base_url or ""))


def _read_certificate(path: Path) -> StoredCertificate | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=StoredCertificate)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
