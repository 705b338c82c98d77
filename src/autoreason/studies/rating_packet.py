"""A packet of texts under codes, with a sealed key, and the sheets of those who rate them."""

from __future__ import annotations

import base64
import hashlib
import os
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from autoreason.errors import InvalidInput, JournalError
from autoreason.files import write_atomically
from autoreason.jobs.context import draw
from autoreason.journal.sqlite import lock_file
from autoreason.parsing.documents import same_text
from autoreason.story import Story
from autoreason.studies.panel_jobs import make_entries
from autoreason.task import Entry, Task, read_task, read_texts
from autoreason.tournament.judges import balanced_orders

PACKET = "packet.json"
INSTRUCTIONS = "INSTRUCTIONS.md"
KEY = "key.sealed"
OPENING = "unsealed.json"
RATINGS = "ratings"

T = TypeVar("T")


class BlindTask(Struct, frozen=True):
    title: str
    codes: tuple[str, ...]


class Packet(Struct, frozen=True, kw_only=True):
    id: str
    created: datetime
    orders_seed: int
    """From which the order of texts for each person is drawn."""
    tasks: tuple[BlindTask, ...]
    files: dict[str, str]
    """Briefs and texts by name, each with the SHA-256 of its contents."""
    key: str
    """The SHA-256 of the sealed key: it cannot be exchanged without notice."""


def brief_file(task: int) -> str:
    """Where the brief of a task is; tasks are counted from 0, and from 1 for people."""
    return f"task-{task + 1}/brief.md"


def text_file(task: int, code: str) -> str:
    return f"task-{task + 1}/{code}.md"


def read_packet(folder: Path) -> Packet:
    path = folder / PACKET
    if not path.is_file():
        raise InvalidInput(
            f"{folder} is not a packet; make one with `autoreason rate new {folder}`"
        )
    return decode(path.read_bytes(), Packet, path)


def read_part(folder: Path, packet: Packet, name: str) -> str:
    return _read_known(folder / name, packet.files.get(name, "")).decode()


def _read_known(path: Path, known: str) -> bytes:
    data = path.read_bytes() if path.is_file() else b""
    if digest(data) != known:
        raise InvalidInput(f"{path} is not what it was; restore it from a copy")
    return data


def decode(data: bytes, kind: type[T], path: Path) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise InvalidInput(f"{path} is damaged; restore it from a copy") from None


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write_durably(path: Path, data: bytes) -> None:
    """All of a file or nothing, and on the disk before it counts as written."""
    write_atomically(path, data)
    # The names in the folder, too.
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_LABEL = (
    "The sealed key of a rating packet. `autoreason rate report` opens it, and that ends the\n"
    "blind rating: no one who knows the key can rate.\n"
)


class NamedTask(Struct, frozen=True):
    source: str
    names: dict[str, str]


class PacketKey(Struct, frozen=True, kw_only=True):
    packet: str
    seed: int
    tasks: tuple[NamedTask, ...]


class KeyOpening(Struct, frozen=True, kw_only=True):
    at: datetime
    ratings: dict[str, str]
    """The SHA-256 of every person's ratings at that moment, by file."""


def seal(key: PacketKey) -> bytes:
    hidden = base64.b85encode(zlib.compress(msgspec.json.encode(key), 9)).decode()
    return f"{_LABEL}\n{hidden}\n".encode()


def unseal(sealed: bytes) -> PacketKey:
    _, _, hidden = sealed.partition(b"\n\n")
    plain = zlib.decompress(base64.b85decode(hidden.strip()))
    return msgspec.json.decode(plain, type=PacketKey)


def opening(folder: Path) -> KeyOpening | None:
    path = folder / OPENING
    return decode(path.read_bytes(), KeyOpening, path) if path.exists() else None


def open_key(folder: Path, packet: Packet, now: datetime) -> tuple[PacketKey, KeyOpening]:
    """The key of a packet; the first opening is recorded before the key is read."""
    sealed = _read_known(folder / KEY, packet.key)
    opened = opening(folder)
    if opened is None:
        opened = KeyOpening(at=now, ratings=rating_digests(folder))
        data = msgspec.json.format(msgspec.json.encode(opened), indent=2)
        write_durably(folder / OPENING, data + b"\n")
    return unseal(sealed), opened


def rating_digests(folder: Path) -> dict[str, str]:
    files = sorted((folder / RATINGS).glob("*.jsonl"))
    return {path.name: digest(path.read_bytes()) for path in files}


