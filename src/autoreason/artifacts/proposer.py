"""Asks for the next change, showing what was tried; the answer becomes an artifact, or a reason to refuse it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from autoreason.artifacts import artifact, proposals
from autoreason.artifacts.research_history import (
    ProposalSource,
    TrialDecided,
    name_trial,
    show_effect,
)
from autoreason.artifacts.research_task import ResearchTask, broken_constraint, research_of
from autoreason.exchange import GuidanceQuery, Message, Outcome, Reply
from autoreason.jobs.context import JobContext, draw, follow_up, repeat_request
from autoreason.keys import sub_key, try_key
from autoreason.report.numbers import count, shorten

Tried = Callable[[str], str | None]
"""What became of an artifact with a fingerprint; None where it is new."""
_TUNED = 3
"""Every so many proposals one is the optimiser's, where constants are marked."""
_TUNING_TRIES = 3
_MAX_OBSERVATIONS = 200
_RECENT = 20
_MAX_LEDGER = 24_000
"""Characters."""
_MAX_WORDS = 240
_MAX_TAIL = 400
_NO_REPLY = {
    Outcome.TRUNCATED: "the reply was cut off; give less, in SEARCH and REPLACE blocks",
    Outcome.EMPTY: "the reply was empty",
    Outcome.REFUSED: "the model refused to answer",
}


@dataclass(frozen=True)
class ResearchContext(JobContext):
    """A job context whose task is to improve an artifact."""

    preference: str = ""
    """What judges are asked to prefer; empty where a change is proposed."""

    @property
    def research(self) -> ResearchTask:
        research = research_of(self.task)
        assert research is not None
        return research

    @cached_property
    def opening(self) -> tuple[Message, ...]:
        """The messages that begin every conversation: the goal and how it is measured."""
        research, brief = self.research, self.task.brief
        if self.preference:
            brief = f"{brief}\n\nOf two versions that measure alike: {self.preference}"
        text = self.prompt(
            "task",
            "task",
            brief=brief,
            metric=research.metric,
            better=research.better,
            patterns=research.artifact,
            constraints=research.constraints,
            guards=[f"{name} {condition.strip()}" for name, condition in research.guard.items()],
            seconds=f"{research.limits.seconds:g}",
            memory=research.limits.memory_mb,
            evaluator=research.evaluator_source,
        )
        return self.begin(text)


def refusal(
    before: artifact.Files, after: artifact.Files, tried: Tried, constraints: Iterable[str] = ()
) -> str | None:
    """Why a change is not measured, in words; None where it is.

    `tried` gives what became of earlier artifacts, the start included, by their fingerprint.
    """
    sizes = {path: len(text.encode(errors="replace")) for path, text in after.items()}
    for path, size in sizes.items():
        if size > artifact.MAX_FILE:
            return f"{path} is over {artifact.MAX_FILE // 1000} kB"
    if sum(sizes.values()) > artifact.MAX_ARTIFACT:
        return f"the artifact is over {artifact.MAX_ARTIFACT // 1_000_000} MB"
    if broken := broken_constraint(constraints, after):
        return broken
    if before == after:
        return "it changes nothing"
    mark = artifact.fingerprint(after)
    if mark == artifact.fingerprint(before):
        if artifact.normal_form(before) == artifact.normal_form(after):
            return "it changes only comments or formatting"
        return "it changes only a seed, which is not an improvement but a draw"
    earlier = tried(mark)
    return f"it was tried before: {earlier}" if earlier else None


class ProposalInput(NamedTuple):
    """What a proposal is made from: what was known when it began."""

    number: int
    files: artifact.Files
    ledger: Sequence[TrialDecided]
    tried: Tried
    summary: str
    """What is known of the incumbent and of the noise, in a sentence."""


class MadeProposal(Struct, frozen=True, kw_only=True):
    """A proposal as an artifact to be measured, or the reason why it is not."""

    by: ProposalSource = "model"
    hypothesis: str = ""
    expected: str = ""
    edits: tuple[proposals.Edit, ...] = ()
    files: artifact.Files | None = None
    """The whole artifact after it; None where it is refused."""
    reason: str = ""


