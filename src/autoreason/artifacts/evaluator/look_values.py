"""What an evaluator returned, read: one finite number decides, and nothing else is a value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from autoreason.artifacts.measurement import LookOutcome, Measurement, refuse_huge
from autoreason.artifacts.research_task import LookLimits

MAX_RESULT_BYTES = 1 << 20
MAX_OUTPUT = 16 << 20
"""Bytes that a look may print; then it is ended."""
_MAX_METRICS = 64
_MAX_NAME = 80
_NOTHING = "the evaluator returned nothing"
TAIL = 2000
"""Characters of output that are kept: its end."""


def read_measurement(text: str | bytes, metric: str, tail: str = "") -> Measurement:
    """The measurement of a look that ended by itself."""
    try:
        return replace(refuse_huge(_read(text, metric)), tail=tail)
    except ValueError as error:
        return Measurement(outcome=LookOutcome.INVALID, detail=str(error), tail=tail)


def interface_hint(detail: str, files: Collection[str]) -> str:
    """What to change in a command that looks for the artifact beside itself or prints its number, else nothing."""
    imported = [path for path in files if f"No module named '{PurePosixPath(path).stem}'" in detail]
    absent = re.search("No such file|not found", detail) is not None
    pattern = r"(?<![\w/])(?:\./)?{}(?!\w)"
    opened = [
        each for each in files if absent and re.search(pattern.format(re.escape(each)), detail)
    ]
    if not imported and not opened and detail != _NOTHING:
        return ""
    name = [*imported, *opened, *files][0]
    opening = f'open(os.environ["AUTOREASON_ARTIFACT"] + "/{name}")'
    running = f'subprocess.run(["artifact", "python", "{name}"], capture_output=True)'
    return (
        "; the artifact is in the folder $AUTOREASON_ARTIFACT, not in the current one, and the number, or a JSON "
        "object, goes to descriptor $AUTOREASON_RESULT, which is 3, not to the screen. In Python: "
        f"`{running if imported else opening}` and "
        '`print(score, file=open(int(os.environ["AUTOREASON_RESULT"]), "w"))`; '
        f'in a shell: `"$AUTOREASON_ARTIFACT/{name}"` and `echo "$score" >&3`'
    )


def too_much_printed(tail: str) -> Measurement:
    """The measurement of a look that was ended because it printed too much."""
    detail = f"more than {MAX_OUTPUT >> 20} MB were printed"
    return Measurement(outcome=LookOutcome.FAILED, detail=detail, tail=tail)


def measured(result: Measurement, limits: LookLimits, *, seconds: float, level: str) -> Measurement:
    """A measurement with what every one has: its time, its level, and a sentence for a limit."""
    details = {
        LookOutcome.TIMEOUT: f"it took longer than {limits.seconds:g} s",
        LookOutcome.MEMORY: f"it needed more than {limits.memory_mb} MB of memory",
    }
    detail = details.get(result.outcome, result.detail)
    return replace(result, seconds=seconds, level=level, detail=detail)


def without_sealed_text(measurement: Measurement, names: Collection[str]) -> Measurement:
    """A measurement of sealed items, which what was printed and unknown names of metrics could be a part of."""
    safe = (LookOutcome.OK, LookOutcome.TIMEOUT, LookOutcome.MEMORY)
    generic = f"{measurement.outcome} on sealed items"
    detail = measurement.detail if measurement.outcome in safe else generic
    metrics = {name: value for name, value in measurement.metrics.items() if name in names}
    return replace(measurement, tail="", detail=detail, metrics=metrics)


def _read(text: str | bytes, metric: str) -> Measurement:
    """Read one number, or a JSON object in which `metric` decides and `items` may have one number each."""
    if len(text) > MAX_RESULT_BYTES:
        raise ValueError("the result is larger than 1 MB; return numbers only")
    if not text.strip():
        raise ValueError(_NOTHING)
    try:
        result = json.loads(text)
    except (ValueError, RecursionError):
        start = text[:40].decode(errors="replace") if isinstance(text, bytes) else text[:40]
        raise ValueError(f"the evaluator returned {start!r}, which is no JSON") from None
    if not isinstance(result, dict):
        number = _number(result)
        if number is None:
            raise ValueError(f"the evaluator returned {_shown(result)}, which is no finite number")
        return Measurement(outcome=LookOutcome.OK, value=number, metrics={metric: number})
    if metric not in result:
        raise ValueError(
            f"the evaluator returned no {metric!r}; return it, or name the one that decides as `metric`"
        )
    numbers = {name: _number(each) for name, each in result.items()}
    metrics = {
        name: each
        for name, each in numbers.items()
        if each is not None and name.isprintable() and len(name) <= _MAX_NAME
    }
    if metric not in metrics:
        raise ValueError(f"{metric!r} is {_shown(result[metric])}, which is no finite number")
    value, items = metrics.pop(metric), result.get("items")
    kept = {metric: value} | dict(list(metrics.items())[: _MAX_METRICS - 1])
    found = [_number(each) for each in items] if isinstance(items, list) else []
    by_item = tuple(each for each in found if each is not None) if None not in found else ()
    return Measurement(outcome=LookOutcome.OK, value=value, metrics=kept, by_item=by_item)


def _number(value: Any) -> float | None:
    """A finite number; a boolean is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _MAX_NAME else f"{text[:_MAX_NAME]}…"
