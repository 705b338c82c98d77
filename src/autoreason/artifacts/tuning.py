"""Constants that are marked `# tune 1e-4..1e-1 log`: found in an artifact, and searched by an optimiser."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autoreason.artifacts.artifact import Edit, apply_edits, count_passages, with_changes
from autoreason.artifacts.measurement import Files
from autoreason.artifacts.trial_events import TrialDecided
from autoreason.errors import InvalidInput
from autoreason.exchange import Query

Value = int | float | str
_SUFFIXES = (".cfg", ".ini", ".py", ".toml", ".yaml", ".yml")
_MARK = re.compile(r"#\s*tune\s+(?P<space>\S.*?)\s*$")
_CONSTANT = re.compile(
    r"""(?P<head>.*?(?P<name>[\w.-]+)["']?\s*(?::\s*[\w.\[\]| ]+=|[=:])\s*)"""
    r"""(?P<value>[-+]?[\d.][\w.+-]*|(?P<quote>["'])[^"']*(?P=quote)|[\w.-]+)(?P<tail>\s*,?\s*)"""
)
_RANGE = re.compile(r"(?P<low>\S+?)\.\.(?P<high>\S+?)(?P<words>(?:\s+(?:log|int))*)")
_WHOLE = re.compile(r"[-+]?[\d_]+")
_MAX_OBSERVATIONS = 200
_MAX_LINE = 300
_FORM = "write `# tune 1e-4..1e-1 log`, `# tune 1..64 int` or `# tune a|b|c` behind NAME = VALUE"


class Knob(Struct, frozen=True, kw_only=True):
    """A marked constant and the values it may have."""

    path: str
    name: str
    value: Value
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()

    @property
    def space(self) -> Knob:
        """The same without its current value."""
        return replace(self, value="")

    def allows(self, value: Value) -> bool:
        """Whether it may have this value."""
        if isinstance(value, str) or self.choices:
            return value in self.choices
        return self.low <= value <= self.high


class Observation(Struct, frozen=True, array_like=True):
    """Values of the knobs, and the number that they got; higher is better."""

    values: tuple[Value, ...]
    score: float


class TuningQuery(Query[tuple[Value, ...]], frozen=True, kw_only=True):
    """Which values to try next; no values where there is no optimiser. Recorded, for another version may differ."""

    kind = "tuning"
    knobs: tuple[Knob, ...]
    observations: tuple[Observation, ...] = ()
    seed: int = 0


def find_knobs(files: Files) -> list[Knob]:
    """The marked constants of an artifact; a mark that cannot be read is none."""
    return [knob for path in sorted(files) for _, knob in _knobs_in(path, files[path]) if knob]


def check_knobs(files: Files) -> str:
    """Refuse marks that cannot be read; a sentence where there are some and no optimiser to search them."""
    for path, text in files.items():
        for line, knob in _knobs_in(path, text):
            if knob is None:
                raise InvalidInput(f"{path} line {line + 1}: the mark cannot be read; {_FORM}")
    if find_knobs(files) and not find_spec("optuna"):
        return (
            "constants are marked with `# tune`, but there is no optimiser to search them; "
            "run `pip install '.[tune]'` in the clone, or leave them to the model"
        )
    return ""


def _knobs_in(path: str, text: str) -> Iterator[tuple[int, Knob | None]]:
    """Line by line, from 0; None for a mark that cannot be read."""
    if PurePosixPath(path).suffix not in _SUFFIXES:
        return
    for number, line in enumerate(text.split("\n")):
        if len(line) <= _MAX_LINE and (mark := _MARK.search(line)):
            constant = _CONSTANT.fullmatch(line[: mark.start()])
            yield number, _read_knob(path, constant, mark["space"]) if constant else None


def _read_knob(path: str, constant: re.Match[str], space: str) -> Knob | None:
    literal = constant["value"]
    if "|" in space:
        choices = tuple(each.strip().strip("\"'") for each in space.split("|"))
        knob = Knob(path=path, name=constant["name"], value=literal.strip("\"'"), choices=choices)
        return knob if knob.allows(knob.value) and len(set(choices)) == len(choices) else None
    between = _RANGE.fullmatch(space)
    if not between:
        return None
    numbers = (literal, between["low"], between["high"])
    words = between["words"].split()
    try:
        value, low, high = map(float, numbers)
    except ValueError:
        return None
    # A whole number between whole numbers may be a count.
    whole = "int" in words or all(_WHOLE.fullmatch(each) for each in numbers)
    log = "log" in words
    if not low <= value <= high or low == high or (log and low <= 0):
        return None
    return Knob(
        path=path,
        name=constant["name"],
        value=int(value) if whole else value,
        low=low,
        high=high,
        log=log,
        whole=whole,
    )


def observe(
    knobs: Sequence[Knob], start: Files, trials: Iterable[TrialDecided], *, higher: bool
) -> tuple[Observation, ...]:
    """What the trials so far say of these knobs, by a model or by the optimiser."""
    spaces = [knob.space for knob in knobs]
    artifacts = {0: start}
    found = []
    for trial in trials:
        files = with_changes(artifacts[trial.incumbent], trial.changes)
        if trial.status == "kept":
            artifacts[trial.number] = files
        theirs = find_knobs(files) if trial.values else []
        if trial.values and [knob.space for knob in theirs] == spaces:
            score = sum(trial.values) / len(trial.values)
            values = tuple(knob.value for knob in theirs)
            found.append(Observation(values, score if higher else -score))
    return tuple(found[-_MAX_OBSERVATIONS:])


def suggest(query: TuningQuery) -> tuple[Value, ...]:
    """The values that Optuna would try next; none where it is not installed."""
    try:
        import optuna
    except ModuleNotFoundError:
        return ()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    spaces = {str(place): _distribution(knob) for place, knob in enumerate(query.knobs)}
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=query.seed)
    )
    for each in query.observations:
        params = dict(zip(spaces, each.values, strict=True))
        study.add_trial(
            optuna.trial.create_trial(params=params, distributions=spaces, value=each.score)
        )
    asked = study.ask(spaces).params
    return tuple(_tidy(knob, asked[place]) for place, knob in zip(spaces, query.knobs, strict=True))


