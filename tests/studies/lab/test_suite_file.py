"""A suite's file: what is wrong with it is one sentence with line and column, and nothing is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.job_types import Solve
from autoreason.settings import Budget
from autoreason.studies.lab_file import SuiteFile, read_suite
from autoreason.studies.lab_suite import Suite, count_cells, groups, job_settings

USUAL = """\
name: tides
seed: 3
tasks:
  tides: Explain tides.
arms:
  single: {strategy: single}
  revised: {strategy: critique_revise, passes: 2}
repeats: 2
comparisons:
  - name: revising
    question: Does revising help?
    arms: [revised, single]
"""


def read(text: str, folder: Path, **options: object) -> SuiteFile:
    path = folder / "suite.yaml"
    path.write_text(text)
    return read_suite(path, models={"": "echo/echo"} | dict(options.pop("models", {})), **options)  # type: ignore[arg-type, call-overload]


def test_a_suite_has_its_tasks_arms_comparisons_and_limits_and_is_no_list(tmp_path: Path) -> None:
    file = read(USUAL + "budget: {cost: 2.5, cell: {calls: 30}}\n", tmp_path)
    assert float(file.budget.cost or 0) == 2.5
    assert file.suite.arms["single"].settings.budget == Budget(calls=30)
    assert list(file.suite.tasks) == ["tides"]
    assert file.suite.arms["revised"].settings.passes == 2
    assert file.suite.arms["revised"].settings.models.all() == ("echo/echo",)
    assert file.suite.comparisons[0].measure == "preferred"
    assert file.suite.panel is not None
    assert (file.seed, file.suite.repeats) == (3, 2)
    with pytest.raises(InvalidInput, match="it must be `key: value` pairs, not a list"):
        read("- name: tides\n", tmp_path)


WRONG = {
    "tasks:\n  tides: Explain tides.\n": ("", "line 1, column 1: `tasks` is missing"),
    "name: tides\n": ("name: high tides\n", "line 1, column 1: names have up to 40 letters"),
    "  tides: Explain": ("  high tides: Explain", "line 3, column 1: names have up to 40 letters"),
    "seed: 3": ("sead: 3", "line 2, column 1: unknown key `sead`"),
    "repeats: 2": ("repeats: many", "line 8, column 1: `repeats` must be a whole number, not text"),
    "passes: 2": ("passes: 0", "line 7, column 40: `passes` is 0; give a number from 1 to 1000"),
    "[revised, single]": (
        "[revised, other]",
        "line 12, column 5: `arms` needs two different ones or more; there are",
    ),
    "arms: [revised, single]": (
        "arms: [single]",
        "line 12, column 5: `arms` needs two different ones or more",
    ),
    "  single: {": ("  draft: {", "line 6, column 3: draft begins like a name of the suite's own"),
    "name: tides": ("name: tides\nname: b", "is not valid YAML: line 2: `name` is given twice"),
    "[revised, single]\n": (
        "[revised, single]\n    measure: passed\n",
        "line 13, column 5: passed can only be measured of tasks of problems",
    ),
    "Explain tides.\n": (
        "{brif: Explain tides.}\n",
        "line 4, column 3: task tides needs one of brief, problems, research",
    ),
    "    arms: [revised, single]\n": (
        "    arms: [revised, single]\n    measure: converged\n",
        "line 13, column 5: converged can only be measured of arms that are all tournaments",
    ),
    "arms: [revised": (
        "measure: kept_contract\n    arms: [revised",
        "line 12, column 5: kept_contract can only be measured of a task with a contract",
    ),
    "comparisons:\n": (
        "measures: [value]\ncomparisons:\n",
        "line 9, column 12: value can only be measured of tasks of research",
    ),
    "tides: Explain tides.": (
        "tides: {brief: Explain tides., contract: {max_wrds: 9}}",
        "unknown key `max_wrds`",
    ),
    "  tides: Explain tides.": ("  tides: nowhere.md", "line 4, column 3: cannot read brief"),
    "repeats: 2\n": ("repeats: 2\nbudget: {calls: 0}\n", "line 9, column 10: `calls` is 0"),
    "repeats: 2\ncomp": (
        "repeats: 2\npanel: {judges: 99999}\ncomp",
        "line 9, column 9: `panel.judges` must be a whole number <= 99",
    ),
    "repeats: 2\ncompa": (
        "repeats: 2\nmeasures: [words, kost]\ncompa",
        "line 9, column 19: `measures[1]` must be 'preferred', ",
    ),
    "arms:\n  single: {strategy: single}": (
        "arms:\n  single: {strategy: single, model: strong}",
        "line 6, column 30: `model` is strong, which is not a model",
    ),
    "name: tides\nseed: 3": ("name: [", "is not valid YAML"),
    "single: {strategy: single}": (
        "single: {strategy: single, calls: 3}",
        "line 6, column 30: `calls` goes with tasks for solve",
    ),
    "  single: {strategy: single}\n": (
        "  single: {strategy: single, candidates: B}\n",
        "line 6, column 30: `candidates` does nothing in single; leave it out",
    ),
    "{strategy: single}\n": (
        "{passes: 2, plateau_change: 0.2}\n",
        "line 6, column 23: `plateau_change` does nothing without `plateau`",
    ),
    " {strategy: single}": (
        " {passes: 2, drafts: 5}",
        "line 6, column 23: `drafts` does nothing in an arm that begins from the shared draft; "
        "add `draft: own` or leave it out",
    ),
}


OUT_OF_RANGE = {
    "panel: {judges: 0}": "`panel.judges` must be a whole number >= 1",
    "match: {by: calls, amount: 0.5}": "the amount to match is 0.5; give 1 or more",
    "add: {width: .inf, repeats: 3}": "`add.width` must be a number <= 1000000000.0",
}


@pytest.mark.parametrize("line", OUT_OF_RANGE)
def test_what_no_suite_can_use_is_refused_where_it_is(tmp_path: Path, line: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(f"{USUAL}{line}\n", tmp_path)
    assert OUT_OF_RANGE[line] in str(caught.value)
    assert ", line 13, column " in str(caught.value)


@pytest.mark.parametrize("right", WRONG)
def test_what_is_wrong_is_a_sentence_with_its_place(tmp_path: Path, right: str) -> None:
    wrong, sentence = WRONG[right]
    assert right in USUAL
    with pytest.raises(InvalidInput) as caught:
        read(USUAL.replace(right, wrong, 1), tmp_path)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path}/suite.yaml")


@pytest.mark.parametrize(
    ("tasks", "key"),
    [
        ("sums: {problems: sums.jsonl}", "draft: own, strategy: single"),
        ("tides: {brief: Explain tides., draft: The moon pulls.}", "draft: own"),
        ("tides: {brief: Explain tides., draft: The moon pulls.}", "drafts: 2"),
    ],
)
def test_a_draft_that_no_task_needs_is_refused(tmp_path: Path, tasks: str, key: str) -> None:
    text = f"name: sums\ntasks:\n  {tasks}\narms:\n  contest: {{{key}}}\nmeasures: [calls]\n"
    name = key.partition(":")[0]
    sentence = f"line 5, column 13: `{name}` does nothing where no task needs a first draft"
    with pytest.raises(InvalidInput, match=sentence):
        read(text, tmp_path)
    read(text.replace(key, "strategy: single"), tmp_path)


def test_models_may_be_left_open_and_given_by_name(tmp_path: Path) -> None:
    text = USUAL.replace("seed: 3", "models: [strong]").replace(
        "strategy: single", "strategy: single, author_model: strong"
    )
    assert read(text, tmp_path).suite.arms["single"].settings.models.author == "echo/echo"
    given = read(text, tmp_path, models={"strong": "echo/other"})
    assert given.suite.arms["single"].settings.models.author == "echo/other"
    assert given.suite.arms["revised"].settings.models.author == "echo/echo"
    with pytest.raises(InvalidInput, match="a model is given for weak, which the suite does not"):
        read(text, tmp_path, models={"weak": "echo/echo"})
    with pytest.raises(InvalidInput, match="line 6, column 30: no model is given for strong"):
        read(text.replace("author_model", "model"), tmp_path, models={"": ""})
    with pytest.raises(InvalidInput, match="line 6, column 3: no model is named; give `model`"):
        read(USUAL, tmp_path, models={"": ""})


def test_briefs_and_facts_may_be_files_next_to_the_suite(tmp_path: Path) -> None:
    (tmp_path / "tides.md").write_text("---\nmax_words: 50\n---\nExplain tides.\n")
    (tmp_path / "facts.txt").write_text("The moon pulls.")
    text = USUAL.replace(
        "tides: Explain tides.",
        "tides: tides.md\n  sea: {brief: Explain the sea., facts: facts.txt}",
    )
    tasks = read(text, tmp_path).suite.tasks
    assert tasks["tides"].task.contract.max_words == 50
    assert tasks["sea"].task.facts == "The moon pulls."


def test_an_arm_may_have_other_candidates_and_revisers(tmp_path: Path) -> None:
    switched = USUAL.replace(
        "  single: {strategy: single}",
        "  single: {passes: 2, reviser_models: [strong, acme/y]}\n"
        "  other: {judges: 3, candidates: AB, blind_revision: true, subtractive_synthesis: true, critic_facts: false}",
    ).replace("seed: 3", "seed: 3\nmodels: [strong]")
    arms = read(switched, tmp_path, models={"strong": "acme/x"}).suite.arms
    assert arms["single"].settings.models.revisers == ("acme/x", "acme/y")
    other = arms["other"].settings
    assert (other.candidates, other.blind_revision) == ("AB", True)
    assert (other.subtractive_synthesis, other.critic_facts) == (True, False)
    for wrong, said in (("candidates: A", "candidates"), ("reviser_models: weak", "not a model")):
        with pytest.raises(InvalidInput, match=rf"line 6, column \d+: .*{said}"):
            read(USUAL.replace("strategy: single", wrong), tmp_path)


@pytest.mark.parametrize("key", ["candidates: B", "required_lead: 2", "reviser_models: echo/echo"])
def test_what_only_texts_know_is_refused_where_all_tasks_are_others(
    tmp_path: Path, key: str
) -> None:
    text = f"name: sums\ntasks:\n  sums: {{problems: sums.jsonl}}\narms:\n  one: {{{key}, strategy: search}}\n"
    with pytest.raises(InvalidInput, match=r"line 5, column 9: .* does nothing in search"):
        read(text, tmp_path)


@pytest.mark.parametrize(("given", "k"), [("", Solve().k), (", k:", Solve().k), (", k: 4", 4)])
def test_problems_of_a_suite_are_solved_as_others_are(tmp_path: Path, given: str, k: int) -> None:
    arm = f"one: {{strategy: tournament{given}}}"
    found = read(
        f"name: sums\ntasks:\n  sums: {{problems: sums.jsonl}}\narms:\n  {arm}\n", tmp_path
    )
    settings = found.suite.arms["one"].settings
    assert job_settings(found.suite, "sums", "one", settings).job_as(Solve).k == k


# Cells: what is shared is one cell, and numbers do not depend on what came first.


def suite(folder: Path, text: str = USUAL) -> Suite:
    return read(text, folder).suite


def names(found: Suite) -> list[list[str]]:
    return [[cell.part for cells in group for cell in cells] for group in groups(found)]


def test_arms_of_a_repeat_share_a_draft_and_a_panel_as_do_comparisons_of_the_same(
    tmp_path: Path,
) -> None:
    assert names(suite(tmp_path)) == [
        ["1/draft/1", "1/single/1", "1/revised/1", "1/panel/1"],
        ["1/draft/2", "1/single/2", "1/revised/2", "1/panel/2"],
    ]
    text = USUAL + "  - {name: again, question: Once more, arms: [single, revised]}\n"
    assert names(suite(tmp_path, text)) == names(suite(tmp_path))


def test_a_draft_depends_on_its_author_alone_and_an_arm_may_write_its_own(tmp_path: Path) -> None:
    text = USUAL.replace("strategy: single", "passes: 2")
    other = text.replace("passes: 2", "passes: 5, critic_model: echo/b")
    assert names(suite(tmp_path, other)) == names(suite(tmp_path, text))
    author = USUAL.replace("strategy: single", "strategy: single, author_model: echo/b")
    assert names(suite(tmp_path, author))[0][:2] == ["1/draft-1/1", "1/draft-2/1"]
    text = USUAL.replace("strategy: single", "strategy: single, draft: own")
    (group, _) = groups(suite(tmp_path, text))
    assert group.draft_of("single") is None
    assert group.draft_of("revised") == group.drafts[0]


def test_cells_are_numbered_in_order_and_added_repeats_come_last(tmp_path: Path) -> None:
    before = suite(tmp_path)
    numbers = [cell.number for group in groups(before) for cells in group for cell in cells]
    assert numbers == list(range(1, count_cells(before) + 1))
    more = replace(before, added={"revising": 2})
    assert names(more)[:2] == names(before)
    assert len(names(more)) == 4