_CODES = tuple(map("".join, product("BDFGJKLMNPRTVWXZ", "AIOU", "BDFGJKLMNPRTVWXZ", "23456789")))
"""Easy to say, and not a word of any language."""


def draw_codes(count: int, texts: Iterable[str], rng: random.Random) -> tuple[str, ...]:
    """Codes that occur in none of the texts, unlike each other and with first letters as different as can be."""
    upper_texts = [text.upper() for text in texts]
    shuffled = rng.sample(_CODES, len(_CODES))
    codes: list[str] = []
    first_letters: Counter[str] = Counter()
    # In the first round one code for each first letter, in the second another, and so on.
    for max_uses, code in product(range(1, count + 1), shuffled):
        if len(codes) == count:
            break
        if first_letters[code[0]] >= max_uses or any(code in text for text in upper_texts):
            continue
        # Two codes differ in two letters or more.
        if all(sum(map(str.__ne__, code, other)) > 1 for other in codes):
            codes.append(code)
            first_letters[code[0]] += 1
    if len(codes) < count:
        raise InvalidInput(
            f"not {count} codes are left that occur in none of the texts; split them into two packets"
        )
    return tuple(codes)


_PAGE = Path(__file__).parent / "rating_page"


class OpenTask(Struct, frozen=True):
    task: Task
    entries: tuple[Entry, ...]
    source: str = ""
    """Where brief and texts come from, in a word or two."""


def build_packet(folder: Path, tasks: Sequence[OpenTask], *, seed: int) -> Packet:
    if not tasks:
        raise InvalidInput("there is nothing to rate; give a brief and two texts or more")
    for task in tasks:
        make_entries({entry.name: entry.text for entry in task.entries})
    sources = [entry.text for task in tasks for entry in task.entries]
    briefs = [brief(task.task) for task in tasks]
    codes = iter(draw_codes(len(sources), [*sources, *briefs], draw(seed, "codes")))
    entries_by_code = [{next(codes): entry for entry in task.entries} for task in tasks]
    # Files in the order of their codes: neither names nor times reveal the order in which texts were given.
    files = {
        name: text if text.endswith("\n") else f"{text}\n"
        for number, entries in enumerate(entries_by_code)
        for name, text in [
            (brief_file(number), briefs[number]),
            *((text_file(number, code), entries[code].text) for code in sorted(entries)),
        ]
    }
    identity = f"{draw(seed, 'packet').getrandbits(32):08x}"
    names = tuple(
        NamedTask(task.source, {code: entries[code].name for code in sorted(entries)})
        for task, entries in zip(tasks, entries_by_code, strict=True)
    )
    sealed = seal(PacketKey(packet=identity, seed=seed, tasks=names))
    packet = Packet(
        id=identity,
        created=datetime.now(UTC),
        orders_seed=draw(seed, "orders").getrandbits(32),
        tasks=tuple(
            BlindTask(task.task.title, tuple(named.names))
            for task, named in zip(tasks, names, strict=True)
        ),
        files={name: digest(text.encode()) for name, text in files.items()},
        key=digest(sealed),
    )
    _write(folder, packet, files, sealed)
    return packet


def instructions() -> str:
    return (_PAGE / "instructions.md").read_text("utf-8")


def brief(task: Task) -> str:
    limits = "\n".join(f"- {rule}" for rule in task.rules())
    criteria = "\n".join(f"- {each}" for each in task.criteria)
    parts = {"Limits": limits, "Facts": task.facts, "Criteria": criteria}
    shown = (f"### {title}\n\n{text}" for title, text in parts.items() if text)
    return "\n\n".join([task.brief, *shown])


def _write(folder: Path, packet: Packet, files: dict[str, str], sealed: bytes) -> None:
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InvalidInput(f"{folder} is not empty; name a new folder for the packet")
        (folder / RATINGS).mkdir(parents=True)
        for name, text in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, "utf-8", newline="\n")
        (folder / INSTRUCTIONS).write_text(instructions(), "utf-8", newline="\n")
        (folder / KEY).write_bytes(sealed)
        # Last: a folder without it is not a packet.
        data = msgspec.json.format(msgspec.json.encode(packet), indent=2)
        write_durably(folder / PACKET, data + b"\n")
    except OSError as error:
        raise InvalidInput(
            f"cannot write {error.filename or folder}: {error.strerror}; name another folder"
        ) from None


def from_files(brief: str, texts: Sequence[Path]) -> OpenTask:
    entries = tuple(Entry(name=name, text=text) for name, text in read_texts(texts).items())
    is_short = len(brief) <= _MAX_SOURCE and "\n" not in brief
    return OpenTask(read_task(brief), entries, source=brief if is_short else "a brief in words")


