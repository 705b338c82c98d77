"""Your own records: whether they help judges, texts tried on real readers, and what became of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace as changed
from datetime import UTC, datetime
from pathlib import Path
from typing import Unpack

from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.exchange import Model
from autoreason.job_types import KnowledgeTest
from autoreason.jobs.context import draw
from autoreason.knowledge.columns import find_metric, read_date
from autoreason.knowledge.folder import (
    append_outcomes,
    check_private,
    read_folder,
    replace_outcomes,
    spread_private,
)
from autoreason.knowledge.holdout import retrieval_answers
from autoreason.knowledge.index import Index
from autoreason.knowledge.predictor import find_testable
from autoreason.knowledge_records import Record, RecordedOutcome
from autoreason.run.knowledge_choice import destinations
from autoreason.run.prepared import ModelChoice, PreparedRun, prepare
from autoreason.run.record import find_story
from autoreason.run.result import StudyResult
from autoreason.run.verbs import (
    JournalPlace,
    KnowledgeTestOptions,
    OutcomeOptions,
    RecordedRun,
    checked,
    door,
)
from autoreason.settings import DEFAULT_MODEL
from autoreason.studies.ab import AbPlan, AbReport, plan_of, read_plan, read_results, report_of
from autoreason.studies.knowledge_test import KnowledgeReport, RecordedPairs, recorded_pair
from autoreason.task import Task

PAIRS = 100
"""How many are put to judges where nobody says."""
_PER_CENT = "if it is per cent, write {:g} or {:g}%"


@door(pairs=PAIRS)
def measure_knowledge(
    folder: str | Path, model: str | Model = DEFAULT_MODEL, **options: Unpack[KnowledgeTestOptions]
) -> PreparedRun[StudyResult[KnowledgeReport]]:
    """Find out whether a folder of your own outcomes helps judges to see which of two texts does better.

    Args:
        folder: The records; see `docs/knowledge.md`.
        model: The judge, unless `judge_models` names others.
        options: Such as `pairs`, how many are put to each judge, and `judge_models`.
            `print(measure_knowledge.options())` lists all of them.

    Returns:
        Its `report` has how often each judge is right with the records, without them and with
        shuffled ones, and a verdict: helps, harms, not shown or too few. The verdict is kept in the
        folder, and only where it is `helps` are judges of later runs shown outcomes. So are the judges'
        weights, by which a mixed panel counts ballots in the review of later runs.

    Example:
        >>> from pathlib import Path
        >>> Path("kb").mkdir(exist_ok=True)
        >>> lines = [f"A{at},9,90,x{at}\\nB{at},45,90,x{at}" for at in range(12)]
        >>> _ = Path("kb/mails.csv").write_text("\\n".join(["subject,opens,sent,list", *lines]))
        >>> from autoreason import measure_knowledge
        >>> measure_knowledge("kb", "echo/echo", seed=1).report.judges[0].verdict
        'too few'
    """
    choice = ModelChoice.judging(model, options)
    job = KnowledgeTest(folder=str(Path(folder).resolve()))
    prepared = prepare(Task(brief="Choose the text that does better."), choice, options, job)
    check_private(folder)
    at_home = not destinations(prepared.settings, choice.objects, options.get("pool"))
    known = spread_private(read_folder(folder).records)
    records = [each for each in known if at_home or not each.private]
    testable = find_testable(records).pairs
    if not testable:
        raise InvalidInput(f"no pair of {folder} can be tested; see `autoreason knowledge check`")
    seed = prepared.settings.seed
    drawn = draw(seed, "pairs").sample(testable, min(options.get("pairs") or PAIRS, len(testable)))
    answers = retrieval_answers(records, drawn)
    with Index.open(folder) as index:
        seeds = [draw(seed, f"placebo/{at}").getrandbits(31) for at in range(len(drawn))]
        pairs = tuple(
            replace(recorded_pair(index, pair, placebo, private=at_home), retrieval=answer)
            for pair, placebo, answer in zip(drawn, seeds, answers, strict=True)
        )
    metrics = {(each.result.metric, each.result.better) for each in records if each.result}
    means = [f": {better} {metric}" for metric, better in metrics]
    private, withheld = any(each.private for each in records), len(known) - len(records)
    work = RecordedPairs(source=str(folder), pairs=pairs, of=len(testable), withheld=withheld)
    work = replace(work, private=private)
    brief = f"Choose the text that does better{means[0] if len(means) == 1 else ''}."
    return replace(prepared, task=Task(brief=brief, work=work))


@checked
def plan_ab(
    run: RecordedRun,
    texts: int = 3,
    *,
    base: float = 0.2,
    lift: float = 0.1,
    readers: int | None = None,
    journal: JournalPlace = None,
) -> AbPlan:
    """Plan an A/B test of the texts of a run: codes, an equal split and a sample size.

    Args:
        run: The run's name, a part of it that no other has, or its result.
        texts: How many: what was delivered, the first draft, then others; of three to five one
            is drawn, of more two.
        base: The share that the first draft is expected to reach, such as 0.2 of readers who open.
        lift: The smallest rise worth finding, as a share of that.
        readers: All readers there are; given, the plan says which rise they can show, whatever `lift` is.
        journal: An open journal, the file of one, or None for the result's or the user's own.

    Returns:
        The plan; its `write` puts it into a folder.

    Example:
        >>> from autoreason import plan_ab, refine
        >>> result = refine("Explain tides.", "echo/echo", passes=2, seed=1)
        >>> len(plan_ab(result, texts=2, base=0.2, lift=0.1).arms)
        2
    """
    name, story = find_story(run, journal)
    if story.end is None:
        raise InvalidInput(f"run {name} has no result yet; end it with `autoreason resume {name}`")
    seed = story.settings.seed if story.settings else 0
    return plan_of(story, name, texts, base=base, lift=lift, readers=readers, seed=seed)


@checked
def report_ab(
    results: str | Path,
    plan: str | Path | None = None,
    *,
    group: str = "",
    metric: str = "",
    knowledge: str | Path | None = None,
) -> AbReport:
    """Read the counts of an A/B test, and hand its outcomes to a folder of records.

    Args:
        results: A table with the columns `code`, `n` and `count`, or an export with a column of codes.
        plan: The folder of the plan; without it, that of the results.
        group: What the outcomes are filed under; the run's name where it is empty.
        metric: What was counted; where it is empty, what the column says, or the folder's main metric, else `rate`.
        knowledge: A folder of records that the outcomes are appended to; None for none.

    Returns:
        Whether the split was equal, which text does better by an interval that may be looked at any
        time, and, where the folder has enough other tests, what each is expected to reach when it is tried again.

    Example:
        >>> from pathlib import Path
        >>> from autoreason import plan_ab, refine, report_ab
        >>> plan = plan_ab(refine("Explain tides.", "echo/echo", passes=2, seed=1), texts=2)
        >>> _ = plan.write(Path("test"))
        >>> rows = [f"{arm.code},5000,1000" for arm in plan.arms]
        >>> _ = Path("test/results.csv").write_text("\\n".join(["code,n,count", *rows]))
        >>> report_ab("test/results.csv").is_unequal
        False
    """
    file = Path(results)
    planned = read_plan(Path(plan) if plan else file.parent)
    counts, counted, read_as = read_results(file, [arm.code for arm in planned.arms])
    known = read_folder(knowledge).records if knowledge else ()
    named = metric.casefold() or counted
    rate = RecordedOutcome(metric=named or "rate", value=0.0)
    called, said = _name_metric(known, knowledge, rate, given=bool(named))
    report = report_of(planned, counts, group=group, metric=called, known=known)
    found = changed(report, read_as=read_as)
    if knowledge and not found.is_unequal:
        today = datetime.now(UTC).date().isoformat()
        dated = [replace(record, when=today) for record in found.records]
        # Two readings of one text of a test share all but the numbers, and a name that nobody had given.
        names = {} if named else {"rate": called}
        new, old = replace_outcomes(
            knowledge,
            dated,
            lambda e: (e.text, e.group, e.note, e.result and names.get(m := e.result.metric, m)),
        )
        found = changed(found, appended=len(new), replaced=old, metric=said)
    return found


@checked
def add_outcome(
    run: RecordedRun,
    value: float,
    knowledge: str | Path,
    *,
    group: str,
    **options: Unpack[OutcomeOptions],
) -> str | None:
    """Append what the text that a run delivered came to in the world to `outcomes.jsonl` of a folder.

    Args:
        run: The run's name, a part of it that no other has, or its result.
        value: The number: a rate from 0 to 1, or any other.
        knowledge: The folder.
        group: The test, campaign or list within which results can be compared.
        options: Such as `n`, how many the number rests on, `metric`, `when` and `chosen`: see `OutcomeOptions`.

    Returns:
        The record's id; None where the folder had it.

    Example:
        >>> from pathlib import Path
        >>> from autoreason import add_outcome, refine
        >>> result = refine("Explain tides.", "echo/echo", passes=1)
        >>> Path("kb").mkdir()
        >>> add_outcome(result, 0.38, "kb", group="spring", n=2100, when="2024-03-05")[0]
        'r'
    """
    if not group.strip():
        raise InvalidInput("`group` is empty; name what the result can be compared in")
    name, story = find_story(run, options.get("journal"))
    if not story.text:
        raise InvalidInput(f"run {name} has no text yet; name one that has delivered its text")
    n, se = options.get("n"), options.get("se")
    if (n is not None and n < 1) or (se is not None and se < 0):
        raise InvalidInput("`n` must be at least 1 and `se` at least 0")
    metric = (options.get("metric") or "").casefold()
    if value > 1 and se is None and (n is not None or find_metric(metric)):
        raise InvalidInput(f"`value` {value:g} is over 1; {_PER_CENT.format(value / 100, value)}")
    try:
        when = read_date(options.get("when") or datetime.now(UTC).date().isoformat())
    except ValueError as error:
        raise InvalidInput(f"{error}; give `when` as YYYY-MM-DD") from None
    result = RecordedOutcome(metric=metric or "result", value=float(value), n=n, se=se)
    result = replace(result, better=options.get("better") or "higher")
    known = read_folder(knowledge).records if Path(knowledge).expanduser().is_dir() else ()
    called, said = _name_metric(known, knowledge, result, given=bool(metric))
    record = Record(
        text=story.text,
        kind="outcome",
        result=replace(result, metric=called),
        group=group,
        when=when,
        audience=options.get("audience") or "",
        chosen=options.get("chosen") or "picked",
        private=options.get("private") or False,
        note=options.get("note") or f"run {name}",
    )
    added = append_outcomes(knowledge, [record])
    if said:
        warnings.warn(f"metric: {said}", stacklevel=3)
    return record.id if added else None


def _name_metric(
    known: Sequence[Record], folder: str | Path | None, own: RecordedOutcome, *, given: bool
) -> tuple[str, str]:
    """What an outcome is called among those of a folder, and what to say of that; else empty."""
    values: dict[str, list[tuple[str, bool]]] = {}
    for each in (own, *(record.result for record in known if record.result)):
        values.setdefault(each.metric, []).append((each.better, 0 <= each.value <= 1))
    kind = values[own.metric].pop(0)
    main, *_ = names = sorted(values, key=lambda each: -len(values[each]))
    # A share is not among numbers of another kind, nor among those of which fewer are better.
    like = [each for each in names if {*values[each]} <= {kind}]
    same = [each for each in names if each.casefold() == own.metric and values[each]]
    same += [x for x in like if "" != find_metric(x) == find_metric(own.metric) and values[x]]
    name = next(iter(same if given else {main}.intersection(like)), own.metric)
    if name != main:
        remedy = f"if it is the same, say --metric {main!r}"
        if own.value > 1 and all(is_share for _, is_share in values[main]):
            remedy = _PER_CENT.format(own.value / 100, own.value)
        why = f"most outcomes of {folder} are called {main!r} and this one {name!r}"
        return name, f"{why}, so they are never compared; {remedy}"
    taken = f"taken to be {main!r}, as in most outcomes of {folder}; if it is another, say --metric"
    return name, "" if given or not values[main] else taken
