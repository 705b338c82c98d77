"""A packet: texts under codes in a folder, a sealed key, and no other trace of which is which."""

from __future__ import annotations

import base64
import hashlib
import os
import random
import textwrap
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import combinations, product
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput, JournalError
from autoreason.jobs.context import draw
from autoreason.journal.sqlite import lock_file
from autoreason.parsing.documents import same_text
from autoreason.story import Story
from autoreason.task import Entry, Task, read_task, read_texts

PACKET = "packet.json"
INSTRUCTIONS = "INSTRUCTIONS.md"
KEY = "key.sealed"
OPENING = "unsealed.json"
RATINGS = "ratings"

T = TypeVar("T")


class BlindTask(Struct, frozen=True):
    """A brief and the codes of the texts that were written for it."""

    title: str
    codes: tuple[str, ...]


class Packet(Struct, frozen=True, kw_only=True):
    """What may be known of a packet before its key is opened."""

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
    """Where a text is."""
    return f"task-{task + 1}/{code}.md"


def read_packet(folder: Path) -> Packet:
    """The packet in a folder."""
    path = folder / PACKET
    if not path.is_file():
        raise InvalidInput(
            f"{folder} is not a packet; make one with `autoreason rate new {folder}`"
        )
    return decode(path.read_bytes(), Packet, path)


def read_part(folder: Path, packet: Packet, name: str) -> str:
    """A brief or text of a packet, as it was when the packet was built."""
    return _read_known(folder / name, packet.files.get(name, "")).decode()


def _read_known(path: Path, known: str) -> bytes:
    """A file whose digest is known."""
    data = path.read_bytes() if path.is_file() else b""
    if digest(data) != known:
        raise InvalidInput(f"{path} is not what it was; restore it from a copy")
    return data


def decode(data: bytes, kind: type[T], path: Path) -> T:
    """A JSON file of a packet; one clear sentence where it is damaged."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise InvalidInput(f"{path} is damaged; restore it from a copy") from None


def digest(data: bytes) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def write_durably(path: Path, data: bytes) -> None:
    """All of a file or nothing, and on the disk before it counts as written."""
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
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
_COLUMNS = 76


class NamedTask(Struct, frozen=True):
    """A task with the names behind its codes."""

    source: str
    names: dict[str, str]
    """By code."""


class PacketKey(Struct, frozen=True, kw_only=True):
    """What no rater may know."""

    packet: str
    seed: int
    tasks: tuple[NamedTask, ...]


class Opening(Struct, frozen=True, kw_only=True):
    """When a key was opened, and on which ratings."""

    at: datetime
    ratings: dict[str, str]
    """The SHA-256 of every person's ratings at that moment, by file."""


def seal(key: PacketKey) -> bytes:
    """A key as a file that no one reads by accident."""
    hidden = base64.b85encode(zlib.compress(msgspec.json.encode(key), 9)).decode()
    return "\n".join(
        [_LABEL, *textwrap.wrap(hidden, _COLUMNS, break_on_hyphens=False), ""]
    ).encode()


def unseal(sealed: bytes) -> PacketKey:
    """The key in a file that `seal` wrote."""
    _, _, hidden = sealed.partition(b"\n\n")
    plain = zlib.decompress(base64.b85decode(b"".join(hidden.split())))
    return msgspec.json.decode(plain, type=PacketKey)


def opening(folder: Path) -> Opening | None:
    """When the key of a packet was opened, if it was."""
    path = folder / OPENING
    return decode(path.read_bytes(), Opening, path) if path.exists() else None


def open_key(folder: Path, packet: Packet, now: datetime) -> tuple[PacketKey, Opening]:
    """The key of a packet; the first opening is recorded before the key is read."""
    sealed = _read_known(folder / KEY, packet.key)
    opened = opening(folder)
    if opened is None:
        opened = Opening(at=now, ratings=rating_digests(folder))
        data = msgspec.json.format(msgspec.json.encode(opened), indent=2)
        write_durably(folder / OPENING, data + b"\n")
    return unseal(sealed), opened


def rating_digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every person's ratings as they are now, by file."""
    files = sorted((folder / RATINGS).glob("*.jsonl"))
    return {path.name: digest(path.read_bytes()) for path in files}


_USUAL = "bdfgklmnprt"
_RARE = "vwzxj"
_VOWELS = "aiou"
_WORDS = (
    "baja bizo bova bozo buxo buzi diva dixi dova doxa doxi fava favo foxi gaza giza goza jaga"
    " jago jaka jako jana jani jari jaro java jiga jigo jima jimi jimo jiva jiza jizu jobo jodi"
    " jodo joga jogo jota judo juga jugo jura kaja kavu kaza kiva kiwi kova koza kuja lava lavo"
    " laza lazo lixo loza luxa luxo maja maxi mazo mixo mojo moxa mozo naja navi navo nazi nivo"
    " nova novo nozi pazi pija pijo pivo pixa piza pizo puja pujo puva puvi puzo raja raju razo"
    " rizo roja rojo rova ruzo taxa taxi tiza toxo tuza vada vadi vaga vagi vago vaji vati vato"
    " vida viki vila vili vina vino vita vito voda vola vora vuka vulo wada wagi wago waka wali"
    " wapo wiki wino xana xota zaka zako zapo zara zina zita zito zona zoro zulu zuni"
)
"""Words of some language, names, and words that may offend."""