class Proposer:
    def __init__(self, context: ResearchContext) -> None:
        self._context = context
        self._research = context.research

    async def propose(self, view: ProposalInput) -> MadeProposal:
        """Ask for a change; a reply that cannot be read or applied is sent back once with the reason."""
        key = f"trial/{view.number}"
        guidance = await self._context.ask(GuidanceQuery(key=sub_key(key, "guidance")))
        if view.number % _TUNED == 0 and not guidance and (tuned := await self._tune(view)):
            return tuned
        ledger = ledger_text(view.ledger)
        prompt = self._context.prompt(
            "proposer",
            key,
            files=[{"path": path, "text": text} for path, text in view.files.items()],
            ledger=ledger,
            summary=view.summary,
            guidance=guidance,
        )
        request = self._context.request(
            "author",
            try_key(sub_key(key, "proposer"), 0),
            self._context.settings.models.author,
            prompt,
        )
        reply = await self._context.ask(request)
        made, fault = self._read(reply, view)
        if fault:
            again = try_key(sub_key(key, "proposer"), 1)
            if reply.outcome is Outcome.OK:
                prompt = self._context.prompts.render("fix", fault=fault)
                request = follow_up(request, again, reply.text, prompt)
            else:
                request = repeat_request(request, again, reply)
            made, fault = self._read(await self._context.ask(request), view)
        return replace(made, reason=fault) if fault else made

    async def _tune(self, view: ProposalInput) -> MadeProposal | None:
        """Other values of marked constants, from the optimiser; None where it has none that are new."""
        knobs = tuple(proposals.find_knobs(view.files))
        if not knobs:
            return None
        higher = self._research.better == "higher"
        observations = observe(knobs, self._research.files, view.ledger, higher=higher)
        seed = draw(self._context.settings.seed, f"tuning/{view.number}").getrandbits(31)
        for attempt in range(_TUNING_TRIES):
            query = proposals.TuningQuery(
                key=f"trial/{view.number}/tuning/{attempt}",
                knobs=knobs,
                observations=observations,
                seed=seed + attempt,
            )
            values = await self._context.ask(query)
            if not values:
                return None
            made = MadeProposal(
                by="optimiser",
                hypothesis=", ".join(
                    f"{knob.name} {knob.value} -> {value}"
                    for knob, value in zip(knobs, values, strict=True)
                    if knob.value != value
                ),
                edits=proposals.set_knobs(view.files, values),
            )
            made = self._apply(made, view.files, view.tried)
            if made.files is not None:
                return made
        return None

    def _read(self, reply: Reply, view: ProposalInput) -> tuple[MadeProposal, str]:
        """The proposal in a reply, and what is wrong with its form."""
        made = MadeProposal()
        if reply.outcome is not Outcome.OK:
            return made, _NO_REPLY.get(reply.outcome, f"there was no reply ({reply.outcome})")
        try:
            made = replace(made, **proposals.read_proposal(reply.text, view.files)._asdict())
            return self._apply(made, view.files, view.tried), ""
        except proposals.ProposalError as error:
            return made, str(error)

    def _apply(self, made: MadeProposal, files: artifact.Files, tried: Tried) -> MadeProposal:
        after = proposals.apply_edits(files, made.edits, self._research.artifact)
        reason = refusal(files, after, tried, self._research.constraints)
        return replace(made, files=None if reason else after, reason=reason or "")

    def apply_again(self, made: MadeProposal, files: artifact.Files) -> MadeProposal:
        """The same change to another incumbent; as it was where it does not apply there."""
        try:
            tried = {artifact.fingerprint(files): "it is the incumbent"}
            return self._apply(made, files, tried.get)
        except proposals.ProposalError:
            return made


def ledger_text(trials: Sequence[TrialDecided], limit: int = _MAX_LEDGER) -> str:
    """Every kept trial and the last twenty, the latest last; the oldest are left out where there are too many."""
    recent = trials[-_RECENT:]
    entries = [_entry(trial, tail=True) for trial in recent]
    older = [trial for trial in trials[:-_RECENT] if trial.status == "kept"]
    entries = [*(_entry(trial, tail=False) for trial in older), *entries]
    shown: list[str] = []
    room = limit
    for entry in reversed(entries):
        room -= len(entry) + 1
        if room < 0:
            break
        shown.append(entry)
    left_out = len(trials) - len(shown)
    head = [f"{count(left_out, 'earlier trial')} left out"] if left_out else []
    return "\n".join([*head, *reversed(shown)])


def _entry(trial: TrialDecided, *, tail: bool) -> str:
    parts = [f"trial {trial.number}, on {name_trial(trial.incumbent)}: {trial.status}"]
    if found := trial.effect:
        parts.append(f"{show_effect(found)} in {count(found.evaluations, 'evaluation')}")
    else:
        parts.append(shorten(trial.reason, _MAX_WORDS))
    idea = shorten(trial.hypothesis, _MAX_WORDS) or ", ".join(trial.changes)
    expected = f" (expected {shorten(trial.expected, 60)})" if trial.expected else ""
    lines = ["; ".join(parts), f"  {idea}{expected}"]
    if tail and trial.tail.strip():
        output = trial.tail.strip()[-_MAX_TAIL:].splitlines()
        lines += ["  output:", *(f"  | {line}" for line in output)]
    return "\n".join(lines)


def observe(
    knobs: Sequence[proposals.Knob],
    start: artifact.Files,
    trials: Iterable[TrialDecided],
    *,
    higher: bool,
) -> tuple[proposals.ScoredPoint, ...]:
    """What the trials so far say of these knobs, by a model or by the optimiser."""
    spaces = [knob.space for knob in knobs]
    artifacts = {0: start}
    found = []
    for trial in trials:
        files = artifact.with_changes(artifacts[trial.incumbent], trial.changes)
        if trial.status == "kept":
            artifacts[trial.number] = files
        theirs = proposals.find_knobs(files) if trial.values else []
        if trial.values and [knob.space for knob in theirs] == spaces:
            score = sum(trial.values) / len(trial.values)
            values = tuple(knob.value for knob in theirs)
            found.append(proposals.ScoredPoint(values, score if higher else -score))
    return tuple(found[-_MAX_OBSERVATIONS:])
