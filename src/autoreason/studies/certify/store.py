"""Certificates on the user's machine: one file a judge, whole or not there."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

import msgspec
from msgspec import Struct

from autoreason.files import write
from autoreason.paths import certificates_folder
from autoreason.story import Story
from autoreason.studies.certify.report import Certificate, certificate_of

_LONGEST_NAME = 180


class Stored(Struct, frozen=True, kw_only=True):
    """A certificate with the run it comes from."""

    certificate: Certificate
    run: str
    date: datetime


def place_of(model: str, base_url: str | None = None) -> Path:
    """The file of one judge; the same model on another server is another judge."""
    name = quote(f"{model}@{base_url}" if base_url else model, safe="")
    if len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME]}-{blake2b(name.encode(), digest_size=8).hexdigest()}"
    return certificates_folder() / f"{name}.json"


def keep_certificate(story: Story, run: str, *, if_missing: bool = False) -> None:
    """Store the certificate that a run came to; `if_missing`, only where the judge has none."""
    certificate = certificate_of(story)
    if not (if_missing and find(certificate.model, certificate.base_url)):
        keep(Stored(certificate=certificate, run=run, date=datetime.now(UTC)))


def keep(stored: Stored) -> Path:
    """Write a certificate in place of an older one of the same judge; a reader never sees half of it."""
    path = place_of(stored.certificate.model, stored.certificate.base_url)
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, msgspec.json.format(msgspec.json.encode(stored), indent=2).decode())
    return path


def find(model: str, base_url: str | None = None) -> Stored | None:
    """The certificate of a judge; a damaged file is no certificate."""
    stored = _read(place_of(model, base_url))
    if stored is None or stored.certificate.model != model:
        # A disk that does not tell capitals apart may have another judge's.
        return None
    return stored


def all_certificates() -> list[Stored]:
    """Every certificate that can be read, by judge."""
    found = [_read(path) for path in certificates_folder().glob("*.json")]
    stored = [each for each in found if each]
    return sorted(stored, key=lambda s: (s.certificate.model, s.certificate.base_url or ""))


def _read(path: Path) -> Stored | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Stored)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
