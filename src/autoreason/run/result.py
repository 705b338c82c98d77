"""The result of a run, for the caller."""

from __future__ import annotations

from dataclasses import dataclass, fields
from decimal import Decimal
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from autoreason.contract import Violation, count_words
from autoreason.events import FINISHED, EndedBy, Evidence, Status
from autoreason.exchange import Spent
from autoreason.jobs.spending import spending
from autoreason.journal.run_names import is_cell, owning_run
from autoreason.paths import Place
from autoreason.report.numbers import count, lines
from autoreason.report.report import Report, Section, plain_values
from autoreason.story import Story
from autoreason.tournament import statements
from autoreason.tournament.metric import Metric

if TYPE_CHECKING:
    from autoreason.journal import Journal, RunRow

_FIELDS = (
    *("run", "status", "ended_by", "reason", "text", "origin", "passes"),
    *("calls", "tokens", "cost", "seed", "evidence"),
)
_WINNERS = 15
_LIMITS = {
    "cost": "--cost-limit",
    "tokens": "--token-limit",
    "calls": "--call-limit",
    "seconds": "--time-limit",
}
"""The option of each field of a budget."""


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

    @property
    def text(self) -> str | None:
        """Delivered, or the incumbent when the run paused; None where there is no first draft."""
        return self.story.text

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
    def evidence(self) -> Evidence | None:
        """What supports the delivered text; None where none was delivered."""
        return self.story.delivered.evidence if self.story.delivered else None

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
        """The run, how it stands and what it came to; `print` shows the report."""
        return f"<{type(self).__name__} {self.run}, {self.status}: {self.sentence}>"

    @property
    def heading(self) -> str:  # type: ignore[override]
        """What was written, and in which run."""
        title = self.story.task.title.rstrip(".") if self.story.task else ""
        return f"{title}: run {self.run}" if title else f"Run {self.run}"

    @property
    def ending(self) -> str:
        """How it ended or paused, and why."""
        return f"{statements.ENDINGS[self.status]}: {self.reason}"

    @property
    def conclusion(self) -> str:
        """How it ended."""
        return self.ending

    def sections(self) -> list[Section]:
        """The text's origin and cost, the evidence and what comes next; on a page the passes and the text."""
        from autoreason.run.passes import passes_of, passes_table, plot_passes

        rows = [*self._summary(), *self._evidence(), *self.next_steps()]
        if self.story.strategy == "best_of_n":
            from autoreason.strategies.rivals import name_drafts

            rows = [(label, name_drafts(text)) for label, text in rows]
        sections = [Section(sentences=rows)]
        sections += self._brief()
        if decided := passes_of(self.story):
            table, plot = passes_table(decided), plot_passes(decided)
            sections.append(Section("Passes", tables=[table], plots=[plot], detail=True))
        if self.text:
            sections.append(Section("Text", text=self.text, detail=True))
        return sections

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, without the story behind it."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        fields["violations"] = [each.message for each in self.violations]
        return {"conclusion": self.conclusion, **plain_values(fields)}

    def about(self) -> dict[str, str]:
        """How the run worked, for a page."""
        models = self.story.settings.models.all() if self.story.settings else ()
        return {"Run": self.run, "Models": ", ".join(models), "Seed": str(self.seed)}

    @property
    def took(self) -> tuple[str, str]:
        """What the run took, as a labelled sentence."""
        return "Took", spending(self.spent, self.seconds)

    def _summary(self) -> list[tuple[str, str]]:
        rows = [("Attention", broken)] if (broken := self.broken_contract()) else []
        if self.story.strategy == "best_of_n" and self.story.draft:
            drafts = count(len(self.story.incumbents), "draft")
            rows.append(("Drafts", f"{drafts} for the panel to choose from"))
        elif won := self.story.trajectory:
            judged = self.story.strategy in ("", "autoreason")
            shown = f"won by {statements.winners(won, _WINNERS)}"
            how = shown if judged else "each text accepted without a vote"
            if self.story.playoff and not judged:
                how = "each another text for the panel to choose from"
            rows.append(("Passes", f"{len(won)}, {how}"))
        work = self.story.task.work if self.story.task else None
        if isinstance(work, Metric):
            rows.append(("Metric", statements.metric(work, self.story)))
        if self.story.task and self.story.task.knowledge:
            rows.append(("Knowledge", statements.knowledge(self.story.task.knowledge)))
        if seat := statements.predictor(self.story):
            rows.append(("Predictor", seat))
        if self.text is not None:
            rows.append(("Text", self._origin()))
        return [*rows, self.took]

    def _brief(self) -> list[Section]:
        """What was to be written, for a page."""
        brief = self.story.task.brief if self.story.task else ""
        return [Section("Brief", text=brief, detail=True)] if brief else []

    def _origin(self) -> str:
        text = self.text or ""
        work = self.story.task.work if self.story.task else None
        is_program = work is not None and not isinstance(work, Metric)
        length = lines(text) if is_program else count(count_words(text), "word")
        origin = f"{self.origin}, {length}"
        draft = self.story.draft
        if draft is None or self.origin == "draft":
            return origin
        return f"{origin}; {statements.first_draft(draft)} had {draft.words:,}"

    def _evidence(self) -> list[tuple[str, str]]:
        if self.evidence is None or self.story.task is None:
            return []
        ended = self.story.delivered
        broken = ended.violations if ended else self.story.task.contract.violations(self.text or "")
        return statements.evidence(self.evidence, self.story, broken, self.origin)

    def broken_contract(self) -> str:
        """That the delivered text breaks its contract, whether any text kept it, and the remedy."""
        if not self.violations:
            return ""
        texts = self.story.breaches
        none = (
            f"; none of {len(texts)} texts in this run kept it" if texts[1:] and all(texts) else ""
        )
        broken = statements.violations(self.violations)
        return (
            f"the text breaks its contract ({broken}){none}; loosen the rule, "
            f"or choose a stronger model with -m, in `autoreason fork {self.run}`"
        )

    def next_steps(self) -> list[tuple[str, str]]:
        """Which command goes on from here."""
        if self.finished:
            of_program = " [--text]" if self.text else ""
            more = " [--text | --diff | --html FILE]" if self.story.draft else of_program
            return [("More", f"autoreason show {self.run}{more}")]
        steps = [("Resume", resume_command(self.run, self.story))]
        if self.text is not None:
            steps.append(("More", f"autoreason show {self.run} --text"))
        return steps


