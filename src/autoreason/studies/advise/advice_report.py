"""Advice with its reasons, its error rates, the price of what it advises and the command that goes on."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar

from msgspec import Struct

from autoreason.exchange import Spent
from autoreason.job_types import Advise
from autoreason.jobs.job import Plan
from autoreason.journal import Journal
from autoreason.report.numbers import count, money, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures
from autoreason.settings import Settings
from autoreason.story import Story
from autoreason.strategies.rivals import Single
from autoreason.studies.advise.advice_events import JudgeChecked
from autoreason.studies.advise.advice_job import (
    Ending,
    advice_of,
    limit_calls,
    max_pilots,
    run_calls,
)
from autoreason.studies.advise.judge_check import chance_to_fail
from autoreason.studies.advise.pilots import (
    GAIN,
    JUDGES,
    MIN_PILOTS,
    RATIO,
    OperatingLine,
    Pilot,
    describe_pilots,
    likelihood_ratio,
    operating_line,
    weigh_pilots,
)
from autoreason.studies.advise.rules import describe_drift, describe_question
from autoreason.studies.certify.properties import DEFECTS, CertificateFinding
from autoreason.tournament.loop import Tournament

SHARES = (0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of judges who prefer the result, for which error rates are shown."""
_NO_BRIEF = "BRIEF"
_NOT_MEASURED = "whether the best of several drafts would be better was not measured"
_LONGEST_SOURCE = 100
_LEAST_RUNS = 2
"""Recorded runs that can decide: their panels are larger than those of pilots, and they are weighed once."""


class Price(Struct, frozen=True, kw_only=True):
    """What the advised way takes for one brief, at what calls cost here."""

    calls: int
    cost: Decimal | None
    """US dollars; None where a price is not known."""


class AdviceReport(Report, Struct, frozen=True, kw_only=True):
    """Whether to run a brief, and how."""

    heading: ClassVar[str] = "Advice"
    advice: Ending
    reason: str
    command: str
    """What to enter next."""
    command_note: str
    """What that does."""
    price: Price | None = None
    """None where nothing more is to be paid for, or it is not known."""
    notes: tuple[str, ...] = ()
    judge: tuple[CertificateFinding, ...] = ()
    pilots: tuple[Pilot, ...] = ()
    ratio: float | None = None
    """How many times likelier the pilots' ballots are if most judges prefer the result than if half do."""
    pilot_limit: int = 0
    """How many pilots there could be at most."""
    operating_lines: tuple[OperatingLine, ...] = ()
    """How often so many pilots end in which advice."""
    noun: str = "pilot"
    """What its pilots are: parts of it, or runs of a journal."""

    @property
    def conclusion(self) -> str:
        """The advice and why."""
        return f"{self.advice}: {self.reason}"

    def run_fields(self) -> dict[str, Any]:
        """The advice and the command by themselves, and all of it."""
        return {
            "conclusion": self.conclusion,
            "advice": self.advice,
            "command": self.command,
            "report": self,
        }

    def sections(self) -> list[Section]:
        """What to do, what was measured, and how often such advice is wrong."""
        rows = [("Price", _describe_price(self.price))] if self.price else []
        rows += [("Note", note) for note in self.notes]
        return [
            Section(f"Next, {self.command_note}", text=self.command),
            *([Section(sentences=rows)] if rows else []),
            *self._measured(),
            *self._errors(),
        ]

    def _measured(self) -> list[Section]:
        rows: list[tuple[str, str]] = []
        if self.judge:
            rows.append(("Judge", "; ".join(map(_describe_finding, self.judge))))
        if self.ratio is not None:
            rows.append((f"{self.noun.capitalize()}s", self._weight()))
            rows += [(each.name, each.note) for each in self.pilots if each.note]
        return [Section("What was measured", rows)] if rows else []

    def _weight(self) -> str:
        votes = ", ".join(f"{each.prefer} of {each.judges}" for each in self.pilots if each.judges)
        each_vote = f" ({votes})" if votes else ""
        return (
            f"{describe_pilots(self.pilots, self.noun)}{each_vote}; such ballots are {_times(self.ratio or 0)} if "
            f"{percent(GAIN)} of all judges prefer the result than if half do, and {RATIO} times decides"
        )

    def _errors(self) -> list[Section]:
        rows: list[tuple[str, str]] = []
        if self.judge:
            coin, good, first = map(percent, map(chance_to_fail, (0.5, 0.8, 0.5), (0, 0, 1)))
            rows.append(
                (
                    "Judge",
                    f"a judge who tosses coins fails in {coin} of cases, one who sees 80 % of such defects in {good}, "
                    f"one who always takes the text shown first in {first}",
                )
            )
        tables = []
        if self.operating_lines:
            title = count(self.pilot_limit, self.noun)
            title += " at most" if self.noun == "pilot" else ""
            tables = [operating_table(self.operating_lines, title)]
        if not rows and not tables:
            return []
        return [Section("How often such advice is given", rows, tables)]


