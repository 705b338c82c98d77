"""What is said before the first call: the model, the limits on the text as understood, and what to expect."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from decimal import Decimal
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import click
from msgspec.structs import replace

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.events import FINISHED
from autoreason.job_types import Judge, Lab, Research
from autoreason.limits import limits_kept
from autoreason.models import examples
from autoreason.report.numbers import count, money, percent, roughly
from autoreason.settings import DEFAULT_MODEL, Models, Settings

if TYPE_CHECKING:
    from autoreason.exchange import Spent
    from autoreason.models.local import DownloadProgress, ModelFile
    from autoreason.run.estimate import Span
    from autoreason.run.lab import PreparedLab
    from autoreason.run.prepared import PreparedRun
    from autoreason.task import Task

_SEVERAL = re.compile(
    r"(?i)\b(\d|two|three|drei) ((subject |head)lines|titles|slogans|names|\w+zeilen)"
)
_OFFLINE = "small offline model: results are poor, nothing is sent or paid."
_GOOD = (examples.MODEL, examples.OTHER)
"""What is named to someone who has a key for its provider."""
PACED_BY = 10
"""Calls from which on a run says how long a call takes."""


def announce(
    prepared: PreparedRun[Any], *, named: bool, declined: bool = False
) -> list[tuple[str, str]]:
    """Rows with labels; `named` says that a model was chosen, `declined` that a brief sets no limits."""
    from autoreason.run.experience import find_experience

    rows = []
    settings = prepared.settings
    if DEFAULT_MODEL in settings.models.all():
        rows.append(("Model", _OFFLINE if named else f"{_OFFLINE} {_suggest(prepared)}"))
    if settings.job.writes == "text":
        rows.append(("Limits", describe_limits(prepared.task, declined=declined)))
        rows += [("Facts", each) for each in prepared.task.given.notes()]
    elif isinstance(settings.job, Judge | Lab) and not declined:
        rows += [("Limits", each) for each in _limits_of_briefs(prepared.task)]
    if prepared.task.criteria:
        rows.append(("Criteria", " · ".join(prepared.task.criteria)))
    if settings.judges == 1 and settings.job.is_tournament:
        alone = "one in each round; a single vote is not evidence, so rounds show nothing"
        rows.append(("Judges", alone))
    expected = describe_expected(_expect(prepared), settings, _find_pace(prepared))
    rows += [("Expect", expected)] if expected else []
    said = find_experience(prepared.hooks.get("journal"), settings, prepared.task)
    return [*rows, *(("Before", each) for each in said)]


def announce_rest(
    prepared: PreparedRun[Any], spent: Spent, seconds: float
) -> list[tuple[str, str]]:
    """The same of a run that goes on, for what is left of it."""
    settings = prepared.settings
    # Of a suite the cells are counted, not their calls.
    whole = Expected(None, None) if isinstance(settings.job, Lab) else _expect(prepared)
    pace = seconds / spent.calls if spent.calls >= PACED_BY else _find_pace(prepared)
    expected = describe_expected(whole.less(spent.calls), settings, pace)
    return [("Expect", expected)] if expected else []


class Expected(NamedTuple):
    """What a run takes; None is not known."""

    calls: Span[int] | None
    cost: Span[Decimal] | None
    reasoning: Decimal | None = None
    """What reasoning may cost on top."""
    paid: float = 1.0
    """How much of it the limits pay for."""
    rest: bool = False
    """Whether calls and cost are those still to come; limits are always of all of it."""

    def less(self, spent: int) -> Expected:
        """What is left after so many calls."""
        if not self.calls or not self.calls.likely:
            return self._replace(rest=True)
        left = max(0, self.calls.likely - spent)
        share = Decimal(left) / self.calls.likely
        cost = self.cost and self.cost._replace(likely=self.cost.likely * share)
        reasoning = self.reasoning and self.reasoning * share
        return Expected(self.calls._replace(likely=left), cost, reasoning, self.paid, rest=True)


def _expect(prepared: PreparedRun[Any]) -> Expected:
    if isinstance(prepared.settings.job, Lab):
        plan = cast("PreparedLab", prepared).plan()
        return Expected(plan.calls, plan.cost, paid=plan.share_paid)
    found = prepared.estimate()
    reasoning = found.reasoning_cost.likely if found.reasoning_cost else None
    return Expected(found.calls, found.cost, reasoning, found.paid.likely)


def describe_expected(
    expected: Expected, settings: Settings, seconds_per_call: float | None = None
) -> str:
    """One likely figure, and one that is never passed; what is not known is left out."""
    calls, cost, rest = expected.calls, expected.cost, expected.rest
    likely = []
    if calls and (calls.likely or not rest):
        likely.append(count(calls.likely, "more call" if rest else "call"))
        if cost and cost.likely:
            likely.append(_dollars(cost.likely))
        if seconds_per_call and (seconds := calls.likely * seconds_per_call) >= 1:
            likely.append(roughly(seconds))
        elif seconds_per_call is None and not rest:
            likely.append("time not known yet")
    about = f"about {', '.join(likely)}" if likely else ""
    if expected.reasoning:
        about += f", and up to {_dollars(expected.reasoning)} more for reasoning"
    budget = settings.budget
    most = [money(budget.cost)] if budget.cost is not None else []
    counted = {"token": budget.tokens, "call": budget.calls}
    most += [count(number, what) for what, number in counted.items() if number is not None]
    if calls and not most:
        most.append(count(calls.high, "call"))
    if isinstance(settings.job, Research):
        most.append(count(settings.job.evaluations, "evaluation"))
    never = f"never more than {' or '.join(most)}{' in all' if rest else ''}" if most else ""
    paid, what = expected.paid, "suite" if isinstance(settings.job, Lab) else "run"
    if calls and what == "run" and not rest:
        what += f" (about {count(round(calls.likely / paid), 'call')})"
    short = f"your limit pays for {percent(paid)} of the whole {what}" if paid < 1 else ""
    # Replies under way are waited for, so that a time is not never passed.
    limit = budget.seconds
    exact = f"{limit:g} s" if limit and limit % 60 else roughly(limit or 0)
    late = f"nothing new is begun after {exact}" if limit is not None else ""
    return "; ".join(filter(None, (about, short, never, late)))


def _dollars(amount: Decimal) -> str:
    return money(round(amount, 2) if amount * 100 >= 1 else amount)


def _find_pace(prepared: PreparedRun[Any]) -> float | None:
    """Seconds for each call in the newest finished run of the same kind with the same models."""
    from autoreason.run.record import use_journal, working_time

    settings = prepared.settings
    if isinstance(settings.job, Lab):
        # Calls of cells run side by side, as many as there is room for.
        return None
    used = (settings.job.name, *settings.models.all())
    with use_journal(prepared.hooks.get("journal")) as journal:
        row = next(journal.iter_runs(FINISHED, uses=used, page=1), None)
        if row is None or row.spent.calls < PACED_BY:
            return None
        return working_time(row.id, journal=journal).seconds / row.spent.calls


def describe_limits(task: Task, *, declined: bool = False) -> str:
    """`at most 230 words · has a section headed “Cost”`; words with a comma may be meant as several."""
    contract, read = task.contract, limits_kept(task.contract, "" if declined else task.brief)
    understood = [(_in_words(Contract(**x.keys).rules()), x.phrase) for x in read if x.kept]
    of_brief = {rule for rules, _ in understood for rule in rules}
    rules = [rule for rule in _in_words(task.rules(short=True)) if rule not in of_brief]
    items = (*contract.sections, *contract.must_include, *contract.must_not_include)
    if joined := next((each for each in items if re.fullmatch(r"[^/].*\w, \w.*", each)), ""):
        rules.append(f"“{joined}” is one text: for several write [{joined}], or the option again")
    said = ", ".join(f"{' and '.join(rules)} (“{phrase}”)" for rules, phrase in understood)
    rules += [f"understood as limits: {said}"] if said else []
    unclear = " and ".join(f"“{each.phrase}”" for each in read if not each.keys)
    rules += [f"not understood: {unclear}"] if unclear else []
    if unclear and (several := _SEVERAL.search(task.brief)):
        typed = "--alternatives N, and limits as those of one: “at most 9 words”"
        rules.append(f"for {several[0]} to choose from type {typed}")
    rules += [f"set otherwise: “{x.phrase}”" for x in read if x.keys and not x.kept]
    options = "; --max-words, --section, --limit and others are checked by a program"
    return (" · ".join(rules) or "none") + options * (bool(unclear) or not rules)


def _limits_of_briefs(task: Task) -> Iterator[str]:
    """The same of texts that are judged or that a suite writes, where a brief states some."""
    from autoreason.studies.lab_suite import suite_of

    suite = suite_of(task)
    tasks = {name: each.task for name, each in suite.tasks.items()} if suite else {"": task}
    for name, each in tasks.items():
        if limits_kept(each.contract, each.brief):
            yield f"{name}: {describe_limits(each)}" if len(tasks) > 1 else describe_limits(each)


def _in_words(rules: Iterable[str]) -> list[str]:
    return [f"{rule[:1].lower()}{rule[1:].removesuffix('.')}" for rule in rules]


def _suggest(prepared: PreparedRun[Any]) -> str:
    """The option for a stronger model, of a provider that there is a key for, and what it would cost."""
    from autoreason.models.providers import PROVIDERS

    what = "a good text" if prepared.settings.job.writes == "text" else "good results"
    for model in (*_GOOD, *(f"{name}/MODEL" for name in PROVIDERS)):
        variables = PROVIDERS[model.partition("/")[0]].key_variables
        if found := next((name for name in variables if os.environ.get(name, "").strip()), ""):
            settings = replace(prepared.settings, models=Models.everywhere(model))
            cost = _expect(replace(prepared, settings=settings)).cost
            price = f" (about {_dollars(cost.likely)})" if cost else ""
            return f"{found} is set; for {what} add -m {model}{price}"
    return f"For {what} add -m {examples.MODEL} or -m {examples.LOCAL}"


_ENGINE = "xllamacpp"
_SIZE = "about 100 MB"
_MEGABYTE = 1_000_000


class Weights(NamedTuple):
    ready: bool
    status: str
    fix: str = ""


def weights_state() -> Weights:
    from autoreason.models.local import is_pulled, weights_path

    if find_spec(_ENGINE) is None:
        return Weights(False, "no engine", f"pip install {_ENGINE}")
    if not is_pulled():
        return Weights(False, f"weights not here ({_SIZE})", "autoreason models pull")
    return Weights(True, f"weights ready ({weights_path().stat().st_size // _MEGABYTE} MB)")


def require_weights(prepared: PreparedRun[Any]) -> None:
    """Refuse to start without the weights, where they are needed; on a terminal, offer them first."""
    if DEFAULT_MODEL not in prepared.settings.models.all():
        return
    from autoreason.models.local import LocalModel

    on_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if on_terminal and find_spec(_ENGINE) and not weights_state().ready:
        question = f"The weights of {DEFAULT_MODEL} ({_SIZE}) are not here yet. Fetch them now?"
        if not click.confirm(f"{_suggest(prepared)}.\n{question}", default=True, err=True):
            raise InvalidInput("no model to ask; choose one with -m, see `autoreason models`")
        pull_weights()
    try:
        LocalModel(DEFAULT_MODEL).check()
    except InvalidInput as error:
        raise InvalidInput(f"{error}. {_suggest(prepared)}") from None


def pull_weights(model: ModelFile | None = None) -> None:
    from autoreason.cli.console import ProgressLine
    from autoreason.models.local import SMOLLM2, address_of, pull

    wanted = model or SMOLLM2
    with ProgressLine() as line:

        def show(progress: DownloadProgress) -> None:
            done, total = progress.done // _MEGABYTE, (progress.total or 0) // _MEGABYTE
            line.show(f"MB {progress.doing}" if total > 1 else progress.doing, done, total)

        path = pull(wanted, show)
    print(f"weights of {address_of(wanted)} ready at {path}", file=sys.stderr)
