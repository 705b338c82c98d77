"""Whether a context that a host starts sees a project's instructions: one question, and what the latest one found."""

from __future__ import annotations

import re
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from autoreason.events import Event, JobFinished
from autoreason.files import data_folder, write
from autoreason.job_types import HostCheck
from autoreason.jobs.job import Job, Plans
from autoreason.report.report import Report, Section
from autoreason.settings import Blindness, Settings
from autoreason.story import Story

HostFinding = Literal["seen", "not seen", "not tested"]
QUESTION = """\
A test word begins with `canary-`. You may have been given one in instructions of a project, in notes or in anything
else besides this text, which has none. Open no file and use no tool to look for it. If you were given such a word,
answer with that word alone; if not, answer NONE."""
TOO_LATE = "(the test word was taken out of the file before an answer came)"
_SAID = {
    "seen": "{host} shows {file} to contexts that it starts: its judges are not blind to it",
    "not seen": "a context that {host} started did not see {file}",
    "not tested": "whether {host} shows {file} to contexts that it starts is not known: {why}",
}


class HostChecked(Event, frozen=True, kw_only=True):
    """A context of the host said whether it sees the project's instructions."""

    found: HostFinding


class HostCheckJob(Job):
    """Asks one fresh context for a word that stands in the project's instructions."""

    summary = "whether contexts of a host see a project's instructions"
    prompts = ()

    async def run(self) -> JobFinished:
        (judge,) = self.settings.models.judges
        request = self.context.request("judge", "check", judge, QUESTION)
        answer = (await self.context.ask(request)).text
        found: HostFinding = "not tested"
        if self.settings.job_as(HostCheck).word in answer:
            found = "seen"
        elif re.search(r"\bNONE\b", answer):
            found = "not seen"
        self.emit(HostChecked(found=found))
        return self.finish(host_check_report(self.story).conclusion)

    @classmethod
    def plans(cls, settings: Settings) -> Plans:  # noqa: ARG003
        return ({"judge": 1}, {"judge": 1}, {"judge": 1})


class HostCheckReport(Report, Struct, frozen=True, kw_only=True):
    heading = "Check of a host"

    host: str
    file: str
    found: HostFinding

    @property
    def conclusion(self) -> str:
        why = "no answer that can be read came in time"
        return _SAID[self.found].format(host=self.host, file=self.file, why=why)

    def sections(self) -> list[Section]:
        rule = "One context was asked for a test word in the file; what it says of itself counts."
        return [Section(sentences=[("Found", self.found), ("Rule", rule)])]

    def names(self) -> tuple[str, ...]:
        return (self.host,)

    def run_fields(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


def host_check_report(story: Story) -> HostCheckReport:
    assert story.settings
    (checked,), (host,) = story.of(HostChecked), story.settings.models.judges
    file = Path(story.settings.job_as(HostCheck).file).name
    return HostCheckReport(host=host, file=file, found=checked.found)


def keep_host_check(story: Story) -> None:
    """Keep what was found, for runs that begin in this folder."""
    assert story.settings
    path = _path(story.settings.models.judges[0], story.settings.job_as(HostCheck).folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, msgspec.json.encode(host_check_report(story)), private=True)


def latest_check(host: str, folder: Path) -> Blindness | None:
    """What the latest check of a host found where runs begin in this folder; None where that is not known."""
    try:
        kept = msgspec.json.decode(_path(host, str(folder)).read_bytes(), type=HostCheckReport)
    except (OSError, msgspec.MsgspecError):
        return None
    return None if kept.found == "not tested" else kept.found


def _path(host: str, folder: str) -> Path:
    name = blake2b(f"{host}\n{folder}".encode(), digest_size=12).hexdigest()
    return data_folder() / "host-checks" / f"{name}.json"