def how_to_go_on(run: str, story: Story, *, has_text: bool, options: str = "") -> str:
    """How to go on with a run that has not ended, within a sentence."""
    text = f", see its text so far with `autoreason show {run} --text`" if has_text else ""
    command = f"`autoreason resume {owning_run(run)}{options}`"
    return f"go on with {command}{_with_higher_limit(run, story)}{text}"


def resume_command(run: str, story: Story) -> str:
    """The command that goes on with a run, and which limit must be higher."""
    return f"autoreason resume {owning_run(run)}{_with_higher_limit(run, story)}"


def _with_higher_limit(run: str, story: Story) -> str:
    """Which limit must be higher before a run can go on; those that were set where it is not known."""
    # The limit of a cell is that of all cells.
    if story.status != "budget" or story.settings is None or is_cell(run):
        return ""
    budget = story.settings.budget
    limits = [story.limit] if story.limit else [each for each in _LIMITS if getattr(budget, each)]
    return f" with a higher {' or '.join(_LIMITS[each] for each in limits)}"


def recorded_result(row: RunRow, story: Story, journal: Journal) -> Result:
    """The result of a recorded run, as its process returned it."""
    from autoreason.run.working_time import working_time

    return Result(
        run=row.id,
        status=story.status,
        reason=story.reason or ("under way" if row.live else "killed before it ended"),
        spent=row.spent,
        story=story,
        seconds=working_time(row.id, journal=journal).seconds,
        journal=journal.place,
    )


def result_fields(result: Result) -> dict[str, Any]:
    """What every result has, to make one of a kind from it."""
    return {each.name: getattr(result, each.name) for each in fields(Result)}


class StopSwitch:
    """Lets the process that drives a run ask it to stop: no new calls, replies on their way are still taken in."""

    def __init__(self) -> None:
        self.stopped = False
        self._waits_until = inf

    def stop(self, wait: float = inf) -> None:
        """Stop at the next call; replies are waited for no longer than so many seconds."""
        self.stopped = True
        self._waits_until = min(self._waits_until, monotonic() + wait)

    @property
    def overdue(self) -> bool:
        """Whether replies were waited for long enough."""
        return monotonic() >= self._waits_until
