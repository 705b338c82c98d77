"""The house keeps its shape: imports point downwards, the method is pure, no machine is named."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import pytest
from tools.size import Size, measure

ROOT = Path(__file__).parents[1]
HOUSE = ROOT / "src" / "autoreason"

NOUNS = frozenset(
    {
        *(
            "bounded_yaml",
            "characters",
            "contract",
            "errors",
            "events",
            "exchange",
            "facts",
            "fields",
        ),
        *("files", "job_types", "keys", "knowledge_records", "plugins", "prompts", "settings"),
        *("kept", "limits", "sentences", "story", "task", "version", "wording"),
    }
)
FLOORS = (
    # The command line: parse, call, show. Autoreason inside coding agents.
    frozenset({"__main__", "agents", "cli"}),
    # One run from start to end, and the functions people call; models for their tests.
    frozenset({"run", "testing"}),
    # What is built with the method: programs that run, artifacts with a number, studies of texts and judges.
    frozenset({"artifacts", "pages", "programs", "studies"}),
    # The method, and the simpler ways beside it.
    frozenset({"strategies", "tournament"}),
    # What every job works with; what models write, read.
    frozenset({"jobs", "parsing"}),
    # Ask, record, count, show, know: none of them knows what for.
    frozenset({"journal", "knowledge", "models", "report", "stats"}),
    # The words all others speak in.
    NOUNS,
)
"""From top to bottom."""

DEPTH = {room: depth for depth, floor in enumerate(FLOORS) for room in floor}

OUTSIDE = ("aiohttp", "click", "rich", "sqlite3", "time")
"""Networks, terminals, disks and clocks, of which pure rooms know nothing."""

METHOD = (
    "autoreason.journal",
    "autoreason.models",
    "asyncio.create_subprocess_exec",
    "asyncio.create_subprocess_shell",
    "asyncio.subprocess",
    *OUTSIDE,
)
ASSIGNMENT = "autoreason.programs.assignment"
"""The words that the rooms of programs share."""
PROGRAMS = tuple(f"autoreason.programs.{room}" for room in ("examiner", "problems", "sandbox"))
EVERYTHING_BUT_NOUNS = tuple(f"autoreason.{room}" for room in DEPTH if room not in NOUNS)

FORBIDDEN = {
    "journal": ("autoreason.knowledge", "autoreason.models", "autoreason.stats"),
    "jobs": METHOD,
    "knowledge": (
        "autoreason.journal",
        "autoreason.models",
        "autoreason.events",
        "autoreason.settings",
        "time",
    ),
    "models": ("autoreason.journal", "autoreason.stats"),
    "parsing": METHOD,
    "programs": PROGRAMS,
    "programs.examiner": EVERYTHING_BUT_NOUNS,
    "programs.problems": EVERYTHING_BUT_NOUNS,
    "programs.sandbox": EVERYTHING_BUT_NOUNS,
    "report": (
        "autoreason.journal",
        "autoreason.models",
        *(
            f"autoreason.{noun}"
            for noun in sorted(NOUNS - {"characters", "errors", "exchange", "sentences"})
        ),
        *(name for name in OUTSIDE if name != "rich"),
    ),
    "stats": (
        "autoreason.journal",
        "autoreason.models",
        "autoreason.report",
        *(f"autoreason.{noun}" for noun in sorted(NOUNS - {"errors"})),
        *OUTSIDE,
    ),
    "tournament": METHOD,
}
"""What a room may not use although it lies below or beside it, or outside the house; the longest name counts."""

ALLOWED = {
    # Inputs are made from what everybody may see of a problem.
    "programs": ("autoreason.programs.problems.inputs",),
    "programs.examiner": (ASSIGNMENT, *PROGRAMS),
    "programs.problems": (
        ASSIGNMENT,
        "autoreason.programs.problems",
        "autoreason.programs.sandbox",
    ),
    "programs.sandbox": (ASSIGNMENT, "autoreason.programs.sandbox"),
}
"""Of what is forbidden."""

PURE = ("jobs", "knowledge", "parsing", "stats", "tournament")
"""Rooms whose randomness is all given to them."""

SEEDED = ("numpy.random.default_rng", "numpy.random.Generator")


class Use(NamedTuple):
    """A name from elsewhere, spelled out in full, and where it is used."""

    line: int
    name: str


class Import(NamedTuple):
    """One imported name, and what a local name means from then on."""

    use: Use
    bound: str
    meaning: str


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """What the rules below are about, of a module that is read once for all of them."""
    kept = (ast.Import, ast.ImportFrom, ast.Attribute, ast.Raise)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return tuple(node for node in ast.walk(tree) if isinstance(node, kept))


def imports(path: Path, house: Path) -> Iterator[Import]:
    """Every import in a module, wherever it stands: at the top, in a function, for types only."""
    package = [house.name, *path.relative_to(house).parent.parts]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                meaning = alias.name if alias.asname else first
                yield Import(Use(node.lineno, alias.name), alias.asname or first, meaning)
        elif isinstance(node, ast.ImportFrom):
            origin = [node.module] if node.module else []
            if node.level:
                origin = package[: len(package) + 1 - node.level] + origin
            for alias in node.names:
                name = ".".join([*origin, alias.name])
                yield Import(Use(node.lineno, name), alias.asname or alias.name, name)


def dotted(node: ast.expr) -> list[str]:
    """`a.b.c` as its parts; nothing for other expressions."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute) and (owner := dotted(node.value)):
        return [*owner, node.attr]
    return []


