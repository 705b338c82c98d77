"""What happens in a job that writes programs, besides what happens in every job, and how it is described."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from autoreason.events import FINISHED, Event, PassDecided, Status
from autoreason.exchange import Spent
from autoreason.plugins import short
from autoreason.programs.assignment import Assignment, CodeVerdict, Examined, Trial
from autoreason.report.numbers import count
from autoreason.report.report import Section
from autoreason.report.table import Table, Tone, figures, words
from autoreason.story import Story
from autoreason.tournament.statements import ENDINGS, decided, survivals


class ProgramExamined(Event, frozen=True, kw_only=True):
    """A program was run on the public tests."""

    stage: str
    """`draft`, `attempt/3`, `repair/4`, `merge/5`, `pass/2/AB`."""
    program: str
    examined: Examined

    @property
    def line(self) -> str:
        return f"{self.stage.replace('/', ' ')}: {describe_examined(self.examined)}"


class Solved(Event, frozen=True, kw_only=True):
    """One problem was worked on by one strategy, once, and scored; emitted for failures, too."""

    worded = ("reason",)
    part: str = ""
    """Of a set the number of the problem, strategy and repeat: `17/search/2`."""
    problem: str
    difficulty: str = ""
    strategy: str
    repeat: int = 1
    program: str | None
    """What was handed in; None where nothing was written."""
    public: Examined | None
    private: Examined | None
    """None where there are no private tests, or nothing to score."""
    private_tests: int = 0
    """How many there are to score it."""
    first: Examined | None
    """The first attempt under the public tests."""
    attempts: int
    status: Status
    reason: str
    spent: Spent

    @property
    def line(self) -> str:
        return f"{self.problem}, {self.strategy}: {describe_solved(self)}"

    @property
    def passed_public(self) -> bool | None:
        """Whether it passes every public test; None without a verdict, which is never a wrong answer."""
        return _passes_all(self.public)

    @property
    def passed_private(self) -> bool | None:
        """Whether it passes every private test; None where there are none as well."""
        return _passes_all(self.private)

    @property
    def passed(self) -> bool | None:
        private = self.private is not None or self.private_tests
        return self.passed_private if private else self.passed_public

    @property
    def recovered(self) -> bool | None:
        """Passed although the first attempt failed a public test; None where it did not fail."""
        return self.passed if _passes_all(self.first) is False else None

    @property
    def overfitted(self) -> bool | None:
        """Passes every public test and fails a private one; None where it does not pass every public one."""
        scored = self.passed_public and self.passed_private is not None
        return not self.passed_private if scored else None

    @property
    def verdict(self) -> str:
        """How the program ended, by the private tests where there are any; empty where it was not examined."""
        examined = self.private or self.public
        return str(examined.verdict) if examined else ""

    @property
    def level(self) -> str:
        """The sandbox it was run in; empty where it was not."""
        return next((e.level for e in (self.private, self.public) if e and e.level), "")

    @property
    def missing(self) -> str:
        """Why it has no result; empty where it has one."""
        if self.passed is not None:
            return ""
        for examined in (self.public, self.private):
            if examined and examined.verdict is CodeVerdict.SANDBOX_ERROR:
                detail = examined.failed.detail if examined.failed else ""
                return f"sandbox error: {detail}" if detail else "sandbox error"
        return self.reason or "there is no verdict"


def _passes_all(examined: Examined | None) -> bool | None:
    if examined is None or examined.verdict is CodeVerdict.SANDBOX_ERROR:
        return None
    if examined.verdict is CodeVerdict.NO_CODE:
        return False
    return examined.verdict is CodeVerdict.ACCEPTED if examined.total else None


def program_files(solved: Iterable[Solved]) -> dict[str, str]:
    """The programs handed in, one file for each part, by problem; names that differ may look the same as files."""
    return {
        f"programs/{_name(each.part.partition('/')[0] + '_' + each.problem)}/"
        f"{_name(short(each.strategy))}-{each.repeat}.py": each.program
        for each in solved
        if each.program is not None
    }


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).lstrip(".") or "_"


def examined_in(story: Story) -> list[ProgramExamined]:
    return story.of(ProgramExamined)


def solved_in(story: Story) -> list[Solved]:
    return story.of(Solved)


def describe_pass(event: PassDecided, k: int | None = None) -> str:
    """How a pass over programs ended, where tests decide more often than judges."""
    if event.outcome == "unjudged":
        return "accepted without a vote"
    if event.outcome == "inconclusive" or event.verdict:
        return decided(event, k)
    row = f"; {survivals(event.streak, k)}" if event.survived else ""
    return f"{event.winner} goes on ({event.reason or 'unopposed'}){row}"


def describe_examined(result: Examined) -> str:
    """How a program did on tests; where the first failure ended it, at which."""
    if result.verdict == "no_code":
        return "no program"
    verdict, tests = result.verdict.replace("_", " "), f"{result.which} test"
    if result.verdict == "accepted":
        return f"{verdict}, {result.passed} of {count(result.total, tests)}"
    if 0 < result.run < result.total:
        return f"{verdict} at {tests} {result.run} of {result.total:,}"
    return f"{verdict}, {result.passed} of {count(result.total, tests)} passed"


def describe_failure(trial: Trial) -> str:
    if trial.verdict == "sandbox_error":
        return trial.detail or trial.difference
    broken = _SYNTAX.match(trial.trace) if trial.verdict == "runtime_error" else None
    if broken:
        return f"syntax error in line {broken[1]}: {broken[2]}"
    return trial.difference or trial.detail


_SYNTAX = re.compile(
    r'\s*File "solution\.py", line (\d+)\n(?:.*\n)*?'
    r"(?:SyntaxError|IndentationError|TabError): (.*)\s*\Z"
)
"""Python's message for a program that it cannot compile; one that has started has a traceback."""


