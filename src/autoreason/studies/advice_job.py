"""Advice: should a brief be run at all, and how? Rules, the judge, pilots; then the command that goes on."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from autoreason.contract import count_words
from autoreason.errors import PanelFailed
from autoreason.events import JobFinished, RunPaused
from autoreason.exchange import Spent
from autoreason.job_types import Advise
from autoreason.jobs.job import Job, Plan, Plans, build_job, join_plans, run_job
from autoreason.journal import Journal
from autoreason.keys import sub_key
from autoreason.report.numbers import count, money, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures
from autoreason.settings import Settings
from autoreason.story import Story
from autoreason.strategies import Single
from autoreason.studies import advice_measures as measures
from autoreason.studies.certificate import CertificateFinding
from autoreason.task import Task
from autoreason.tournament.judges import seat_calls
from autoreason.tournament.loop import Tournament

_MAX_WORDS, _MAX_SIGNS = 15, 100
_SENTENCE_SIGNS = re.compile(r"[.?!:;。！？：；؟।]")  # noqa: RUF001
_QUESTION_MARKS = ("?", "？", "؟")  # noqa: RUF001
_ONE_ANSWER = re.compile(
    r"(?:who|when|where)\s+(?:is|was|are|were|did|does|do|has|had)\b"
    r"|(?:in|on|at|by|to|from)?\s*(?:which|what)\s+(?:year|date|day|month|century|country|city|town|state"
    r"|continent|planet|river|language|currency|number|version|port|unit)\b"
    r"|how\s+(?:many|old|far|tall|high|deep|heavy|fast)\b"
    r"|what\s+(?:is|was)\s+the\s+(?:name|capital|population|date|year|number|height|length|distance|speed"
    r"|age|area|currency|symbol|formula|(?:boiling|melting|freezing)\s+point)\s+of\b",
    re.IGNORECASE,
)


def asks_for_fact(task: Task) -> bool:
    """Whether a brief is a short question, in English, of a kind that has one right answer; False where in doubt."""
    return _is_short_question(task) and _ONE_ANSWER.match(" ".join(task.brief.split())) is not None


def _is_short_question(task: Task) -> bool:
    """By its form, in any language: one sentence, a question mark, few words, no limits and no draft."""
    brief = task.brief.strip()
    return (
        brief.endswith(_QUESTION_MARKS)
        and not _SENTENCE_SIGNS.search(brief[:-1])
        and count_words(brief) <= _MAX_WORDS
        and len(brief) <= _MAX_SIGNS
        and task.draft is None
        and task.contract.empty
    )


def notes_on(task: Task) -> list[str]:
    no_limits = (
        "the brief has no limits that code can check, so texts may drift, mostly longer; "
        "`max_words` or `sections` in its front matter prevents that"
    )
    short = (
        "the brief is one short question; if it has one right answer, `--strategy single` will do"
    )
    return [no_limits] * task.contract.empty + [short] * _is_short_question(task)


AdviceEnding = Literal["run it", "one draft", "another judge", "research", "undecided"]
SHARE_OF_RUN = 3
"""Advice takes at most one call for so many of the run it is about."""
_JUDGE = "judge_check"
_PILOT = "pilot"
_SPARE_CALLS = 2
"""Kept for requests of a pilot that have to be repeated."""


class AdviceJob(Job):
    """Measures whether a tournament is worth its calls for this brief, and what else would do."""

    summary = "whether a brief should be run, and how: a short certificate and pilots"

    async def run(self) -> JobFinished:
        if not ends_by_rule(self.context.task, self.settings):
            check = build_job(measures.JudgeCheck, self.context.within(_JUDGE, lambda _: None))
            await run_job(check)
            right, read = measures.read_answers(check.story)
            self.emit(measures.JudgeChecked(right=right, read=read))
            if not measures.find_fault(measures.judge_findings(right, read)):
                await self._run_pilots()
        advice = advice_of(self.story)
        text, origin = _text(self.story, advice)
        return self.finish(advice.conclusion, text, origin)

    async def _run_pilots(self) -> None:
        settings = measures.pilot_settings(self.settings)
        for number in range(1, measures.MAX_PILOTS + 1):
            # Fewer than so many decide nothing, and are not paid for.
            times = measures.MIN_PILOTS if number == 1 else 1
            calls = sum(measures.PilotRun.plans(settings)[1].values()) * times + _SPARE_CALLS
            if await measures.is_short(self.context, sub_key(_PILOT, number), calls):
                return
            context = self.context.within(
                sub_key(_PILOT, number), lambda _: None, settings=settings
            )
            pilot = build_job(measures.PilotRun, context)
            story = pilot.story
            try:
                await run_job(pilot)
            except PanelFailed as failure:
                # It says nothing, and the rest goes on.
                story.apply(RunPaused(status=failure.status, reason=str(failure)))
            self.emit(
                measures.PilotFinished(
                    number=number,
                    pilot=measures.read_pilot(f"pilot {number}", story),
                    draft=story.draft.text if story.draft else None,
                    text=story.text,
                    origin=story.origin,
                )
            )
            if measures.weigh_pilots(pilots_of(self.story)) != "undecided":
                return

    @classmethod
    def plans(cls, settings: Settings) -> Plans:
        """From a judge that fails at once to as many pilots as there may be."""
        pilot, calls = (
            measures.PilotRun.plans(measures.pilot_settings(settings)),
            seat_calls(settings),
        )
        return (
            {"judge": measures.LEAST_QUESTIONS},
            join_plans(
                {"judge": measures.LEAST_QUESTIONS * calls.usual},
                *[pilot[1]] * max_pilots(settings),
            ),
            join_plans(
                {"judge": measures.QUESTIONS * calls.most}, *[pilot[2]] * measures.MAX_PILOTS
            ),
        )

    @classmethod
    def fit_plans(cls, plans: Plans, task: Task, settings: Settings) -> Plans:
        return ({}, {}, {}) if ends_by_rule(task, settings) else plans

    @classmethod
    def min_calls(cls, task: Task, settings: Settings) -> int:
        """As many pilots as can decide."""
        return 0 if ends_by_rule(task, settings) else calls_for(settings, measures.MIN_PILOTS)

    @classmethod
    def draft_count(cls, settings: Settings) -> int:
        return max_pilots(settings)


def pilot_calls(settings: Settings) -> int:
    return sum(measures.PilotRun.plans(measures.pilot_settings(settings))[1].values())


def calls_for(settings: Settings, pilots: int, questions: int = measures.LEAST_QUESTIONS) -> int:
    """The limit of calls that allows so many pilots after so many questions about the judge."""
    asked = questions * seat_calls(settings).usual
    return asked + pilots * pilot_calls(settings) + _SPARE_CALLS


def max_pilots(settings: Settings, questions: int = measures.LEAST_QUESTIONS) -> int:
    """How many pilots the limit of calls allows, each as long as planned; none where they could decide nothing."""
    limit = limit_calls(settings)
    numbers = range(measures.MIN_PILOTS, measures.MAX_PILOTS + 1)
    return max((n for n in numbers if calls_for(settings, n, questions) <= limit), default=0)


def run_calls(settings: Settings) -> int:
    """What the run takes that is asked about, as planned."""
    return sum(Tournament.plans(settings)[1].values())


def limit_calls(settings: Settings) -> int:
    """What the advice may take: its share of the run, and no more than the budget."""
    share, limit = run_calls(settings) // SHARE_OF_RUN, settings.budget.calls
    return share if limit is None else min(limit, share)


def ends_by_rule(task: Task, settings: Settings) -> bool:
    instead = settings.job_as(Advise).instead
    return bool(instead) or asks_for_fact(task) or is_too_dear(settings)


def is_too_dear(settings: Settings) -> bool:
    """Whether pilots that can decide would take more than the advice may take of the run."""
    return calls_for(settings, measures.MIN_PILOTS) * SHARE_OF_RUN > run_calls(settings)


def pilots_of(story: Story) -> tuple[measures.Pilot, ...]:
    return tuple(each.pilot for each in story.of(measures.PilotFinished))


def advice_of(story: Story) -> AdviceReport:
    """The advice itself; the command that goes on is added by `advice_report`."""
    assert story.task is not None
    assert story.settings is not None
    if instead := story.settings.job_as(Advise).instead:
        exists = {"research": "a number measures the result", "solve": "tests decide"}[instead]
        return AdviceReport(advice="research", reason=f"{exists}, so no judge is needed")
    if asks_for_fact(story.task):
        reason = "the brief asks for a fact, which is right or wrong: no vote makes it truer"
        return AdviceReport(advice="one draft", reason=reason)
    if is_too_dear(story.settings):
        calls, whole = calls_for(story.settings, measures.MIN_PILOTS), run_calls(story.settings)
        too_costly = f"pilots that can decide take {calls} calls, and the run itself about {whole}"
        confirmed = "its confirmation says whether fresh judges prefer the result"
        return AdviceReport(advice="undecided", reason=f"{too_costly}; run it, and {confirmed}")
    (checked,) = story.of(measures.JudgeChecked)
    judge, pilots = measures.judge_findings(checked.right, checked.read), pilots_of(story)
    ending, reason = conclude(judge, pilots)
    ratio = measures.likelihood_ratio(pilots) if pilots else None
    return AdviceReport(advice=ending, reason=reason, judge=judge, pilots=pilots, ratio=ratio)


def conclude(
    judge: tuple[CertificateFinding, ...], pilots: tuple[measures.Pilot, ...]
) -> tuple[AdviceEnding, str]:
    if fault := measures.find_fault(judge):
        return "another judge", fault
    if not pilots:
        return "undecided", f"no pilot was run: the limits are too small for {measures.MIN_PILOTS}"
    return _weigh(pilots, "pilot", measures.MIN_PILOTS)


def _weigh(pilots: Sequence[measures.Pilot], noun: str, least: int) -> tuple[AdviceEnding, str]:
    votes, verdict = measures.describe_pilots(pilots, noun), measures.weigh_pilots(pilots, least)
    if verdict == "undecided":
        return "undecided", f"{votes}, which decides nothing"
    return "run it" if verdict == "run_it" else "one draft", votes


def _text(story: Story, advice: AdviceReport) -> tuple[str | None, str]:
    """The text to go on from, that of the pilot whose result most judges prefer, and where it comes from."""
    if asked := [each for each in advice.pilots if each.judges]:
        best = max(asked, key=lambda each: each.prefer / each.judges)
        ended = next(each for each in story.of(measures.PilotFinished) if each.pilot == best)
        if advice.advice != "one draft":
            return ended.text, f"{best.name}: {ended.origin}"
        if ended.draft is not None:
            return ended.draft, f"{best.name}: draft"
    if story.of(measures.JudgeChecked) and story.task and story.task.draft is not None:
        return story.task.draft, "draft"
    return None, ""


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

    @property
    def said(self) -> str:
        known = self.cost is not None
        cost = (
            f", {money(self.cost)} at what calls cost here" if known else ", at a price not known"
        )
        return f"About {count(self.calls, 'call')} for such a brief{cost}"


class AdviceReport(Report, Struct, frozen=True, kw_only=True):
    """Whether to run a brief, and how."""

    heading: ClassVar[str] = "Advice"
    advice: AdviceEnding
    reason: str
    command: str = ""
    command_note: str = ""
    """What it is for: `To print the first draft of pilot 1`."""
    price: Price | None = None
    """None where nothing more is to be paid for, or it is not known."""
    notes: tuple[str, ...] = ()
    judge: tuple[CertificateFinding, ...] = ()
    pilots: tuple[measures.Pilot, ...] = ()
    ratio: float | None = None
    """How many times likelier the pilots' ballots are if most judges prefer the result than if half do."""
    pilot_limit: int = 0
    operating_lines: tuple[measures.OperatingLine, ...] = ()
    """How often so many pilots end in which advice."""
    noun: str = "pilot"
    """What its pilots are: parts of it, or runs of a journal."""

    @property
    def conclusion(self) -> str:
        return f"{self.advice}: {self.reason}"

    is_summarized: ClassVar[bool] = True

    def summary(self, took: str = "") -> list[str]:
        price = self.price.said if self.price else ""
        lines = [self.sentence, f"{self.command_note}: {self.command}", price, took]
        return list(filter(None, lines))

    def run_fields(self) -> dict[str, Any]:
        names = ("conclusion", "advice", "command")
        return {name: getattr(self, name) for name in names} | {"report": self}

    def sections(self) -> list[Section]:
        rows = [("Price", self.price.said)] if self.price else []
        rows += [("Note", note) for note in self.notes]
        parts = [Section("", rows), Section("What was measured", self._measured()), self._errors()]
        shown = [each for each in parts if each.sentences or each.tables]
        return [Section(self.command_note, text=self.command), *shown]

    def _measured(self) -> list[tuple[str, str]]:
        rows: list[tuple[str, str]] = []
        if self.judge:
            found = [f"{each.name} {each.verdict}: {each.statement}" for each in self.judge]
            # What it takes to decide the others is in the certificate.
            found[0] += f" ({self.judge[0].reason})" if self.judge[0].reason else ""
            rows.append(("Judge", "; ".join(found)))
        if self.ratio is not None:
            votes = [f"{each.prefer} of {each.judges}" for each in self.pilots if each.judges]
            times = f"{self.ratio:.1f} times likelier"
            if self.ratio < 1:
                times = f"{1 / self.ratio:.1f} times less likely"
            each_vote = f" ({', '.join(votes)})" if votes else ""
            weight = (
                f"{measures.describe_pilots(self.pilots, self.noun)}{each_vote}; "
                f"such ballots are {times} if {percent(measures.GAIN)} of all judges prefer the result than if half "
                f"do, and {measures.RATIO} times decides"
            )
            rows.append((f"{self.noun.capitalize()}s", weight))
            rows += [(each.name, each.note) for each in self.pilots if each.note]
        return rows

    def _errors(self) -> Section:
        said: list[tuple[str, str]] = []
        if self.judge:
            coin, good, first = map(
                percent, map(measures.chance_to_fail, (0.5, 0.8, 0.5), (0, 0, 1))
            )
            fails = (
                f"a judge who tosses coins fails in {coin} of cases, one who sees 80 % of such defects in {good}, "
                f"one who always takes the text shown first in {first}"
            )
            said.append(("Judge", fails))
        heads = figures("judges who prefer the result", "run it", "do not", "undecided")
        rows = [
            tuple(map(percent, (each.share, each.run_it, each.do_not, each.undecided)))
            for each in self.operating_lines
        ]
        title = count(self.pilot_limit, self.noun) + (" at most" * (self.noun == "pilot"))
        tables = [Table(heads, rows, title)] if rows else []
        return Section("How often such advice is given", said, tables)


