"""Builds a packet: codes for texts, a sealed key, and no other trace of which is which."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.jobs.context import draw
from autoreason.parsing.documents import same_text
from autoreason.studies.raters import packet as packets
from autoreason.studies.raters.codes import draw_codes
from autoreason.studies.raters.packet import BlindTask, Packet
from autoreason.studies.raters.sealed_key import NamedTask, PacketKey, seal
from autoreason.task import Entry, Task

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
            (packets.brief_file(number), briefs[number]),
            *((packets.text_file(number, code), entries[code].text) for code in sorted(entries)),
        ]
    }
    identity = f"{draw(seed, 'packet').getrandbits(32):08x}"
    names = tuple(
        NamedTask(task.source, {code: entries[code].name for code in sorted(entries)})
        for task, entries in zip(tasks, entries_by_code, strict=True)
    )
    sealed = seal(PacketKey(packet=identity, seed=seed, tasks=names))
    packet = Packet(
        format=packets.FORMAT,
        id=identity,
        created=datetime.now(UTC),
        orders_seed=draw(seed, "orders").getrandbits(32),
        tasks=tuple(
            BlindTask(task.task.title, tuple(sorted(entries)))
            for task, entries in zip(tasks, entries_by_code, strict=True)
        ),
        files={name: packets.digest(text.encode()) for name, text in files.items()},
        key=packets.digest(sealed),
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
        if same_text(one.text, other.text):
            raise InvalidInput(
                f"{one.name} and {other.name} are the same text; leave one of them out"
            )
        if one.name == other.name:
            raise InvalidInput(f"two texts are called {one.name}; rename one of them")


def _write(folder: Path, packet: Packet, files: dict[str, str], sealed: bytes) -> None:
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InvalidInput(f"{folder} is not empty; name a new folder for the packet")
        (folder / packets.RATINGS).mkdir(parents=True)
        for name, text in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, "utf-8", newline="\n")
        (folder / packets.INSTRUCTIONS).write_text(instructions(), "utf-8", newline="\n")
        (folder / packets.KEY).write_bytes(sealed)
        # Last: a folder without it is no packet.
        data = msgspec.json.format(msgspec.json.encode(packet), indent=2)
        packets.write_durably(folder / packets.PACKET, data + b"\n")
    except OSError as error:
        raise InvalidInput(
            f"cannot write {error.filename or folder}: {error.strerror}; name another folder"
        ) from None
