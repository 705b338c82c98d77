"""Whether a folder of records helps judges: the test as a run."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack, cast

from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.exchange import Model
from autoreason.jobs.context import draw
from autoreason.knowledge.folder import check_private, read_config, read_folder, spread_private
from autoreason.knowledge.holdout import retrieval_answers
from autoreason.knowledge.index import Index
from autoreason.knowledge.predictor import find_testable
from autoreason.knowledge.standing import MIN_Z
from autoreason.knowledge_records import Record
from autoreason.run.knowledge_choice import destinations
from autoreason.run.model_choice import ModelChoice
from autoreason.run.parameters import KnowledgeTestOptions, check_arguments
from autoreason.run.prepared import PreparedRun, prepare
from autoreason.run.reports import StudyResult
from autoreason.run.sync import wait_for
from autoreason.settings import DEFAULT_MODEL
from autoreason.studies.knowledge_test.knowledge_report import KnowledgeReport
from autoreason.studies.knowledge_test.recorded_pairs import RecordedPairs, recorded_pair
from autoreason.task import Task

PAIRS = 100
"""How many are put to judges where nobody says."""


def measure_knowledge(
    folder: str | Path,
    model: str | Model = DEFAULT_MODEL,
    **options: Unpack[KnowledgeTestOptions],
) -> StudyResult[KnowledgeReport]:
    """Find out whether a folder of your own outcomes helps judges to see which of two texts does better.

    Args:
        folder: The records; see `docs/knowledge.md`.
        model: The judge, unless `judge_models` names others.
        options: See `KnowledgeTestOptions`; 100 pairs are put to each judge unless `pairs` says otherwise.

    Returns:
        Its `report` has how often each judge is right with the records, without them and with
        shuffled ones, and a verdict: helps, harms, not shown or too few. The verdict is kept in the
        folder, and only where it is `helps` are judges of later runs shown outcomes. So are the judges'
        weights, by which a mixed panel counts ballots in the playoff of later runs.

    Raises:
        InvalidInput: Something cannot be used, or the folder has no pairs.
        JournalError: The journal cannot be read or written.

    Example:
        >>> from pathlib import Path
        >>> Path("kb").mkdir(exist_ok=True)
        >>> lines = [f"A{at},9,90,x{at}\\nB{at},45,90,x{at}" for at in range(12)]
        >>> _ = Path("kb/mails.csv").write_text("\\n".join(["subject,opens,sent,list", *lines]))
        >>> from autoreason import measure_knowledge
        >>> measure_knowledge("kb", "echo/echo", seed=1).report.judges[0].verdict
        'too few'
    """
    return wait_for(lambda: measure_knowledge_async(folder, model, **options), "measure_knowledge")


async def measure_knowledge_async(
    folder: str | Path,
    model: str | Model = DEFAULT_MODEL,
    **options: Unpack[KnowledgeTestOptions],
) -> StudyResult[KnowledgeReport]:
    """Like `measure_knowledge`, in an event loop."""
    return cast(
        StudyResult[KnowledgeReport],
        await prepare_knowledge_test(folder, model, **options).run_async(),
    )


def prepare_knowledge_test(
    folder: str | Path,
    model: str | Model = DEFAULT_MODEL,
    **options: Unpack[KnowledgeTestOptions],
) -> PreparedRun:
    """The run that `measure_knowledge` with the same arguments would drive.

    Args:
        folder: The records.
        model: The judge, unless `judge_models` names others.
        options: See `KnowledgeTestOptions`.

    Returns:
        The run, to be looked at, estimated and run.

    Raises:
        InvalidInput: Something cannot be used, or the folder has no pairs.

    Example:
        >>> from pathlib import Path
        >>> Path("kb").mkdir(exist_ok=True)
        >>> lines = [f"A{at},9,90,x{at}\\nB{at},45,90,x{at}" for at in range(12)]
        >>> _ = Path("kb/mails.csv").write_text("\\n".join(["subject,opens,sent,list", *lines]))
        >>> from autoreason import prepare_knowledge_test
        >>> prepare_knowledge_test("kb", "echo/echo").estimate().calls.likely
        72
    """
    check_arguments(prepare_knowledge_test, options, folder=folder, model=model)
    number = options.get("pairs")
    if number is not None and number < 1:
        raise InvalidInput(f"`pairs` is {number}; give 1 or more")
    choice = ModelChoice.judging(model, options)
    prepared = prepare(
        Task(brief="Choose the text that does better."),
        choice,
        options,
        strategy="knowledge_test",
        strategy_options={"folder": str(Path(folder).resolve())},
    )
    check_private(folder)
    servers = options.get("base_url"), choice.objects, options.get("pool")
    at_home = not destinations(choice.models, *servers)
    known = spread_private(read_folder(folder).records)
    records = [each for each in known if at_home or not each.private]
    work = _draw_pairs(folder, records, options, prepared.settings.seed, private=at_home)
    brief = f"Choose the text that does better{_measured_by(records)}."
    private = any(each.private for each in records)
    work = replace(work, withheld=len(known) - len(records), private=private)
    return replace(prepared, task=Task(brief=brief, work=work))


def _draw_pairs(
    folder: str | Path,
    records: list[Record],
    options: KnowledgeTestOptions,
    seed: int,
    *,
    private: bool,
) -> RecordedPairs:
    """Some of a folder's pairs, drawn by the seed, each with what judges will be shown."""
    min_z = options.get("min_z")
    pairs = find_testable(records, min_z=MIN_Z if min_z is None else min_z).pairs
    if not pairs:
        raise InvalidInput(
            f"{folder} has no pairs that can be tested; `autoreason knowledge check {folder}` says why"
        )
    drawn = draw(seed, "pairs").sample(pairs, min(options.get("pairs") or PAIRS, len(pairs)))
    answers = retrieval_answers(records, drawn, read_config(folder).retrieval)
    seeds = [draw(seed, f"placebo/{at}").getrandbits(31) for at in range(len(drawn))]
    with Index.open(folder) as index:
        chosen = [
            replace(recorded_pair(index, pair, own_seed, private=private), retrieval=answer)
            for pair, own_seed, answer in zip(drawn, seeds, answers, strict=True)
        ]
    return RecordedPairs(source=str(folder), pairs=tuple(chosen), of=len(pairs))


def _measured_by(records: list[Record]) -> str:
    """What doing better means, where all outcomes say the same."""
    metrics = {(each.result.metric, each.result.better) for each in records if each.result}
    if len(metrics) != 1:
        return ""
    ((metric, better),) = metrics
    return f": {better} {metric}"