def _distribution(knob: Knob) -> Any:
    from optuna import distributions

    if knob.choices:
        return distributions.CategoricalDistribution(knob.choices)
    if knob.whole:
        return distributions.IntDistribution(int(knob.low), int(knob.high), log=knob.log)
    return distributions.FloatDistribution(knob.low, knob.high, log=knob.log)


def _tidy(knob: Knob, value: Value) -> Value:
    """A number with four digits, which is all that its effect can depend on."""
    if not isinstance(value, float):
        return value
    return min(max(float(f"{value:.4g}"), knob.low), knob.high)


def set_knobs(files: Files, values: Sequence[Value]) -> tuple[Edit, ...]:
    """Edits that give the marked constants these values and touch nothing else."""
    edits: list[Edit] = []
    for place, value in enumerate(values):
        knob = find_knobs(files)[place]
        if knob.value != value:
            edit = _set(files[knob.path], place - _first(files, knob.path), knob.path, value)
            files = apply_edits(files, [edit], (knob.path,))
            edits.append(edit)
    return tuple(edits)


def _first(files: Files, path: str) -> int:
    """How many knobs come before those of a file."""
    return next(place for place, knob in enumerate(find_knobs(files)) if knob.path == path)


def _set(text: str, place: int, path: str, value: Value) -> Edit:
    number = [line for line, knob in _knobs_in(path, text) if knob][place]
    lines = text.split("\n")
    line = lines[number]
    constant = _CONSTANT.match(line)
    assert constant is not None
    quote = constant["quote"] or ""
    literal = f"{quote}{value}{quote}" if isinstance(value, str) else repr(value)
    changed = line[: constant.start("value")] + literal + line[constant.end("value") :]
    around = 0
    while True:
        # As few lines as there must be for the passage to occur once.
        first, last = max(0, number - around), number + around + 1
        search = "\n".join(lines[first:last])
        if count_passages(text, search) == 1:
            return Edit(
                path=path,
                search=search,
                text="\n".join([*lines[first:number], changed, *lines[number + 1 : last]]),
            )
        around += 1
