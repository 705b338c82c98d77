"""What is given on the command line: nothing empty is a default, nothing huge falls over, and mistakes name options."""

from __future__ import annotations

from tests.cases import cases
from tests.cli.inside import Inside


@cases(
    ("arguments", "after"),
    [
        (("run", "hi", "-m", ""), "-m"),
        (("run", "hi", "--model=", "--dry-run"), "--model"),
        (("run", "hi", "--judge-model", " "), "--judge-model"),
        (("run", "hi", "--draft", ""), "--draft"),
        (("run", ""), "run"),
        (("compare", "hi", "--strategies", ""), "--strategies"),
        (("judge", ""), "judge"),
        *(((name, ""), name) for name in ("show", "resume", "tell", "export")),
        (("audit", ""), "audit"),
        (("models", "check", ""), "check"),
    ],
)
def test_an_empty_name_is_an_error_and_never_a_default(
    inside: Inside, arguments: tuple[str, ...], after: str
) -> None:
    refused = inside(*arguments)
    assert refused.status == 2
    assert refused.sentence.startswith(f"what is given after {after} is empty; ")
    assert not inside.journal_exists


@cases(
    ("arguments", "said"),
    [
        (("--rounds", "0"), "--rounds is 0; give a number from 1"),
        (("-k", "0"), "-k is 0; give a number from 1"),
        (("--set", "candidates=AB"), "without --judges, `candidates` can only be B"),
        (("--set", "max_tokens=1"), "`max_tokens` is 1"),
        (("--set", "judge_temperature=3"), "`judge_temperature` is 3.0"),
        (("--cost-limit", "0"), "--cost-limit is 0; give more than 0"),
        (("--call-limit", "-1"), "--call-limit is -1"),
        (("--set", "tie_order=zzz"), "`tie_order` is not A>AB>B"),
        (
            ("--strategy", "best_of_n", "--set", "strategy_options.n=many"),
            "`n` must be a whole number, not text",
        ),
    ],
)
def test_what_is_wrong_with_a_setting_is_said_of_its_option(
    inside: Inside, arguments: tuple[str, ...], said: str
) -> None:
    assert said in inside("run", "hi", "-m", "echo/echo", *arguments).sentence


def test_a_key_of_front_matter_is_named_as_it_stands_there(inside: Inside) -> None:
    inside.write("brief.md", "---\nmax_words: many\n---\nWrite.\n")
    said = inside("run", "brief.md", "-m", "echo/echo").sentence
    assert said == "brief.md: `max_words` must be a whole number, not text; change it"


def test_options_of_other_commands_are_named_as_they_are_there(inside: Inside) -> None:
    for command in ("compare", "certify"):
        given = "echo/echo" if command == "certify" else "hi"
        refused = inside(command, given, "--repeats", "0", "--dry-run")
        assert "--repeats is 0" in refused.sentence
    changed = inside("simulate", "--set", "k=0", "--runs", "2", "-q")
    assert "`k` is 0" in changed.sentence
