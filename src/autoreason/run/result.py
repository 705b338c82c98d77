"""The result of a run, for the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from math import ceil, inf
from time import monotonic
from typing import Any, Generic, TypeVar

from autoreason.contract import Violation, count_words
from autoreason.errors import (
    AutoreasonError,
    BudgetReached,
    Interruption,
    MetricFailed,
    PanelFailed,
    ProviderFailed,
    Stopped,
    Waiting,
)
from autoreason.events import FINISHED, Alternative, EndedBy, Evidence, Status
from autoreason.exchange import Spent
from autoreason.files import Place
from autoreason.job_types import Certify
from autoreason.journal.run_names import is_cell, owning_run
from autoreason.report.numbers import count, spending, without_folder
from autoreason.report.report import Report, Section, plain_values
from autoreason.settings import LIMITS
from autoreason.story import Story
from autoreason.task import Metric
from autoreason.tournament import endings, statements
from autoreason.tournament.edits import undecided

_INTERRUPTIONS: dict[str, type[Interruption]] = {
    each.status: each
    for each in (BudgetReached, ProviderFailed, MetricFailed, PanelFailed, Stopped, Waiting)
}
AnyReport = TypeVar("AnyReport", bound=Report)


@dataclass(frozen=True, repr=False)
class Result(Report):
    """The result of a run when it has ended or paused."""

    run: str
    status: Status
    reason: str
    spent: Spent
    story: Story
    seconds: float | None = None
    """How long it was worked on, pauses left out; None where that is not known."""
    journal: Place | None = None
    """The file it is recorded in, or the server."""
    spent_by_role: Mapping[str, Spent] = field(default_factory=dict)
    """What it spent on authors, critics, judges and so on."""

    @property
    def text(self) -> str:
        """Delivered, or the incumbent of a run that paused; raises the `Interruption` that left it without a text."""
        if self.story.text is None:
            raise self._missing("text")
        return self.story.text

    @property
    def delivered_text(self) -> str:
        """The text of a run that has ended; raises the `Interruption` of one that paused, whatever text it has."""
        if not self.finished:
            raise self._missing("delivered text")
        return self.text

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The texts to choose from, best first; none where one was asked for, or the run paused."""
        return self.story.alternatives.texts if self.story.alternatives else ()

    @property
    def ended_by(self) -> EndedBy | None:
        """What ended a run with a text; None where it paused, or is a job without a text of its own."""
        return self.story.delivered.ended_by if self.story.delivered else None

    @property
    def origin(self) -> str:
        """Where the text came from: `draft`, or the pass it won."""
        return self.story.origin

    @property
    def passes(self) -> int:
        """Passes that are over."""
        return len(self.story.trajectory)

    @property
    def seed(self) -> int | None:
        """Where all randomness came from; None where nothing was recorded of the run."""
        return self.story.settings.seed if self.story.settings else None

    @property
    def evidence(self) -> Evidence:
        """What supports the delivered text; raises the `Interruption` that kept the run from delivering one."""
        if self.story.delivered is None:
            raise self._missing("evidence")
        return self.story.delivered.evidence

    @property
    def calls(self) -> int:
        """Calls that were answered."""
        return self.spent.calls

    @property
    def tokens(self) -> int | None:
        """Read and written; None where a provider did not say."""
        return self.spent.tokens

    @property
    def cost(self) -> Decimal | None:
        """US dollars; None where a price is not known."""
        return self.spent.cost

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Rules of the contract that the delivered text breaks."""
        return self.story.delivered.violations if self.story.delivered else ()

    @property
    def finished(self) -> bool:
        """Whether it delivered; a run that paused can be resumed."""
        return self.status in FINISHED

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.run}, {self.status}: {self.sentence}>"

    @property
    def heading(self) -> str:  # type: ignore[override]
        title = self.story.title.rstrip(".")
        return f"{title}: run {self.run}" if title else f"Run {self.run}"

    @property
    def conclusion(self) -> str:
        return "; ".join(filter(None, [endings.not_blind(self.story), ending(self)]))

    is_summarized = True

    def summary(self, took: str = "") -> list[str]:  # noqa: ARG002
        """Whether fresh judges prefer it, why it stopped and what it took; then what to check, and what went wrong."""
        resume = ""
        if not self.finished and self.reason != UNDER_WAY:
            resume = resume_command(endings.short_run(self.run), self.story)
        lines = {"resume": resume, "new": endings.to_check(self.story) if self.finished else ""}
        return endings.summarize(
            self.story, run=self.run, spent=self.spent, seconds=self.seconds, **lines
        )

    @property
    def took(self) -> str:
        """`62 calls, $0.27, 4 min · solar-vole`."""
        return f"{endings.spending(self.spent, self.seconds)} · {endings.short_run(self.run)}"

    def sections(self) -> list[Section]:
        rows = self._summary()
        if ended := self.story.delivered:
            rows += statements.evidence(ended.evidence, self.story, ended.violations, self.origin)
        rows += self.next_steps()
        sections = [Section(sentences=rows)]
        if added := [(each.text, each.sentence) for each in self.story.new_facts]:
            sections.append(Section("Not from you, please check", added))
        known = self.story.task.knowledge if self.story.task else None
        if known and known.shown:
            table = statements.records_table(known, self.story)
            sections.append(Section("Records", tables=[table]))
        sections += self._brief()
        if decided := [each.decided for each in self.story.passes if each.decided]:
            table = statements.passes_table(decided)
            sections.append(Section("Passes", tables=[table], detail=True))
        if text := self.story.text:
            sections.append(Section("Text", text=text, detail=True))
        return sections

    def to_html(self, about: Mapping[str, str] | None = None) -> str:
        if self.story.writes != "text" or self.story.task is None:
            return super().to_html(about)
        from autoreason.pages.run_page import run_page

        return run_page(
            self.story,
            run=self.run,
            summary=self.summary(),
            spent=self.spent,
            seconds=self.seconds,
            spent_by_role=self.spent_by_role,
            about=self.about() if about is None else about,
        )

    def to_dict(self) -> dict[str, Any]:
        delivered = self.story.delivered
        fields = {
            "conclusion": self.conclusion,
            **run_fields(self),
            "ended_by": self.ended_by,
            "text": self.story.text,
            "alternatives": self.alternatives,
            "criteria": self.story.task.criteria if self.story.task else (),
            "origin": self.origin,
            "passes": self.passes,
            "evidence": delivered.evidence if delivered else None,
            "violations": [each.message for each in self.violations],
            "undecided": undecided(self.story),
            "not_from_you": self.story.new_facts,
        }
        return plain_values(fields)

    def asked(self) -> dict[str, str]:
        """What is known of models that were answered from outside, and what is not."""
        return statements.outside(self.story.settings.models) if self.story.settings else {}

    def about(self) -> dict[str, str]:
        models = self.story.settings.models.all() if self.story.settings else ()
        named = ", ".join(map(without_folder, models))
        return {"Run": self.run, "Models": named, "Seed": str(self.seed), **self.asked()}

    @property
    def spending(self) -> str:
        """Calls, tokens, cost and time, in words."""
        return spending(self.spent, self.seconds)

    def how_to_go_on(self, options: str = "") -> str:
        """The command that goes on with a run that has not ended, within a sentence."""
        return how_to_go_on(self.run, self.story, options)

    def _missing(self, what: str) -> AutoreasonError:
        """What is raised where there is nothing to read: the `Interruption` that ended the run, if one did."""
        kind = _INTERRUPTIONS.get(self.status)
        if kind is None:
            return AutoreasonError(f"run {self.run} has no {what} ({ending(self)})")
        error = kind(f"run {self.run} has no {what} yet ({ending(self)}); {self.how_to_go_on()}")
        error.limit = self.story.limit
        return error

    def _summary(self) -> list[tuple[str, str]]:
        rows = [("Attention", broken)] if (broken := self.broken_contract()) else []
        if self.story.is_sampling and self.story.draft:
            drafts = count(len(self.story.incumbents), "draft")
            rows.append(("Drafts", f"{drafts} for the panel to choose from"))
        elif won := self.story.trajectory:
            how = f"won by {statements.winners(won)}"
            settings = self.story.settings
            if settings and not (settings.job.is_tournament and settings.judges):
                how = "new texts accepted without a vote" if {*won} - {"A", "?"} else "no new text"
            rows.append(("Passes", f"{len(won)}, {how}"))
        work = self.story.task.work if self.story.task else None
        if isinstance(work, Metric):
            rows.append(("Metric", statements.metric(work, self.story)))
        if self.story.task and self.story.task.knowledge:
            rows.append(("Knowledge", statements.knowledge(self.story.task.knowledge, self.story)))
        if seat := statements.predictor(self.story):
            rows.append(("Predictor", seat))
        if self.story.text is not None:
            text, draft = self.story.text, self.story.draft
            origin = f"{self.origin}, {count(count_words(text), 'word')}"
            if draft and self.origin != "draft":
                origin += f"; {statements.first_draft(draft)} had {draft.words:,}"
            rows.append(("Text", origin))
        return [*rows, ("Took", self.spending), *self.asked().items()]

    def _brief(self) -> list[Section]:
        brief = self.story.task.brief if self.story.task else ""
        return [Section("Brief", text=brief, detail=True)] if brief else []

    def broken_contract(self) -> str:
        """That the delivered text breaks its contract, whether any text kept it, and the remedy."""
        if not self.violations:
            return ""
        broken = statements.violations(self.violations)
        none = statements.none_keeps(self.story)
        remedy = f"change that, or the model, in `autoreason fork {self.run}`"
        return f"the text breaks a limit ({broken}){none}; {remedy}"

    def next_steps(self) -> list[tuple[str, str]]:
        """Which command goes on from here."""
        if self.finished:
            of_program = " [--text]" if self.story.text else ""
            more = " [--text | --diff | --html FILE]" if self.story.draft else of_program
            return [("More", f"autoreason show {self.run}{more}")]
        steps = [("Resume", resume_command(self.run, self.story))]
        if self.story.text is not None:
            steps.append(("More", f"autoreason show {self.run} --text"))
        return steps


UNDER_WAY = "under way"
"""The reason of a run that a process works on."""


def ending(result: Result) -> str:
    return f"{statements.ENDINGS[result.status]}: {result.reason}"


def how_to_go_on(run: str, story: Story, options: str = "") -> str:
    """How to go on with a run that has not ended, within a sentence."""
    has_text = story.writes == "text" and story.text is not None
    text = f", see its text so far with `autoreason show {run} --text`" if has_text else ""
    return f"go on with `{resume_command(run, story)}{options}`{text}"


def resume_command(run: str, story: Story) -> str:
    """The command that goes on, with the limit at which it paused raised by half."""
    command = f"autoreason resume {owning_run(run)}"
    # The limit of a cell is that of all cells.
    is_limited = story.status == "budget" and not is_cell(run)
    return command + raised_limits(story) if is_limited else command


def raised_limits(story: Story) -> str:
    """Options that raise the limits of a run by half, but to no less than its next call could take."""
    if story.settings is None:
        return ""
    from autoreason.models.budget import find_needed

    needed = find_needed(story.reason)
    limits = [story.limit] if story.limit else list(LIMITS)
    amounts = {name: getattr(story.settings.budget, name) for name in limits}
    return "".join(
        f" --{LIMITS[name].replace('_', '-')} {_raise(name, max(float(amount), needed))}"
        for name, amount in amounts.items()
        if amount is not None
    )


def _raise(limit: str, amount: float) -> str:
    if limit == "seconds":
        return f"{ceil(amount / 40)}m" if amount >= 60 else f"{ceil(amount * 1.5)}s"
    return f"{float(f'{amount * 1.5:.2g}'):g}" if limit == "cost" else str(ceil(amount * 1.5))


def run_fields(result: Result) -> dict[str, Any]:
    asked = {name.lower(): said for name, said in result.asked().items()}
    names = ("run", "status", "reason", "calls", "tokens", "cost", "seed")
    return {"summary": result.summary(), **asked} | {name: getattr(result, name) for name in names}


class StopSwitch:
    """Lets the process that drives a run ask it to stop: no new calls, replies on their way are still taken in."""

    def __init__(self) -> None:
        self.stopped = False
        self.reason = "a person stopped the run"
        self._waits_until = inf

    def stop(self, wait: float = inf, reason: str = "") -> None:
        """Stop at the next call; replies are waited for no longer than so many seconds."""
        self.stopped = True
        self.reason = reason or self.reason
        self._waits_until = min(self._waits_until, monotonic() + wait)

    @property
    def overdue(self) -> bool:
        """Whether replies were waited for long enough."""
        return monotonic() >= self._waits_until


@dataclass(frozen=True, kw_only=True, repr=False)
class StudyResult(Result, Generic[AnyReport]):
    """The result of a run that judged texts: its report, and what the run took."""

    _make_report: Callable[[], AnyReport] | None = field(default=None, compare=False)
    """None where the run paused."""

    @cached_property
    def final_report(self) -> AnyReport | None:
        """What the run found, made when it is first read; None where the run paused."""
        return self._make_report() if self._make_report else None

    @property
    def report(self) -> AnyReport:
        """What the run found; raises the `Interruption` that keeps a paused run from having one."""
        if self.final_report is None:
            raise self._missing("report")
        return self.final_report

    @property
    def heading(self) -> str:  # type: ignore[override]
        names = self.final_report and (self.story.title, self.final_report.heading)
        return " · ".join(dict.fromkeys(filter(None, names))) if names else super().heading

    @property
    def conclusion(self) -> str:
        return self.final_report.conclusion if self.final_report else ending(self)

    def summary(self, took: str = "") -> list[str]:
        if self.final_report is None:
            return super().summary()
        return list(self.final_report.summary(took or self.took))

    def names(self) -> Sequence[str]:
        return self.final_report.names() if self.final_report else ()

    def about(self) -> dict[str, str]:
        return super().about() | dict(self.final_report.about() if self.final_report else {})

    def sections(self) -> list[Section]:
        if self.final_report is None:
            return super().sections()
        # A suite's report says of its models itself, also where there is no result beside it.
        asked = self.asked() if "Model" not in self.final_report.about() else {}
        last = Section(sentences=[("Took", self.spending), *asked.items(), *self.next_steps()])
        # A certificate's own questions are the brief there.
        brief = [] if isinstance(self.story.job, Certify) else self._brief()
        return [*self.final_report.sections(), last, *brief]

    def page_sections(self) -> Sequence[Section]:
        if self.final_report is None:
            return super().page_sections()
        brief = [] if isinstance(self.story.job, Certify) else self._brief()
        return [*self.final_report.page_sections(), *brief]

    def to_dict(self) -> dict[str, Any]:
        found = self.final_report.run_fields() if self.final_report else {}
        summary = {"summary": self.summary()}
        return plain_values({"conclusion": self.conclusion} | run_fields(self) | found | summary)