@cache
def uses(path: Path, house: Path) -> tuple[Use, ...]:
    """Every import of a module, and every attribute it takes from an imported name."""
    imported = list(imports(path, house))
    meanings = {each.bound: each.meaning for each in imported}
    taken = (
        Use(node.lineno, ".".join([meanings[parts[0]], *parts[1:]]))
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and (parts := dotted(node)) and parts[0] in meanings
    )
    return (*(each.use for each in imported), *taken)


def room_of(path: Path, house: Path) -> str:
    """The top-level package or module a file belongs to."""
    return path.relative_to(house).parts[0].removesuffix(".py")


def within(name: str, *places: str) -> bool:
    """Whether a dotted name is one of `places` or inside one."""
    return any(name == place or name.startswith(f"{place}.") for place in places)


def target_of(name: str) -> str | None:
    """The part of the house a dotted name points to; "" is the house itself, None is outside."""
    return f"{name}.".split(".")[1] if within(name, "autoreason") else None


def rule_of(path: Path, house: Path) -> str:
    """The key of what a file may not use: its room, or a room within that."""
    room, inner, *_ = [*path.relative_to(house).parts, ""]
    return f"{room}.{inner}" if f"{room}.{inner}" in FORBIDDEN else room.removesuffix(".py")


def faults(room: str, rule: str, name: str) -> Iterator[str]:
    """What is wrong with `room` using `name`."""
    target = target_of(name)
    if within(name, *FORBIDDEN.get(rule, ())) and not within(name, *ALLOWED.get(rule, ())):
        yield f"{rule} may not use {name}"
    if room in PURE and name.startswith("random.") and not within(name, "random.Random"):
        yield f"{name} is not seeded by its caller: use random.Random"
    if room in PURE and name.startswith("numpy.random.") and not within(name, *SEEDED):
        yield f"{name} is not seeded by its caller: use numpy.random.default_rng"
    if target is not None and target not in DEPTH:
        yield f"{name} is the public surface: import from the module that defines it"
    if target in DEPTH and DEPTH[target] < DEPTH[room]:
        yield f"{room} may not use {name}: it lies above"


def modules(house: Path) -> list[Path]:
    """Every module but the public surface, which may name anything."""
    surface = (house / "__init__.py", house / "_api.py", house / "extend.py")
    return sorted(path for path in house.rglob("*.py") if path not in surface)


def complaints(house: Path) -> list[str]:
    """Every import or use that breaks the rules of the house."""
    found = []
    for path in modules(house):
        room, rule = room_of(path, house), rule_of(path, house)
        if room not in DEPTH:
            found.append(f"{path.relative_to(house)}: {room} has no floor in FLOORS")
            continue
        for use in uses(path, house):
            place = f"{path.relative_to(house)}:{use.line}"
            found.extend(f"{place}: {fault}" for fault in faults(room, rule, use.name))
    return found