def operating_table(lines: Sequence[OperatingLine], title: str = "") -> Table:
    """What pilots end in, by the truth."""
    rows = [
        (percent(each.share), *map(percent, (each.run_it, each.do_not, each.undecided)))
        for each in lines
    ]
    heads = ("judges who prefer the result", "run it", "do not", "undecided")
    return Table(figures(*heads), rows, title)


def _lines(judges: Sequence[int], first_look: int = MIN_PILOTS) -> tuple[OperatingLine, ...]:
    return tuple(operating_line(share, judges, first_look) for share in SHARES)


def spent_by_role(journal: Journal, run: str) -> dict[str, Spent]:
    """What each role took in a run."""
    spent: defaultdict[str, Spent] = defaultdict(Spent)
    for call in journal.calls(run):
        spent[call.request.role] = spent[call.request.role].plus(call.reply)
    return spent


def advice_report(run: str, story: Story, spent: Mapping[str, Spent]) -> AdviceReport:
    """The report of a finished advice; `spent` is by role."""
    task, settings = story.task, story.settings
    assert task is not None
    assert settings is not None
    advice = advice_of(story)
    command, note = _command(run, advice.ending, story, settings)
    notes = [describe_drift(task), describe_question(task)] if advice.judge else []
    pilots = len(advice.pilots)
    if advice.ending != "undecided":
        pilots = max(pilots, max_pilots(settings))
    if advice.ending == "one draft" and advice.pilots:
        notes.append(_NOT_MEASURED)
    return AdviceReport(
        advice=advice.ending,
        reason=advice.reason,
        command=command,
        command_note=note,
        price=_price(advice.ending, settings, spent),
        notes=tuple(filter(None, notes)),
        judge=advice.judge,
        pilots=advice.pilots,
        ratio=likelihood_ratio(advice.pilots) if advice.pilots else None,
        pilot_limit=pilots,
        operating_lines=_lines((JUDGES,) * pilots) if advice.pilots else (),
    )


def _command(run: str, ending: Ending, story: Story, settings: Settings) -> tuple[str, str]:
    """The command that goes on, and what it does."""
    options = settings.job_as(Advise)
    brief, model = _source(options.source), _model_options(settings)
    text = story.origin
    match ending:
        case "research":
            return (
                f"autoreason {options.instead} {brief} {model}",
                "which goes by what is measured",
            )
        case "another judge":
            author = f"-m {settings.models.author}"
            again = f"autoreason advise {brief} {author} --judge-model OTHER"
            return again, "with a judge of your choice in place of OTHER"
        case "run it":
            return f"autoreason fork {run}", f"a whole run that goes on from {text}"
    measured = bool(story.of(JudgeChecked))
    if ending == "undecided" and not measured:
        return f"autoreason run {brief} {model}", "whose confirmation answers it"
    if text:
        return f"autoreason show {run} --text", f"which prints {text}"
    if measured:
        return f"autoreason show {run}", "which shows what was measured"
    return f"autoreason run {brief} {model} --strategy single", "which asks the author once"