def spent_by_role(journal: Journal, run: str) -> dict[str, Spent]:
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
    pilots = len(advice.pilots)
    if advice.advice != "undecided":
        pilots = max(pilots, max_pilots(settings))
    judges, shares = (measures.JUDGES,) * pilots, SHARES if advice.pilots else ()
    command, note = _command(run, advice.advice, story, settings)
    notes = notes_on(task) if advice.judge else []
    notes += [_NOT_MEASURED] if advice.advice == "one draft" and advice.pilots else []
    return replace(
        advice,
        command=command,
        command_note=note,
        price=_price(advice.advice, settings, spent),
        notes=tuple(notes),
        pilot_limit=pilots,
        operating_lines=tuple(measures.operating_line(share, judges) for share in shares),
    )


def _command(run: str, ending: AdviceEnding, story: Story, settings: Settings) -> tuple[str, str]:
    options = settings.job_as(Advise)
    is_short = 0 < len(options.source) <= _LONGEST_SOURCE
    brief = shlex.quote(options.source) if is_short else _NO_BRIEF
    model = _model_options(settings)
    pilot, _, name = (story.origin or "").rpartition(": ")
    text = (
        f"the {'first draft' if name == 'draft' else 'text'} of {pilot}" if pilot else "your draft"
    )
    match ending:
        case "research":
            command = f"autoreason {options.instead} {brief} {model}"
            return command, "To go by what is measured"
        case "another judge":
            author = f"-m {settings.models.author}"
            again = f"autoreason advise {brief} {author} --judge-model OTHER"
            return again, "To ask again, with a judge of your choice in place of OTHER"
        case "run it":
            return f"autoreason fork {run}", f"To go on from {text} in a whole run"
    measured = bool(story.of(measures.JudgeChecked))
    if ending == "undecided" and not measured:
        return f"autoreason run {brief} {model}", "To have it answered by the fresh judges of a run"
    if story.origin:
        return f"autoreason show {run} --text", f"To print {text}"
    if measured:
        return f"autoreason show {run}", "To see what was measured"
    return f"autoreason run {brief} {model} --strategy single", "To ask the author once"


