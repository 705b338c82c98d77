"""Records of the original experiments: whole transcripts, and passes with ballots or scores only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from autoreason.contract import count_words
from autoreason.errors import InvalidInput, plainly
from autoreason.studies.audit.audited_record import (
    SLOTS,
    AuditedPanel,
    AuditedPass,
    AuditedRun,
    AuditedVote,
    shared_order,
)
from autoreason.studies.audit.wording import has_no_problem, stated_contract
from autoreason.task import read_text

_FORMATS = (
    "a transcript (a `run` line, then `pass` lines) or passes (lines with experiment, run and pass)"
)
_RULES = {"single_pick": "majority"}


class _Judge(Struct):
    order: tuple[str, ...] | None = None
    ranking: tuple[str, ...] | None = None
    text: str | None = None


class _PassLine(Struct, kw_only=True):
    """A pass in a transcript."""

    number: int = msgspec.field(name="pass")
    version_a: str | None = None
    version_b: str | None = None
    version_ab: str | None = None
    critique: str | None = None
    judges: list[_Judge] | None = None
    scores: dict[str, int] | None = None
    winner: str | None = None
    streak_after: int | None = None
    elapsed_s: float | None = None


class _Line(_PassLine, kw_only=True):
    """One line of `ballots.jsonl`: a pass, and what is known of its run."""

    experiment: str
    run: str
    judge_model: str = ""
    aggregation: str = "borda"
    panel_size: int | None = None
    k: int | None = None
    one_order_for_all_judges: bool | None = None
    valid_ballots_recorded: int | None = None
    valid_ballots_implied: int | None = None
    words: dict[str, int | None] | None = None
    flags: list[str] = []


class _RunLine(Struct, kw_only=True):
    """The first line of a transcript."""

    experiment: str
    run: str
    task_prompt: str = ""
    judge_model: str = ""
    k: int | None = None
    initial_a: str | None = None
    final_output: str | None = None
    ground_truth_context: str | None = None


def read_records(path: Path) -> list[AuditedRun]:
    """The runs of a file, or of a folder with `ballots.jsonl` and `transcripts/`."""
    if not path.is_dir():
        return _read_file(path)
    files = [path / "ballots.jsonl", *sorted((path / "transcripts").glob("*.jsonl"))]
    present = [file for file in files if file.is_file()] or sorted(path.glob("*.jsonl"))
    if not present:
        raise InvalidInput(f"{path} contains no record; name a folder or a file with {_FORMATS}")
    return without_duplicates(run for file in present for run in _read_file(file))


def without_duplicates(runs: Iterable[AuditedRun]) -> list[AuditedRun]:
    """Every run once, in the fullest form there is of it."""
    by_name: dict[str, AuditedRun] = {}
    for run in runs:
        other = by_name.get(run.name)
        if other is None or (run.first is not None and other.first is None):
            by_name[run.name] = run
    return list(by_name.values())


def _read_file(path: Path) -> list[AuditedRun]:
    lines = list(_lines(path))
    first = lines[0][1]
    if first.get("type") == "run":
        return list(_transcripts(path, lines))
    if {"experiment", "run", "pass"} <= set(first):
        return _from_passes(path, lines)
    raise InvalidInput(f"{path} is no record that can be audited; give {_FORMATS}")


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(read_text(path, "record").splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise InvalidInput(
                f"{path} line {number} is no JSON object; fix the line or restore the file"
            )
        yield number, value


def _convert(path: Path, number: int, value: dict[str, Any], kind: type[Any]) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"{path} line {number} is damaged: {plainly(error)}; fix the line or restore the file"
        ) from None


def _from_passes(path: Path, lines: list[tuple[int, dict[str, Any]]]) -> list[AuditedRun]:
    by_run: dict[tuple[str, str], list[_Line]] = {}
    for number, value in lines:
        line: _Line = _convert(path, number, value, _Line)
        by_run.setdefault((line.experiment, line.run), []).append(line)
    return [
        AuditedRun(
            name=f"{experiment}/{name}",
            group=experiment,
            k=passes[0].k,
            passes=tuple(_read_pass(line) for line in sorted(passes, key=lambda p: p.number)),
        )
        for (experiment, name), passes in by_run.items()
    ]


def _read_pass(line: _Line) -> AuditedPass:
    words = line.words or {}
    return AuditedPass(
        number=line.number,
        winner=line.winner,
        streak=line.streak_after,
        panel=_read_panel(line),
        texts={},
        words={slot: count for slot in SLOTS if (count := words.get(slot)) is not None},
        critique_words=words.get("critic"),
        clones=tuple(flag for flag in line.flags if flag.startswith("clone")),
        seconds=line.elapsed_s,
    )


def _read_panel(line: _Line) -> AuditedPanel:
    votes, valid = None, _valid(line)
    if line.judges is not None:
        votes = tuple(_vote(judge, line.judge_model) for judge in line.judges)
    return AuditedPanel(
        candidates=tuple(line.scores) if line.scores else SLOTS,
        rule=_RULES.get(line.aggregation, line.aggregation),
        judge=line.judge_model,
        # Every judge who voted had a seat, whatever size the line gives.
        seats=max(line.panel_size, valid or 0) if line.panel_size is not None else None,
        valid=valid,
        votes=votes,
        scores=line.scores,
        winner=line.winner,
        shared_order=line.one_order_for_all_judges if line.panel_size != 1 else None,
    )


def _valid(line: _Line) -> int | None:
    if line.valid_ballots_recorded is not None:
        return line.valid_ballots_recorded
    if line.judges is not None:
        return sum(judge.ranking is not None for judge in line.judges)
    return line.valid_ballots_implied


def _vote(judge: _Judge, model: str) -> AuditedVote:
    # In these records the label was the position.
    labels = tuple(str(place + 1) for place in range(len(judge.order))) if judge.order else None
    ranking = judge.ranking or None
    faulty = bool(ranking) and not _is_ballot(ranking or (), judge.order)
    return AuditedVote(
        judge=model,
        order=judge.order,
        ranking=None if faulty else ranking,
        labels=labels,
        text=judge.text,
        faulty=faulty,
    )


def _is_ballot(ranking: tuple[str, ...], order: tuple[str, ...] | None) -> bool:
    """Every text once, or a lone winner."""
    if order is None:
        return len(set(ranking)) == len(ranking)
    return sorted(ranking) == sorted(order) or (len(ranking) == 1 and ranking[0] in order)


def _transcripts(path: Path, lines: list[tuple[int, dict[str, Any]]]) -> Iterator[AuditedRun]:
    run: _RunLine | None = None
    passes: list[_PassLine] = []
    for number, value in lines:
        if value.get("type") == "run":
            if run:
                yield _read_transcript(run, passes)
            run, passes = _convert(path, number, value, _RunLine), []
        else:
            passes.append(_convert(path, number, value, _PassLine))
    assert run is not None
    yield _read_transcript(run, passes)


def _read_transcript(run: _RunLine, passes: list[_PassLine]) -> AuditedRun:
    audited_passes = tuple(_read_transcript_pass(run, line) for line in passes)
    last = run.final_output
    if last is None and audited_passes:
        last = audited_passes[-1].texts.get(audited_passes[-1].winner or "A")
    return AuditedRun(
        name=f"{run.experiment}/{run.run}",
        group=run.experiment,
        k=run.k,
        passes=audited_passes,
        brief=run.task_prompt or None,
        allowed=(run.task_prompt, run.ground_truth_context or ""),
        contract=stated_contract(run.task_prompt),
        first=run.initial_a or (passes[0].version_a if passes else None),
        last=last,
    )


def _read_transcript_pass(run: _RunLine, line: _PassLine) -> AuditedPass:
    versions = {"A": line.version_a, "B": line.version_b, "AB": line.version_ab}
    texts = {slot: text for slot, text in versions.items() if text is not None}
    votes = None
    if line.judges is not None:
        votes = tuple(_vote(judge, run.judge_model) for judge in line.judges)
    return AuditedPass(
        number=line.number,
        winner=line.winner,
        streak=line.streak_after,
        panel=AuditedPanel(
            candidates=tuple(texts),
            rule="borda",
            judge=run.judge_model,
            seats=len(votes) if votes else None,
            valid=sum(vote.ranking is not None for vote in votes) if votes else None,
            votes=votes,
            scores=line.scores,
            winner=line.winner,
            shared_order=shared_order(votes or ()),
        ),
        texts=texts,
        words={slot: count_words(text) for slot, text in texts.items()},
        critique_words=count_words(line.critique) if line.critique is not None else None,
        no_problem=has_no_problem(line.critique) if line.critique is not None else None,
        seconds=line.elapsed_s,
    )
