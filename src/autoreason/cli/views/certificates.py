"""Certificates of judges: one, all of them, and a warning where a judge of a panel failed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from autoreason.cli.views.message import print_message
from autoreason.errors import InvalidInput
from autoreason.job_types import Certify
from autoreason.paths import certificates_folder
from autoreason.report.numbers import UNKNOWN

if TYPE_CHECKING:
    from autoreason.prompts import PromptSet
    from autoreason.report.table import Table
    from autoreason.settings import Settings
    from autoreason.studies.certify.certificate_files import StoredCertificate


def warn_of_failed_judges(settings: Settings, prompts: PromptSet) -> None:
    """Print in one line which judges of a panel failed their certificate, and in what."""
    if not os.access(certificates_folder(), os.X_OK):
        return
    from autoreason.prompts import built_in
    from autoreason.strategies.registry import job_class
    from autoreason.studies.certify.certificate_files import find_certificate

    roles = job_class(settings.job).prompts
    if isinstance(settings.job, Certify) or (roles is not None and "judge" not in roles):
        return
    judges = dict.fromkeys(settings.models.judges)
    stored = [find_certificate(address, settings.server_of(address)) for address in judges]
    failed = [each.certificate for each in stored if each and each.certificate.failed]
    if failed:
        named = "; ".join(f"{one.model} failed {', '.join(one.failed)}" for one in failed)
        see = f"`autoreason models --certificates {failed[0].model}`"
        short = built_in().with_short_judge().sources["judge"]
        fewer = "; judges are asked in fewer words" if prompts.sources.get("judge") == short else ""
        print_message(f"autoreason: warning: as a judge, {named}; see {see}{fewer}")


def show_certificates(model: str | None, *, as_json: bool) -> None:
    """Every judge that has a certificate; of one model, its certificates whole."""
    from autoreason.cli.times import when
    from autoreason.cli.views import outcome
    from autoreason.cli.views.console import print_table, stdout_console
    from autoreason.studies.certify.certificate_files import all_certificates

    wanted = [one for one in all_certificates() if model in (None, one.certificate.model)]
    if model and not wanted:
        raise InvalidInput(f"no certificate of {model}; make one with `autoreason certify {model}`")
    console = stdout_console()
    if as_json:
        outcome.print_json([stored.to_dict() for stored in wanted])
    elif not wanted:
        print_message("no certificates yet; make one with `autoreason certify MODEL`")
    elif model is None:
        print_table(console, _table(wanted))
    else:
        for stored in wanted:
            outcome.print_report(stored.certificate, console)
            console.print()
            rows = [("Made", when(stored.date)), ("More", f"autoreason show {stored.run}")]
            outcome.print_rows(rows, console)


def _table(certificates: list[StoredCertificate]) -> Table:
    from autoreason.cli.times import when
    from autoreason.report.table import Column, Table

    rows = []
    for stored in certificates:
        one = stored.certificate
        judge = f"{one.model} at {one.base_url}" if one.base_url else one.model
        failed = ", ".join(one.failed) or UNKNOWN
        rows.append((judge, one.verdict, when(stored.date), stored.run, failed))
    columns = [
        Column("judge", figures=False),
        Column("verdict", figures=False),
        Column("when", figures=False, spare=1),
        Column("run", figures=False, spare=2),
        Column("failed", figures=False),
    ]
    return Table(columns, rows, tones={"failed": "bad"})