_CODES = tuple(
    "".join(code).upper()
    for code in product(_USUAL + _RARE, _VOWELS, _USUAL + _RARE, _VOWELS)
    if code[0] != code[2] and {*code} & {*_RARE} and "".join(code) not in _WORDS
)
"""One rare letter at least: few words of any language look like that."""


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
        # Two codes differ in two letters or more.
        unlike = all(sum(map(str.__ne__, code, other)) > 1 for other in codes)
        unused = first_letters[code[0]] < max_uses and unlike
        if unused and not any(code in text for text in upper_texts):
            codes.append(code)
            first_letters[code[0]] += 1
    if len(codes) < count:
        raise InvalidInput(
            f"not {count} codes are left that occur in none of the texts; split them into two packets"
        )
    return tuple(codes)


MIN_TEXTS, MAX_TEXTS = 2, 10
_PAGE = Path(__file__).parent / "page"


class OpenTask(Struct, frozen=True):
    """A task whose texts still have names."""

    task: Task
    entries: tuple[Entry, ...]
    source: str = ""
    """Where brief and texts come from, in a word or two."""


def build_packet(folder: Path, tasks: Sequence[OpenTask], *, seed: int) -> Packet:
    """Write a packet into a new or empty folder."""
    if not tasks:
        raise InvalidInput("there is nothing to rate; give a brief and two texts or more")
    for task in tasks:
        _check(task)
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
            BlindTask(task.task.title, tuple(sorted(entries)))
            for task, entries in zip(tasks, entries_by_code, strict=True)
        ),
        files={name: digest(text.encode()) for name, text in files.items()},
        key=digest(sealed),
    )
    _write(folder, packet, files, sealed)
    return packet


def instructions() -> str:
    """The instructions that people read first."""
    return (_PAGE / "instructions.md").read_text("utf-8")


def brief(task: Task) -> str:
    """What a rater must know about a task."""
    parts = [task.brief]
    if rules := task.contract.rules():
        parts.append("### Limits\n\n" + "\n".join(f"- {rule}" for rule in rules))
    if task.facts:
        parts.append(f"### Facts\n\n{task.facts}")
    return "\n\n".join(parts)


def _check(task: OpenTask) -> None:
    number, title = len(task.entries), task.task.title
    if not MIN_TEXTS <= number <= MAX_TEXTS:
        raise InvalidInput(
            f"“{title}” has {number} {'text' if number == 1 else 'texts'};"
            f" give {MIN_TEXTS} to {MAX_TEXTS} texts to compare"
        )
    for entry in task.entries:
        if not entry.text.strip():
            raise InvalidInput(f"{entry.name} is empty; write something in it or leave it out")
    for one, other in combinations(task.entries, 2):
        if same_text(one.text, other.text) or one.name == other.name:
            alike = "are the same text" if one.name != other.name else "have the same name"
            raise InvalidInput(f"{one.name} and {other.name} {alike}; leave out or rename one")


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
    """A brief, as a file or in words, and files with texts that were written for it."""
    entries = tuple(Entry(name=name, text=text) for name, text in read_texts(texts).items())
    is_short = len(brief) <= _MAX_SOURCE and "\n" not in brief
    return OpenTask(read_task(brief), entries, source=brief if is_short else "a brief in words")


def from_pairing(pairing: str) -> OpenTask:
    """`brief.md=a.md,b.md`: a brief and its texts in one word."""
    brief, sign, texts = pairing.partition("=")
    paths = [Path(text.strip()) for text in texts.split(",") if text.strip()]
    if not sign or not brief.strip() or not paths:
        raise InvalidInput(f"{pairing} is not a task; write it as brief.md=a.md,b.md")
    return from_files(brief.strip(), paths)


def from_run(run: str, story: Story) -> OpenTask:
    """The first draft of a run and the text it delivered."""
    draft, delivered = story.draft, story.delivered
    if not story.task or not draft or not delivered or same_text(draft.text, delivered.text):
        raise InvalidInput(
            f"run {run} has delivered no text other than its first draft; name another run, or the texts"
        )
    entries = (Entry(name="draft", text=draft.text), Entry(name="delivered", text=delivered.text))
    return OpenTask(story.task, entries, source=f"run {run}")


_PATIENCE = 0.2
_MAX_SOURCE = 60


@contextmanager
def lock_packet(folder: Path) -> Iterator[Callable[[str], None]]:
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

            def note(where: str) -> None:
                os.pwrite(lock, where.encode(), 0)

            yield note
    except JournalError:
        raise InvalidInput(
            f"cannot write into {folder}; allow writing there, or copy the packet"
        ) from None
