"""The task: a brief, perhaps a starting draft and facts, and the contract a text must keep."""

import re
import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from autoreason.characters import is_blank, without_controls
from autoreason.contract import CODE_BLOCK, HEADING, Breach, Contract, Violation
from autoreason.errors import InvalidInput
from autoreason.exchange import Query
from autoreason.facts import FACT_KINDS, language_of
from autoreason.fields import check_call, check_fields, make_struct
from autoreason.files import open_input
from autoreason.kept import Given
from autoreason.knowledge_records import Knowledge
from autoreason.limits import add_limits

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LOOKS_LIKE_A_FILE = re.compile(
    r"\S+\.(md|markdown|txt|rst|text|docx?|odt|rtf|pdf|html?|tex)$|^[~./\\]\S*$|^\S+[/\\]\S+$"
)
_UNCLOSED = re.compile(r"\A---[ \t]*\n(\w+)[ \t]*:")
FRONT_MATTER = (*(x for x in Contract.__struct_fields__ if x != "checks"), "facts", "criteria")
"""The keys a brief may begin with."""
_LISTS = ("sections", "must_include", "must_not_include", "keep")
_TEXT_ENDINGS = (".md", ".markdown", ".txt")
_MAX_NAME = 255
_MAX_TITLE = 60
_STEM = 4
_MAX_FILE_SIZE = 20_000_000
_MAX_CRITERIA = 12
_MAX_CRITERION = 200

MetricRole = Literal["guard", "judge"]
"""A guard keeps worse texts off the ballot; a judge ranks the texts on it."""


class Entry(Struct, frozen=True, kw_only=True):
    """A finished text that is to be judged."""

    name: str
    text: str
    stage: str = ""
    """The panel it belongs to, where there are several."""


class Work:
    """What is to be done where that is not a text: the base of what other rooms define."""

    name: ClassVar[str]
    """What it is called in a sentence, in the plural."""


class Metric(Work):
    """What gives a text a number."""

    name = "a metric"
    evaluate: str
    """What measures, as the user names it."""
    role: MetricRole

    @abstractmethod
    def query(self, key: str, text: str, seed: int) -> Query[Any]:
        """Asks for one measurement."""

    @abstractmethod
    def read(self, answer: Any) -> float | None:
        """The number, higher is better; None where there is none."""

    def fault(self, answer: Any) -> str:  # noqa: ARG002
        """Why there is no number, in words; empty where that is not known."""
        return ""


class Task(Struct, frozen=True, kw_only=True):
    """What is to be written and what it must keep to."""

    brief: str
    draft: str | None = None
    """A text to start from; without one the author writes the first draft."""
    draft_file: str = ""
    """The word processor's file that the draft was read from, if it was."""
    facts: str | None = None
    """Ground truth shown to critic, authors and judges."""
    contract: Contract = Contract()
    criteria: tuple[str, ...] = ()
    """What the user looks at, as `name` or `name: what is meant`, shown to critic, authors and judges; no limits."""
    knowledge: Knowledge | None = None
    """Records of the user's own that critics, judges and authors are shown."""
    entries: tuple[Entry, ...] = ()
    """Finished texts, where judging them is the task."""
    work: Work | None = None
    """What is to be done instead of writing or judging a text."""

    @property
    def title(self) -> str:
        """The first words of the brief, for lists."""
        line = next((line for line in self.brief.splitlines() if line.strip()), "")
        return _as_title(line.strip().lstrip("# "))

    @property
    def criterion_names(self) -> tuple[str, ...]:
        """The criteria as critics and judges name them."""
        return tuple(each.partition(": ")[0].strip() for each in self.criteria)

    @property
    def limited(self) -> bool:
        """Whether code checks anything of a text."""
        return not self.contract.empty or bool(self.given.rules())

    def rules(self, *, short: bool = False) -> tuple[str, ...]:
        """What code checks, in plain words; `short` for people, who know what they gave."""
        return (*self.contract.rules(), *self.given.rules(short=short))

    def sentences(self) -> tuple[str, ...]:
        """What requests say about that: the rules, and that a text breaks one of them."""
        return (*self.contract.sentences(), *self.given.rules())

    def violations(self, text: str) -> tuple[Violation, ...]:
        """Every limit that a text breaks."""
        return tuple(violation for violation, _ in self.breaches(text))

    def breaches(self, text: str, own: str | None = None, said: Sequence[str] = ()) -> list[Breach]:
        """The same by its `own` words, and where; what a person `said` may change facts that are kept."""
        return [*self.contract.breaches(text, own), *self.given.breaches(own or text, tuple(said))]

    @property
    def given(self) -> Given:
        """What facts of a text are compared with."""
        limits, known = self.contract, self.knowledge.facts if self.knowledge else ()
        keep = tuple(limits.keep or ())
        kinds = tuple(kind for kind in FACT_KINDS if kind in keep)
        if not kinds:
            # No translation keeps the words of a quotation.
            other = self.draft and limits.language not in (None, language_of(self.draft))
            kinds = tuple(kind for kind in FACT_KINDS if kind != "quotes" or not other)
        others = (*limits.sections, *limits.must_include, *(each.text for each in known))
        texts = self.draft or "", self.facts or "", self.brief, "\n".join(others)
        return Given(keep, kinds, limits.max_words, *texts)

    def title_of(self, heading: str) -> str:
        """The heading of a result, unless it has no word of what was given: then it only fills a line."""
        given = _stems("\n".join(filter(None, (self.brief, self.draft, self.facts))))
        return self.title if _stems(heading).isdisjoint(given) else heading


