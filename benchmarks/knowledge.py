"""A folder of 100,000 records: how long its index takes, how quickly it is searched, how much memory it needs."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory

from autoreason.files import cache_folder
from autoreason.knowledge.index import Index, IndexedRecord, SearchQuery, choose_knowledge
from benchmarks.commands import bare_start
from benchmarks.measure import IN_STARTS, Measure, at_most, for_information

_RECORDS = 100_000
_SEARCHES = 200
_WORDS = 20_000


def measure_knowledge() -> list[Measure]:
    """In a process of its own, whose memory is its own; times as multiples of a bare interpreter's start."""
    with TemporaryDirectory() as folder:
        _write_folder(Path(folder))
        command = [sys.executable, "-m", "benchmarks.knowledge", folder]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
    found, start = json.loads(done.stdout), 1000 * bare_start().cpu
    name, size = "knowledge", f"{_RECORDS:,} records"
    index = 1000 * found["index"] / (_RECORDS / 1000)
    times = f"{found['index']:.3g} s, {found['search']:.3g} ms, {found['retrieve']:.3g} ms"
    return [
        at_most(name, f"index, a thousand of {size}, {IN_STARTS}", index / start, 40, "x"),
        at_most(name, f"search of {size}, median, the same", found["search"] / start, 1.25, "x"),
        at_most(
            name, f"records for a run out of {size}, the same", found["retrieve"] / start, 1.25, "x"
        ),
        for_information(name, "processor time of these three, the whole index first", times),
        at_most(name, f"memory for {size}", found["memory"], 300, "MB"),
        for_information(name, "the slowest of the searches", f"{found['slowest']:.3g} ms"),
        for_information(name, "size of the index", f"{found['size']:.0f} MB"),
    ]


def _write_folder(folder: Path) -> None:
    """Mails as a tool exports them, in words that are as common as words are."""
    with (folder / "mails.csv").open("w") as file:
        file.write("subject,sent,opens,campaign,date\n")
        file.writelines(f"{line}\n" for line in _lines())


def _lines() -> Iterator[str]:
    rng = Random(0)
    for at in range(_RECORDS):
        text = _text(rng, rng.randint(6, 60))
        campaign, day = at // 5, at // 400
        date = f"{2023 + day // 336}-{1 + day % 336 // 28:02}-{1 + day % 28:02}"
        yield f"{text},{rng.randint(500, 5000)},{rng.randint(10, 400)},c{campaign},{date}"


def _text(rng: Random, words: int) -> str:
    return " ".join(f"w{int(_WORDS ** rng.random())}x" for _ in range(words))


def _measure(folder: str) -> dict[str, float]:
    start = time.process_time()
    index = Index.open(folder)
    built = time.process_time() - start
    rng = Random(1)
    texts = [_text(rng, 4 if at % 2 else 40) for at in range(_SEARCHES)]
    took = [_time(partial(_search, index, text)) for text in texts]
    shown = [_time(partial(choose_knowledge, index, SearchQuery(text))) for text in texts]
    unit = 1024 if sys.platform != "darwin" else 1024**2
    indexes = cache_folder() / "knowledge"
    return {
        "index": built,
        "search": median(took),
        "retrieve": median(shown),
        "slowest": max(took),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit,
        "size": max(each.stat().st_size for each in indexes.iterdir()) / 1e6,
    }


def _search(index: Index, text: str) -> list[IndexedRecord]:
    return list(islice(index.nearest(text), 10))


def _time(work: Callable[[], object]) -> float:
    """Milliseconds of processor time."""
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1])))
