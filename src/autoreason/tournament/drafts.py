"""The first draft: given by the user, written by the author, or the best of several."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from autoreason.contract import count_words
from autoreason.errors import ProviderFailed
from autoreason.events import DraftFailed, DraftReady, DraftWritten, PanelDecided
from autoreason.jobs.context import JobContext
from autoreason.jobs.tasks import use_in_order
from autoreason.keys import sub_key, try_key
from autoreason.parsing.documents import same_text
from autoreason.story import DRAFTS
from autoreason.tournament.authors import ENDLESS, MissingText, WrittenText, write
from autoreason.tournament.code_judges import CodeJudges
from autoreason.tournament.panel import Panel
from autoreason.tournament.panel_size import whole_size

Affords = Callable[[range], Awaitable[bool]]
"""Whether drafts of these numbers can be paid for."""


async def prepare_draft(context: JobContext) -> None:
    """Emit the first text."""
    _emit_ready(context, await _first_draft(context))


async def choose_draft(context: JobContext, affords: Affords, code: CodeJudges) -> None:
    """Emit the first text: of several drafts the one that breaks the fewest limits, then the judges' choice.

    They are written until as many as wanted keep the contract. A draft given by the user is the only one.
    """
    settings, drafts = context.settings, {1: await _first_draft(context)}
    alone = settings.max_drafts == 1 or context.task.draft is not None
    last = 1
    while not alone and (missing := settings.drafts - sum(map(_is_clean, drafts.values()))) > 0:
        numbers = range(last + 1, min(last + missing, settings.max_drafts) + 1)
        if not numbers or not await affords(numbers):
            break
        if last == 1:
            _emit_written(context, 1, drafts[1])
        last = numbers[-1]
        answers: list[WrittenText | MissingText] = []
        works = [write_draft(context, sub_key(DRAFTS, number)) for number in numbers]
        await use_in_order(works, answers.append)
        for number, written in zip(numbers, answers, strict=True):
            if isinstance(written, MissingText):
                _emit_failed(context, number - 1, written)
            else:
                drafts[number] = written
                _emit_written(context, number, written)
    number_chosen = await _choose(context, drafts, code)
    _emit_ready(context, drafts[number_chosen], number_chosen, len(drafts))


async def write_draft(context: JobContext, key: str) -> WrittenText | MissingText:
    """One text for the task, by an author who sees no other text."""
    settings = context.settings
    request = context.request(
        "author",
        try_key(key, 0),
        settings.models.author,
        context.prompts.render("author"),
        temperature=settings.author_temperature,
    )
    return await write(context, request, key)


async def _choose(context: JobContext, drafts: dict[int, WrittenText], code: CodeJudges) -> int:
    """Contract first; where several drafts that keep it were asked for, judges choose among equals."""
    faults = {number: _all_faults(context, each) for number, each in drafts.items()}
    min_faults = min(faults.values())
    best: dict[str, int] = {}
    for number, each in drafts.items():
        if faults[number] == min_faults and not any(
            same_text(each.text, drafts[other].text) for other in best.values()
        ):
            best[f"draft {number}"] = number
    first = next(iter(best.values()))
    if context.settings.drafts == 1 or len(best) == 1:
        return first
    texts = {name: drafts[number].text for name, number in best.items()}
    panel = Panel(context, DRAFTS, texts, whole_size(context.settings), code=code)
    verdict = await panel.run()
    context.emit(PanelDecided(stage=DRAFTS, verdict=verdict))
    return best[verdict.winner] if verdict else first


async def _first_draft(context: JobContext) -> WrittenText:
    """The user's draft, or the author's; a run resumed after it got none asks once more than before."""
    task = context.task
    if task.draft is not None:
        text = task.draft.strip()
        return WrittenText(text, "", False, False, (), task.contract.violations(text))
    reason = fix = ""
    for attempt in range(context.recovery.redrafts + 1):
        written = await write_draft(context, sub_key("draft", attempt) if attempt else "draft")
        if isinstance(written, WrittenText):
            return written
        _emit_failed(context, attempt, written)
        reason = f"{written.reason}: {written.detail}"
        fix = (
            "raise the output limit"
            if written.reason == "truncated" and written.detail != ENDLESS
            else "try another author model"
        )
    raise ProviderFailed(f"the author gave no first draft ({reason}); {fix}")


def _is_clean(written: WrittenText) -> bool:
    return _faults(written) == (0, 0)


def _faults(written: WrittenText) -> tuple[int, int]:
    """Limits it breaks, and what still gives it away."""
    return len(written.violations), len(written.leaks)


def _all_faults(context: JobContext, written: WrittenText) -> tuple[int, int, int]:
    """The same, and how far it is from the limits of length."""
    off = context.task.contract.words_off(written.text) if context.settings.strict_length else 0
    return *_faults(written), off


def _emit_failed(context: JobContext, attempt: int, written: MissingText) -> None:
    context.emit(DraftFailed(attempt=attempt, reason=written.reason, detail=written.detail))


def _emit_written(context: JobContext, number: int, written: WrittenText) -> None:
    context.emit(
        DraftWritten(
            number=number,
            text=written.text,
            words=count_words(written.text),
            violations=written.violations,
            leaks=written.leaks,
        )
    )


def _emit_ready(context: JobContext, written: WrittenText, number: int = 1, of: int = 1) -> None:
    context.emit(
        DraftReady(
            text=written.text,
            words=count_words(written.text),
            given=context.task.draft is not None and number == 1,
            violations=written.violations,
            leaks=written.leaks,
            number=number,
            of=of,
        )
    )