def describe_sandbox(level: str) -> str:
    return "no sandbox" if level == "none" else f"sandbox {level}"


def describe_solved(event: Solved) -> str:
    scores = dict.fromkeys(describe_examined(e) for e in (event.public, event.private) if e)
    verdicts = "; ".join(scores) or f"no verdict ({event.reason})"
    return f"{verdicts}; {count(event.spent.calls, 'call')}"


def why_unsolved(events: Sequence[Solved], assignments: Sequence[Assignment], *, one: bool) -> str:
    """What the program for the one problem fails, or every program of a set; empty where that is nothing."""
    if one:
        return "" if all(map(_is_solved, events)) else describe_solved(events[-1])
    results = [each.public or each.private for each in events if each.program is not None]
    if not events or any(result is None or result.passed for result in results):
        return ""
    public = [bool(each.public) for each in assignments if not each.remark]
    some = "public or, where there is none, private" if any(public) else "private"
    which = "public" if all(public) else some
    return f"no program of the set passes a {which} test"


def _is_solved(event: Solved) -> bool:
    results = [each for each in (event.public, event.private) if each]
    return event.program is not None and all(each.verdict == "accepted" for each in results)


def describe_ending(event: Solved) -> str:
    """How the work on one problem ended; public tests alone do not show that a program solves it."""
    # No strategy for programs has a last pass: it ends by its tests or by its calls.
    ending = "Ended" if event.status == "capped" else ENDINGS[event.status].capitalize()
    if event.program is not None and event.status in FINISHED:
        if not _is_solved(event):
            ending = "Not solved"
        elif event.private or event.public:
            ending = "Solved" if event.private else "Passed"
    return f"{ending}: {event.reason}"


def summarize_solved(event: Solved, examined: Sequence[ProgramExamined] = ()) -> list[str]:
    """Which tests the program for one problem passes, and on what the first failure was."""
    public, private = event.public, event.private
    attempts = count(event.attempts, "attempt")
    if event.program is None:
        return [f"Not solved: {event.reason}."]
    tests = " and ".join(_passes(each) for each in (public, private) if each)
    # The score has verdicts alone; what failed is known of the public tests.
    seen = [each.examined for each in examined if each.program == event.program]
    failed = [each.failed for each in seen if each.failed]
    if not tests:
        return [f"Not tested: there are no tests for this problem. {attempts}."]
    if not _is_solved(event):
        best = f"the best of {attempts}" if event.attempts > 1 else "the program"
        last = [f"It fails public test {x.number}: {describe_failure(x)}." for x in failed[:1]]
        return [f"Not solved: {best} {tests}.", *last]
    if private is None:
        return [f"P{tests[1:]}; there are no private ones, so more is not known.", f"{attempts}."]
    _, _, besides = event.reason.partition("; ")
    return [f"Solved: {tests}.", f"{'; '.join(filter(None, [attempts, besides]))}."]


def _passes(examined: Examined) -> str:
    tests = f"{examined.which} tests"
    if examined.passed == examined.total:
        return f"passes all {examined.total} {tests}"
    if 0 < examined.run < examined.total:
        # The first failure ended it, so that of the others nothing is known.
        return f"fails {examined.which} test {examined.run} of {examined.total}"
    return f"passes {examined.passed} of {examined.total} {tests}"


def solved_rows(event: Solved) -> list[tuple[str, str]]:
    rows = [("Attempts", count(event.attempts, "program"))]
    if event.program is None:
        return [*rows, ("Program", "none")]
    tests = (("Public", event.public), ("Private", event.private))
    return rows + [(label, describe_examined(result)) for label, result in tests if result]


def program_sections(story: Story, solved: Solved) -> list[Section]:
    """What was handed in, every attempt at it, and each public test: what a page shows of one problem."""
    attempts = [
        (each.stage.replace("/", " "), f"{each.examined.passed} of {each.examined.total}", verdict)
        for each in examined_in(story)
        for verdict in [str(each.examined.verdict).replace("_", " ")]
    ]
    tests = [
        (each.number, ended.replace("_", " "), f"{each.seconds:.2f} s", failure)
        for each in (solved.public.trials if solved.public else ())
        for ended in [str(each.verdict)]
        for failure in [describe_failure(each) if ended != "accepted" else ""]
    ]
    found = []
    if solved.program is not None:
        found.append(Section("The program", text=as_code(solved.program)))
    if attempts:
        columns = [*words("attempt"), *figures("public tests passed"), *words("ended")]
        table = Table(columns, attempts, tones=_ENDED)
        reason = f"{solved.reason[:1].upper()}{solved.reason[1:]}."
        found.append(Section("Attempts", [("", reason)], [table]))
    if tests:
        columns = [*figures("test"), *words("ended"), *figures("took"), *words("what differs")]
        found.append(Section("Public tests", tables=[Table(columns, tests, tones=_ENDED)]))
    return found


_ENDED: dict[str, Tone] = {"accepted": "good"}


def as_code(program: str) -> str:
    """A program as a block of Markdown, within a fence that it cannot end."""
    longest = max(map(len, re.findall("~+", program)), default=0)
    fence = "~" * max(3, longest + 1)
    return f"{fence}\n{program.rstrip()}\n{fence}"


def describe_level(name: str) -> str:
    return _LEVELS.get(name, name)


_LEVELS = {
    "bubblewrap": "bubblewrap, in namespaces of its own",
    "landlock": "Landlock and seccomp",
    "seccomp": "seccomp only; this kernel has no Landlock",
    "none": "none: programs ran unprotected",
}