def find_title(text: str) -> str:
    """The heading that a text begins with, or else its first of the highest kind; empty where there is none."""
    begins = HEADING.match(text.lstrip("\n"))
    found = begins or re.search(r"^()# +(.*)$", CODE_BLOCK.sub("", text), re.MULTILINE)
    return _as_title(re.sub(r"[*_`]", "", found[2].rstrip("# \t"))) if found else ""


def _stems(text: str) -> set[str]:
    """What longer words begin with, so that `tide` and `tides` are one."""
    return {word[:_STEM] for word in re.findall(rf"\w{{{_STEM},}}", text.casefold())}


def _as_title(line: str) -> str:
    line = without_controls(line).strip()
    return line if len(line) <= _MAX_TITLE else line[: _MAX_TITLE - 1].rstrip() + "…"


def read_task(
    source: str | Path,
    *,
    draft: str | Path | None = None,
    facts: str | Path | None = None,
    contract: Mapping[str, Any] | None = None,
    criteria: str | Sequence[str] = (),
    limits_from_brief: bool = True,
) -> Task:
    """Read a task from a Markdown file, from standard input, or from the text itself.

    Args:
        source: A file, `-` for standard input, or what you want, in words.
        draft: A file with a text to start from.
        facts: A file with what every role may rely on.
        contract: Keys of the contract that come before those of the front matter.
        criteria: What matters, in words of yours, besides what the front matter says.
        limits_from_brief: Whether plain limits in its prose, such as “at most 80 words”, are limits, too.

    Returns:
        The task.

    Raises:
        InvalidInput: A file cannot be read, the brief is empty, or a key is unknown.

    Example:
        >>> from autoreason import read_task
        >>> task = read_task("Explain tides.", contract={"max_words": 200})
        >>> task.contract.max_words
        200
    """
    given = {"draft": draft, "facts": facts, "contract": contract, "criteria": criteria}
    check_call(read_task, source=source, limits_from_brief=limits_from_brief, **given)
    name, text = read_source(str(source))
    keys, brief = split_front_matter(name, text, FRONT_MATTER)
    if is_blank(brief):
        raise InvalidInput(f"{name} is empty; write what you want, in a sentence or a page")
    if "checks" in keys:
        raise InvalidInput(f"{name}: a brief cannot name code; give `checks` as file.py:name")
    given_facts = keys.pop("facts", None)
    if not isinstance(given_facts, str | None):
        listed = read_criteria(given_facts, f"{name}: ", "facts")
        given_facts = "\n".join(f"- {fact}" for fact in listed)
    own, more = read_criteria(keys.pop("criteria", ()), f"{name}: "), read_criteria(criteria)
    overrides = {key: x for key, x in (contract or {}).items() if x not in (None, (), [])}
    task = Task(
        brief=brief.strip(),
        draft=read_text(Path(draft), "draft") if draft else None,
        facts=read_text(Path(facts), "facts") if facts else given_facts,
        contract=make_contract(keys | overrides, name),
        criteria=tuple(dict.fromkeys((*own, *more))),
    )
    return check_task(task, limits_from_brief=limits_from_brief)


def read_criteria(given: object, where: str = "", what: str = "criteria") -> tuple[str, ...]:
    """Criteria or facts as they are written: a text, or a list of texts; `where` is their source, for messages."""
    found: list[tuple[Any, ...]] = []
    for each in given if isinstance(given, list | tuple) else [given]:
        # YAML reads `name: what is meant` as a mapping, and `name:` as one to nothing.
        pairs = each.items() if isinstance(each, dict) else [(each, None)]
        found += [(name,) if meaning is None else (name, meaning) for name, meaning in pairs]
    if not all(isinstance(part, str) for parts in found for part in parts):
        raise InvalidInput(f"{where}`{what}` must be text or a list of texts")
    return tuple(" ".join(": ".join(parts).split()) for parts in found)


