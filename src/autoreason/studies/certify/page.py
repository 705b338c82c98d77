"""A certificate as a page to read."""

from __future__ import annotations

from collections.abc import Sequence

from autoreason.characters import in_markdown
from autoreason.studies.certify.properties import PROPERTIES, Finding
from autoreason.studies.certify.report import Certificate

_HEADINGS = ("property", "verdict", "share", "95 % interval", "to pass, it must")
_VERDICTS = {"pass": "passed", "fail": "FAILED", "unknown": "unknown"}
_OPENINGS = {
    "pass": "It passed everything.",
    "fail": "It failed.",
    "unknown": "Too little is known to pass it.",
}


def as_markdown(certificate: Certificate) -> str:
    """Verdicts first, then what each rests on, then how the judge was asked."""
    rows = [_row(finding) for finding in certificate.findings]
    parts = [
        f"# Certificate of the judge {in_markdown(certificate.model)}",
        f"{_opening(certificate)} {_held(certificate)}",
        "\n".join(_table([_HEADINGS, *rows])),
    ]
    whys = {each.name: each for each in PROPERTIES}
    for finding in certificate.findings:
        about = whys[finding.name]
        unknown = f" Unknown: {finding.reason}." if finding.verdict == "unknown" else ""
        parts.append(
            f"**{finding.name.capitalize()}.** {about.asks} {finding.said[0].upper()}"
            f"{finding.said[1:]}.{unknown} {about.why}"
        )
    return "\n\n".join(parts) + "\n"


def _opening(certificate: Certificate) -> str:
    if certificate.unreadable:
        return f"It failed: {certificate.unreadable}."
    return _OPENINGS[certificate.verdict]


def _held(certificate: Certificate) -> str:
    warmth = (
        "" if certificate.temperature is None else f" at temperature {certificate.temperature:g}"
    )
    lost = f", {certificate.invalid} without a ballot" if certificate.invalid else ""
    return (
        f"Suite {certificate.suite}, {certificate.protocol} protocol, {certificate.style} judging"
        f"{warmth}, {certificate.ballots + certificate.invalid} questions{lost}."
    )


def _row(finding: Finding) -> tuple[str, ...]:
    return (
        finding.name,
        _VERDICTS[finding.verdict],
        "none" if finding.value is None else f"{finding.value * 100:.0f} %",
        "none"
        if finding.low is None or finding.high is None
        else f"{finding.low * 100:.0f} to {finding.high * 100:.0f} %",
        finding.rule,
    )


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """A Markdown table with columns that line up in a terminal too."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return lines