def from_pairing(pairing: str) -> OpenTask:
    """`brief.md=a.md,b.md`: a brief and its texts in one word."""
    brief, _, texts = pairing.partition("=")
    paths = [Path(text.strip()) for text in texts.split(",") if text.strip()]
    if not brief.strip() or not paths:
        raise InvalidInput(f"{pairing} is not a task; write it as brief.md=a.md,b.md")
    return from_files(brief.strip(), paths)


def from_run(run: str, story: Story) -> OpenTask:
    draft, delivered = story.draft, story.delivered
    if not story.task or not draft or not delivered or same_text(draft.text, delivered.text):
        why = "has delivered no text other than its first draft"
        raise InvalidInput(f"run {run} {why}; name another run, or the texts")
    entries = (Entry(name="draft", text=draft.text), Entry(name="delivered", text=delivered.text))
    return OpenTask(story.task, entries, source=f"run {run}")


_PATIENCE = 0.2
_MAX_SOURCE = 60


@contextmanager
def lock_packet(folder: Path) -> Iterator[Callable[[str], object]]:
    """Lock a packet; the function it gives records where it is in use, for others who try."""
    path = folder / ".in-use"
    try:
        with lock_file(path, _PATIENCE) as lock:
            if lock is None:
                where = path.read_text("utf-8", "replace").strip()
                at = f" at {where}" if where else ""
                raise InvalidInput(
                    f"{folder} is being rated{at}; end that first, with Ctrl-C where it was started"
                )
            yield lambda where: os.pwrite(lock, where.encode(), 0)
    except JournalError:
        raise InvalidInput(
            f"cannot write into {folder}; allow writing there, or copy the packet"
        ) from None


LOWEST, HIGHEST = 1, 5
SCORES = {1: "very poor", 2: "poor", 3: "fair", 4: "good", 5: "very good"}


RUBRIC = {
    "clarity": "Can you follow it at first reading?",
    "usefulness": "Does it do what the task asks, for the person who asked?",
    "correctness": "Is what it says right, as far as you can tell?",
    "concision": "Does it say what it has to say without waste?",
    "overall": "All in all, how good is this text?",
}
LINES = tuple(RUBRIC)


MAX_COMMENT_LENGTH = 10_000


class ScoreClick(Struct, frozen=True, tag="scored"):
    code: str
    line: str
    score: Annotated[int, Meta(ge=LOWEST, le=HIGHEST)]


class RankingClick(Struct, frozen=True, tag="ranked"):
    """The texts of a task that are placed so far, best first."""

    task: int
    codes: tuple[str, ...]


class CommentClick(Struct, frozen=True, tag="commented"):
    """A comment on a text, or on a task where no code is given."""

    task: int
    code: str | None
    text: Annotated[str, Meta(max_length=MAX_COMMENT_LENGTH)]


class StepClick(Struct, frozen=True, tag="went"):
    step: int


class FinishClick(Struct, frozen=True, tag="finished"):
    """A person is done."""


Click = ScoreClick | RankingClick | CommentClick | StepClick | FinishClick


@dataclass
class Sheet:
    rater: str
    seat: int
    scores: dict[str, dict[str, int]] = field(default_factory=dict)
    rankings: dict[int, tuple[str, ...]] = field(default_factory=dict)
    comments: dict[tuple[int, str | None], str] = field(default_factory=dict)
    step: int = 0
    finished: bool = False

    def apply(self, what: Click) -> None:
        match what:
            case ScoreClick():
                self.scores.setdefault(what.code, {})[what.line] = what.score
            case RankingClick():
                self.rankings[what.task] = what.codes
            case CommentClick():
                self.comments[what.task, what.code] = what.text
            case StepClick():
                self.step = what.step
            case FinishClick():
                self.finished = True

    def ranking(self, packet: Packet, task: int) -> tuple[str, ...] | None:
        """The whole ranking of a task; None where texts are still to be placed."""
        placed = self.rankings.get(task, ())
        return placed if len(placed) == len(packet.tasks[task].codes) else None

    def answered(self, packet: Packet) -> int:
        """Steps that are complete: a text with every line rated, or a whole ranking."""
        rated = sum(len(lines) == len(LINES) for lines in self.scores.values())
        ranked = sum(self.ranking(packet, task) is not None for task in range(len(packet.tasks)))
        return rated + ranked

    @property
    def empty(self) -> bool:
        return not self.scores and not any(self.rankings.values())