def _model_options(settings: Settings) -> str:
    author, judges = settings.models.author, settings.models.judges
    others = [f"--judge-model {each}" for each in judges] if judges != (author,) else []
    return " ".join([f"-m {author}", *others])


def _price(ending: AdviceEnding, settings: Settings, spent: Mapping[str, Spent]) -> Price | None:
    if ending not in ("run it", "one draft"):
        return None
    plan: Plan = Single.plans(settings)[1]
    if ending == "run it":
        # It goes on from a text that is there.
        plan = Tournament.plans(settings)[1]
        plan = {**plan, "author": plan.get("author", 0) - 1}
    total: Decimal | None = Decimal(0)
    for role, calls in plan.items():
        took = spent.get(role, Spent())
        if calls and (not took.calls or took.cost is None):
            total = None
        elif calls and total is not None and took.cost is not None:
            total += took.cost * calls / took.calls
    return Price(calls=sum(plan.values()), cost=total)


def describe_limit(settings: Settings) -> str:
    whole = count(run_calls(settings), "call")
    return f"advice takes at most {count(limit_calls(settings), 'call')}; the run it is about takes about {whole}"


def recorded_advice(
    pilots: Sequence[measures.Pilot],
    settings: Settings,
    spent: Mapping[str, Spent],
    notes: tuple[str, ...] = (),
) -> AdviceReport:
    """Advice from runs that are recorded, each with a confirmation, as if they were pilots."""
    ending, reason = _weigh(pilots, "run", _LEAST_RUNS)
    asked = [each.judges for each in pilots if each.judges]
    strategy = " --strategy single" if ending == "one draft" else ""
    models = _model_options(settings)
    command = f"autoreason run {_NO_BRIEF} {models}{strategy}", "For the next brief of this kind"
    if ending == "undecided":
        command = f"autoreason advise {_NO_BRIEF} {models}", "To measure it on a brief"
    shares = SHARES if len(asked) >= _LEAST_RUNS else ()
    return AdviceReport(
        advice=ending,
        reason=reason,
        command=command[0],
        command_note=command[1],
        price=_price(ending, settings, spent),
        notes=(*notes, _NOT_MEASURED) if ending == "one draft" else notes,
        pilots=tuple(pilots),
        ratio=measures.likelihood_ratio(pilots),
        pilot_limit=len(asked),
        operating_lines=tuple(
            measures.operating_line(share, asked, len(asked)) for share in shares
        ),
        noun="run",
    )