def room_graph(house: Path) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {room: set() for room in DEPTH}
    for path in modules(house):
        room = room_of(path, house)
        targets = {target_of(use.name) for use in uses(path, house)}
        graph.setdefault(room, set()).update(
            target for target in targets if target in DEPTH and target != room
        )
    return graph


def module_name(path: Path, house: Path) -> str:
    return ".".join(path.relative_to(house.parent).with_suffix("").parts).removesuffix(".__init__")


def module_graph(house: Path) -> dict[str, set[str]]:
    """Which module imports which others: at the top, in a function, for types only."""
    names = {module_name(path, house): path for path in modules(house)}
    graph = {}
    for name, path in names.items():
        used = {each.use.name for each in imports(path, house)}
        graph[name] = {
            next((place for place in (one, one.rpartition(".")[0]) if place in names), name)
            for one in used
        } - {name}
    return graph


def machine_names(text: str) -> list[str]:
    """Folders of one machine and package indexes that a text names."""
    # Put together here, so that this file passes its own test.
    folders = [f"/{name}/" for name in ("work", "root")]
    options = [
        "-".join(words) for words in (("index", "url"), ("find", "links"), ("trusted", "host"))
    ]
    return [name for name in folders + options if name in text]


def text_files() -> Iterator[tuple[Path, str]]:
    """What is, or is about to be, under version control and is text."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs git and a checkout")
    for name in filter(None, listed.stdout.split("\0")):
        try:
            yield ROOT / name, (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):  # binary; deleted but still in the index
            continue


def shared_names(house: Path) -> list[str]:
    """Names of modules that stand for two things on one floor or on two next to each other."""
    homes: dict[str, list[Path]] = {}
    for path in modules(house):
        # A command's module has the name that people type.
        if not path.stem.startswith("__") and path.parent.name != "commands":
            homes.setdefault(path.stem, []).append(path)
    return [
        f"{one.relative_to(house)} and {other.relative_to(house)}"
        for paths in homes.values()
        for one, other in combinations(paths, 2)
        if abs(DEPTH[room_of(one, house)] - DEPTH[room_of(other, house)]) <= 1
    ]


def test_no_two_modules_near_each_other_have_one_name() -> None:
    assert shared_names(HOUSE) == []


def test_imports_point_downwards_and_the_method_is_pure() -> None:
    assert modules(HOUSE)
    assert complaints(HOUSE) == []


@pytest.mark.parametrize("noun", ["events", "settings", "story", "task"])
def test_the_nouns_know_nothing_of_programs(noun: str) -> None:
    source = (HOUSE / f"{noun}.py").read_text(encoding="utf-8")
    words = re.findall(r"(?i)assignment|examin|\bprograms?\b|\bproblems?\b|solved", source)
    # A critic finds problems in a text.
    assert set(words) <= {"problem", "problems", "Problems"}


def test_neither_rooms_nor_modules_import_each_other_in_a_circle() -> None:
    TopologicalSorter(room_graph(HOUSE)).prepare()
    TopologicalSorter(module_graph(HOUSE)).prepare()


def test_no_file_names_a_machine_or_a_package_index() -> None:
    named = {str(path.relative_to(ROOT)): machine_names(text) for path, text in text_files()}
    assert named
    assert {path: names for path, names in named.items() if names} == {}


def test_errors_of_the_library_name_parameters_and_leave_flags_to_the_command_line() -> None:
    for path in HOUSE.rglob("*.py"):
        if "cli" in path.relative_to(HOUSE).parts:
            continue
        raised = [each for each in nodes(path) if isinstance(each, ast.Raise)]
        constants = [
            each for one in raised for each in ast.walk(one) if isinstance(each, ast.Constant)
        ]
        for each in constants:
            assert not re.search(r"(?<![\w-])--[a-z]", str(each.value)), f"{path}:{each.lineno}"


def test_the_package_imports_nothing_that_stays_in_the_checkout() -> None:
    for path in HOUSE.rglob("*.py"):
        found = re.findall(
            r"^\s*(?:from|import) (paper|benchmarks|tests|tools)\b", path.read_text(), re.M
        )
        assert not found, path


@pytest.mark.parametrize("size", measure(), ids=lambda size: size.name)
def test_the_house_is_no_larger_than_it_may_be(size: Size) -> None:
    assert size.now <= size.limit