def steps_in(packet: Packet) -> int:
    return sum(len(task.codes) + 1 for task in packet.tasks)


def fits(what: Click, packet: Packet) -> bool:
    codes = {at: task.codes for at, task in enumerate(packet.tasks)}
    match what:
        case ScoreClick():
            return any(what.code in task.codes for task in packet.tasks) and what.line in LINES
        case RankingClick():
            once = len(set(what.codes)) == len(what.codes)
            return once and set(what.codes) <= {*codes.get(what.task, ())}
        case CommentClick():
            return what.task in codes and what.code in (None, *codes[what.task])
        case StepClick():
            return 0 <= what.step <= steps_in(packet)
        case FinishClick():
            return True


class RatingStep(Struct, frozen=True):
    kind: Literal["text", "ranking"]
    task: int
    codes: tuple[str, ...]
    """The one text, or all of the task in the order in which they were shown."""


def plan(packet: Packet, seat: int) -> tuple[RatingStep, ...]:
    """The steps of the person in a seat: over people, every text is equally often in every place."""

    def order(purpose: str, names: Sequence[str]) -> tuple[str, ...]:
        seed = draw(packet.orders_seed, purpose).getrandbits(32)
        return balanced_orders(names, seat + 1, seed)[seat]

    steps: list[RatingStep] = []
    for number in map(int, order("tasks", [*map(str, range(len(packet.tasks)))])):
        codes = order(f"task {number}", packet.tasks[number].codes)
        steps += [RatingStep("text", number, (code,)) for code in codes]
        steps.append(RatingStep("ranking", number, codes))
    return tuple(steps)


MAX_NAME_LENGTH = 60


class SheetStart(Struct, frozen=True, tag="began"):
    packet: str
    rater: str
    seat: int


class SheetLine(Struct, frozen=True):
    at: datetime
    what: SheetStart | Click


@dataclass
class OpenSheet:
    path: Path
    sheet: Sheet
    packet: Packet

    def add(self, what: Click, now: datetime) -> None:
        if not fits(what, self.packet):
            raise InvalidInput(f"this does not fit the packet: {what}")
        try:
            with self.path.open("ab") as file:
                file.write(msgspec.json.encode(SheetLine(now, what)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            _drop_partial_line(self.path)
            raise
        self.sheet.apply(what)


def open_sheet(folder: Path, packet: Packet, rater: str, now: datetime) -> OpenSheet:
    name = check_name(rater)
    sheets = {path: read_sheet(path, packet) for path in sorted((folder / RATINGS).glob("*.jsonl"))}
    for path, sheet in sheets.items():
        if sheet.rater.casefold() == name.casefold():
            _drop_partial_line(path)
            return OpenSheet(path, sheet, packet)
    seat = 1 + max((sheet.seat for sheet in sheets.values()), default=-1)
    path = folder / RATINGS / f"rater-{seat + 1:02}.jsonl"
    path.parent.mkdir(exist_ok=True)
    # Whole or not at all: a sheet without its first line belongs to no one.
    start = SheetLine(now, SheetStart(packet.id, name, seat))
    write_durably(path, msgspec.json.encode(start) + b"\n")
    return OpenSheet(path, Sheet(name, seat), packet)


def check_name(rater: str) -> str:
    name = " ".join(rater.split())
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise InvalidInput(
            f"a rater needs a name of 1 to {MAX_NAME_LENGTH} characters; give another"
        )
    return name


def read_sheets(folder: Path, packet: Packet) -> list[Sheet]:
    sheets = (read_sheet(path, packet) for path in (folder / RATINGS).glob("*.jsonl"))
    return sorted(sheets, key=lambda sheet: sheet.seat)


def read_sheet(path: Path, packet: Packet) -> Sheet:
    """What is written on one sheet; half a last line is a click that was never confirmed."""
    sheet = None
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            what = msgspec.json.decode(line, type=SheetLine).what
        except (msgspec.MsgspecError, UnicodeDecodeError):
            what = None
        if number == 1 and isinstance(what, SheetStart) and what.packet == packet.id:
            sheet = Sheet(what.rater, what.seat)
        elif sheet and what and not isinstance(what, SheetStart) and fits(what, packet):
            sheet.apply(what)
        elif sheet:
            raise InvalidInput(f"{path} is damaged in line {number}; fix that line or remove it")
    if sheet is None:
        raise InvalidInput(f"{path} does not belong to this packet; move it to another folder")
    return sheet


def _drop_partial_line(path: Path) -> None:
    """Cut off half a last line, so that the next one starts on a line of its own."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)
