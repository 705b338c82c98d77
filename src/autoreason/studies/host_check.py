"""Whether a context that a host starts sees a project's instructions: one question, and what the latest one found."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from autoreason.events import Event, JobFinished
from autoreason.job_types import HostCheck
from autoreason.jobs.job import Job
from autoreason.journal import Journal
from autoreason.report.report import Report, Section
from autoreason.settings import Blindness, Models
from autoreason.story import Story

BRIEF = "Say whether you were given a test word."
_QUESTION = """\
A test word begins with `canary-`. You may have been given one in instructions of a project, in notes or in anything
else besides this text, which has none. Open no file and use no tool to look for it. If you were given such a word,
answer with that word alone; if not, answer NONE."""
TOO_LATE = "(the test word was taken out of the file before an answer came)"
_SAID = {
    "seen": "contexts that {host} starts see {file}: its judges are not blind to it",
    "not seen": "a context that {host} started did not see {file}",
    "not tested": "whether {host} shows {file} to its judges is not known: no answer came in time that can be read",
}


class HostChecked(Event, frozen=True, kw_only=True):
    """A context of the host said whether it sees the project's instructions."""

    found: Blindness


class HostCheckJob(Job):
    summary = "whether contexts of a host see a project's instructions"
    prompts = ()

    async def run(self) -> JobFinished:
        (judge,) = self.settings.models.judges
        request = self.context.request("judge", "check", judge, _QUESTION)
        answer = (await self.context.ask(request)).text
        self.emit(HostChecked(found=found_in(answer, self.settings.job_as(HostCheck).word)))
        return self.finish(host_check_report(self.story).conclusion)


def found_in(answer: str, word: str) -> Blindness:
    """What an answer says; not tested where it is neither the word nor NONE."""
    if word in answer:
        return "seen"
    return "not seen" if re.search(r"\bNONE\b", answer) else "not tested"


class HostCheckReport(Report, Struct, frozen=True, kw_only=True):
    heading = "Check of a host"

    host: str
    file: str
    found: Blindness

    @property
    def conclusion(self) -> str:
        return _SAID[self.found].format(host=self.host, file=Path(self.file).name)

    def sections(self) -> list[Section]:
        return [Section(sentences=[("Found", f"{self.found}, as one context says of itself")])]


def host_check_report(story: Story) -> HostCheckReport:
    assert story.settings
    (checked,), (host,) = story.of(HostChecked), story.settings.models.judges
    return HostCheckReport(
        host=host, file=story.settings.job_as(HostCheck).file, found=checked.found
    )


def with_checks(models: Models, journal: Journal) -> Models:
    """With what the latest check of each host found for runs that begin in this folder."""
    latest: dict[str, Blindness] = {}
    for row in journal.iter_runs(("done",), search=BRIEF):
        story = journal.story(row.id)
        if isinstance(story.job, HostCheck) and story.job.folder == str(Path.cwd()):
            check = host_check_report(story)
            latest |= {check.host: latest.get(check.host, check.found)}
    alone = {each: found for each, found in models.hosts.items() if found == "one context"}
    known = {each: found for each, found in latest.items() if each in models.outside()}
    return replace(models, hosts=known | alone)