def check_task(task: Task, *, limits_from_brief: bool = False) -> Task:
    """The task, with what it keeps by default, perhaps with limits in its brief's prose; or a refusal."""
    check_fields(task)
    parts = {"brief": task.brief, "draft": task.draft, "facts": task.facts}
    parts |= {"contract": "".join(task.contract.rules()), "criteria": "".join(task.criteria)}
    for name, text in parts.items():
        if text is not None and name in ("brief", "draft") and is_blank(text):
            raise InvalidInput(f"the {name} is empty; write it, in a sentence or a page")
        if text and "\0" in text:
            raise InvalidInput(f"the {name} contains a null; give plain UTF-8 text")
    names = [re.sub(r"[\W_]+", " ", each).strip().casefold() for each in task.criterion_names]
    too_long = any(len(each) > _MAX_CRITERION for each in task.criteria)
    if too_long or len(names) > _MAX_CRITERIA or "" in names or len({*names}) < len(names):
        most = f"at most {_MAX_CRITERIA} `criteria` of at most {_MAX_CRITERION} characters"
        raise InvalidInput(f"give {most}, each with a name of its own, in words")
    if task.draft is not None and task.contract.keep is None:
        task = replace(task, contract=replace(task.contract, keep=("draft",)))
    if limits_from_brief:
        task = replace(task, contract=add_limits(task.contract, task.brief))
    return task


def read_text(path: Path, what: str) -> str:
    """The text of a file; one clear sentence when it cannot be used."""
    try:
        with open_input(path.expanduser()) as file:
            data = file.read(_MAX_FILE_SIZE + 1)
    except (OSError, RuntimeError) as error:
        # The latter where a leading ~ names a user that does not exist.
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"cannot read {what} {path}: {why}; check the name") from None
    if len(data) > _MAX_FILE_SIZE:
        raise InvalidInput(f"{what} {path} is over {_MAX_FILE_SIZE // 1_000_000} MB; shorten it")
    text = _decode(data, f"{what} {path}")
    if is_blank(text):
        raise InvalidInput(f"{what} {path} is empty; write something in it or leave it out")
    return text


def read_texts(paths: Sequence[Path]) -> dict[str, str]:
    """Texts by file name; by their whole path where two files have the same."""
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise InvalidInput(f"{twice} is named twice; name every text once")
    short = [path.name for path in paths]
    names = short if len(set(short)) == len(short) else list(map(str, paths))
    return {name: read_text(path, "text") for name, path in zip(names, paths, strict=True)}


def read_input() -> str:
    return _decode(sys.stdin.buffer.read(), "standard input")


def read_source(source: str, what: str = "brief") -> tuple[str, str]:
    """The text that a file, `-` or the words themselves stand for, and what to call it in a message."""
    if source == "-":
        return "standard input", read_input()
    if is_blank(source):
        raise InvalidInput(f"the {what} is empty; give a file, a text, or - for standard input")
    short = "\n" not in source and len(source) <= _MAX_NAME
    if short and (_exists(Path(source)) or _LOOKS_LIKE_A_FILE.search(source)):
        return source, read_text(Path(source), what)
    if short and not re.search(r"\s", source):
        for ending in _TEXT_ENDINGS:
            if _exists(Path(source + ending)):
                raise InvalidInput(f"there is no file {source}; name {source}{ending}, or say more")
    return f"the {what}", source.replace("\r\n", "\n")


def _exists(path: Path) -> bool:
    try:
        return path.expanduser().exists()
    except (OSError, RuntimeError):
        # Text that cannot be a file name is not one.
        return False


def _decode(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8 text; save it as plain text or Markdown") from None
    if "\0" in text:
        raise InvalidInput(f"{name} is a binary file; give plain text or Markdown")
    return text.replace("\r\n", "\n")


def is_to_be_read(text: str) -> bool:
    """Whether it is only the name of a text file, or begins with lines between two `---`, of which one sets a limit."""
    if text.lower().endswith(_TEXT_ENDINGS) and _exists(Path(text)):
        return True
    found = _FRONT_MATTER.match(text)
    names = re.findall(r"^(\w+)[ \t]*:", found.group(1), re.MULTILINE) if found else []
    return any(name in FRONT_MATTER for name in names)


def split_front_matter(name: str, text: str, known: Sequence[str]) -> tuple[dict[str, Any], str]:
    """The keys between two `---` at the head of a text, and the rest; `name` is its source, for messages."""
    found = _FRONT_MATTER.match(text)
    if not found:
        unclosed = _UNCLOSED.match(text)
        if unclosed and unclosed.group(1) in known:
            raise InvalidInput(f"{name}: the front matter has no --- at its end; add that line")
        return {}, text
    # YAML is only needed for a brief that has front matter.
    from autoreason.bounded_yaml import load_yaml

    try:
        # The line before it has the first ---.
        keys = load_yaml(f"\n{found.group(1)}") or {}
    except ValueError as error:
        raise InvalidInput(f"{name}: the front matter is not YAML ({error}); correct it") from None
    if not isinstance(keys, dict):
        raise InvalidInput(f"{name}: the front matter must be `key: value` lines between two ---")
    return keys, text[found.end() :]


def make_contract(keys: dict[str, Any], name: str) -> Contract:
    """A contract from keys as they are written in front matter; `name` is their source, for messages."""
    lists = {key: [text] for key, text in keys.items() if key in _LISTS and isinstance(text, str)}
    if isinstance(keep := keys.get("keep"), bool):
        lists["keep"] = ["all"] * keep
    return make_struct(Contract, keys | lists, f"{name}: ", "key")
