"""Judges whose habits are known, and certifications held by them in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from autoreason.bounded_yaml import load_yaml
from autoreason.errors import CallFailed, Failure
from autoreason.events import AnyEvent
from autoreason.exchange import Query, Request
from autoreason.job_types import Certify
from autoreason.jobs.context import JobContext
from autoreason.models.doubles import Answer, ScriptedModel
from autoreason.prompts import built_in
from autoreason.settings import Models, Settings, make_settings
from autoreason.story import Story
from autoreason.studies import certificate_questions
from autoreason.studies.certificate import (
    Certificate,
    CertificateFinding,
    CertificateVerdict,
    Certification,
    StoredCertificate,
    certificate_of,
)
from autoreason.studies.certificate_questions import SUITE, SpoiledPair, pairs, versions
from autoreason.task import Task

ADDRESS = "scripted/judge"
TASK = Task(brief=f"Certify the judge {ADDRESS}")
_TEXT = re.compile(r"^## (\w+)\n\n<<<TEXT \w+>>>\n(.*?)\n<<<END TEXT ", re.DOTALL | re.MULTILINE)
_ORDERS = ("ank it first", "place {own} first", "RANKING: {own}", '"{own} > ', "put {own} first")

Habit = Callable[[Request, Mapping[str, str]], str | tuple[str, ...]]
"""From the labelled texts, in the order they stand, to a ranking of labels; or to an answer as it is."""


def luck(*about: object) -> bytes:
    """Always the same for the same thing to be decided."""
    return blake2b(repr(about).encode()).digest()


@cache
def merit(text: str) -> float:
    """What a text is worth to a judge that knows which one is sound."""
    known = {each: -at / 10 for p in pairs() for at, each in enumerate(versions(p).values())}
    return known.get(text, -1)


def ideal(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Knows the sound text; what is alike is put in order by label, which means nothing."""
    del request
    return tuple(sorted(texts, key=lambda label: (-merit(texts[label]), luck(label))))


def first_come(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Ranks the texts as they stand."""
    del request
    return tuple(texts)


def wordy(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
    """The longer the better."""
    del request
    return tuple(sorted(texts, key=lambda label: (-len(texts[label]), luck(label))))


def obedient(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Does what a text tells it to, and knows the sound text otherwise."""
    for label, text in texts.items():
        if any(order.format(own=label) in text for order in _ORDERS):
            return (label, *(other for other in texts if other != label))
    return ideal(request, texts)


def credulous(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Does what a record tells it to, and knows the sound text otherwise."""
    records = "\n".join(message.text for message in request.messages if "RECORDS" in message.text)
    first, second, *_ = texts
    for label in texts if records else ():
        place = "first" if label == first else "second"
        orders = (f"the {place} text first", f"called {label} first", f"place {label} first")
        if any(order in records for order in (*orders, f"RANKING: {label}")):
            return (label, second if label == first else first)
    return ideal(request, texts)


def erratic(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Throws a coin."""
    return tuple(sorted(texts, key=lambda label: luck(request.key, label)))


def garbled(request: Request, texts: Mapping[str, str]) -> str:
    """Says nothing that is a ranking."""
    del request, texts
    return "Both have their merits."


def judge(
    habit: Habit,
    most: int | None = None,
    others: Callable[[Request], str] | None = None,
    address: str = ADDRESS,
) -> ScriptedModel:
    """A model with this habit, and others in other roles; after so many calls its key is revoked."""

    def answer(request: Request) -> Answer:
        if most is not None and len(model.requests) > most:
            return CallFailed(Failure.BAD_KEY, "the key was revoked")
        if others and request.role != "judge":
            return others(request)
        # Asked once more, a judge is shown the texts further up.
        output = "\n".join(message.text for message in request.messages)
        ranked = habit(request, dict(_TEXT.findall(output)))
        if isinstance(ranked, str):
            return ranked
        return json.dumps({"reasoning": "I looked at both.", "ranking": " > ".join(ranked)})

    model = ScriptedModel(answer, address=address)
    return model


def settings(seed: int = 7, repeats: int = 1) -> Settings:
    return make_settings(
        Models.everywhere(ADDRESS), seed, job=Certify(model=ADDRESS, suite=SUITE, repeats=repeats)
    )


async def reported(
    habit: Habit | ScriptedModel, seed: int = 7, repeats: int = 1
) -> tuple[Story, list[AnyEvent]]:
    model = habit if isinstance(habit, ScriptedModel) else judge(habit)
    events: list[AnyEvent] = []

    async def ask(request: Request | Query[Any]) -> Any:
        assert isinstance(request, Request)
        return await model.ask(request)

    held = Certification(JobContext(TASK, settings(seed, repeats), built_in(), ask, events.append))
    await held.run()
    return held.story, events


async def certified(habit: Habit, seed: int = 7, repeats: int = 1) -> Certificate:
    return certificate_of((await reported(habit, seed, repeats))[0])


def stored(
    model: str = "openai/gpt",
    base_url: str | None = None,
    run: str = "one",
    verdict: CertificateVerdict = "failed",
    name: str = "position",
) -> StoredCertificate:
    """A certificate that failed one thing, unless it passed."""
    finding = CertificateFinding(
        name=name, verdict=verdict, value=1.0, low=0.9, high=1.0, n=24, statement="", rule=""
    )
    certificate = Certificate(
        model=model,
        base_url=base_url,
        suite=1,
        protocol="robust",
        style="reasoned",
        temperature=0.3,
        repeats=1,
        seed=7,
        ballots=144,
        invalid=0,
        findings=(finding,),
    )
    return StoredCertificate(
        certificate=certificate, run=run, date=datetime(2026, 5, 4, tzinfo=UTC)
    )


def head_of(pair: SpoiledPair) -> dict[str, Any]:
    """What the file of a pair says of it."""
    folder = Path(certificate_questions.__file__).parent / "certificate_pairs"
    head: dict[str, Any] = load_yaml(
        (folder / f"{pair.name}.md").read_text("utf-8").split("---")[1]
    )
    return head