def _source(source: str) -> str:
    return shlex.quote(source) if 0 < len(source) <= _LONGEST_SOURCE else _NO_BRIEF


def _model_options(settings: Settings) -> str:
    """The options that name the author and other judges."""
    author, judges = settings.models.author, settings.models.judges
    others = [f"--judge-model {each}" for each in judges] if judges != (author,) else []
    return " ".join([f"-m {author}", *others])


def _price(ending: Ending, settings: Settings, spent: Mapping[str, Spent]) -> Price | None:
    """What the advised way takes."""
    match ending:
        case "run it":
            plan: Plan = Tournament.plans(settings)[1]
            # It goes on from a text that is there.
            plan = {**plan, "author": plan.get("author", 0) - 1}
        case "one draft":
            plan = Single.plans(settings)[1]
        case _:
            return None
    costs = [_cost(calls, spent.get(role)) for role, calls in plan.items() if calls]
    known = [cost for cost in costs if cost is not None]
    total = sum(known, Decimal(0)) if len(known) == len(costs) else None
    return Price(calls=sum(plan.values()), cost=total)


def describe_limit(settings: Settings) -> str:
    """What advice may take, beside what the run takes that it is about."""
    whole = count(run_calls(settings), "call")
    return f"advice takes at most {count(limit_calls(settings), 'call')}; the run it is about takes about {whole}"


def _describe_finding(finding: CertificateFinding) -> str:
    # What it takes to decide the others is in the certificate.
    further = f" ({finding.reason})" if finding.name == DEFECTS.name and finding.reason else ""
    return f"{finding.name} {finding.verdict}: {finding.statement}{further}"


def _cost(calls: int, spent: Spent | None) -> Decimal | None:
    if spent is None or not spent.calls or spent.cost is None:
        return None
    return spent.cost * calls / spent.calls


def _describe_price(price: Price) -> str:
    calls = f"about {count(price.calls, 'call')} for such a brief"
    if price.cost is None:
        return f"{calls}; no call made here says what they cost"
    return f"{calls}, {money(price.cost)} at what calls cost here"


def _times(ratio: float) -> str:
    """`5.2 times likelier`, `4.0 times less likely`."""
    return f"{ratio:.1f} times likelier" if ratio >= 1 else f"{1 / ratio:.1f} times less likely"


def recorded_advice(
    pilots: Sequence[Pilot],
    settings: Settings,
    spent: Mapping[str, Spent],
    notes: tuple[str, ...] = (),
) -> AdviceReport:
    """Advice from runs that are recorded, each with a confirmation, as if they were pilots."""
    votes = describe_pilots(pilots, "run")
    endings: dict[str, Ending] = {"run_it": "run it", "do_not": "one draft"}
    ending = endings.get(weigh_pilots(pilots, _LEAST_RUNS), "undecided")
    asked = [each.judges for each in pilots if each.judges]
    strategy = " --strategy single" if ending == "one draft" else ""
    command = f"autoreason run {_NO_BRIEF} {_model_options(settings)}{strategy}"
    does = "for the next brief of this kind"
    if ending == "undecided":
        command = f"autoreason advise {_NO_BRIEF} {_model_options(settings)}"
        does = "which measures it on a brief"
    if ending == "one draft":
        notes = (*notes, _NOT_MEASURED)
    return AdviceReport(
        advice=ending,
        reason=votes if ending != "undecided" else f"{votes}, which decides nothing",
        command=command,
        command_note=does,
        price=_price(ending, settings, spent),
        notes=notes,
        pilots=tuple(pilots),
        ratio=likelihood_ratio(pilots),
        pilot_limit=len(asked),
        operating_lines=_lines(asked, len(asked)) if len(asked) >= _LEAST_RUNS else (),
        noun="run",
    )
