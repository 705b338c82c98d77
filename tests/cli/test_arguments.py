"""What cannot be meant on a command line: one sentence that says what to type instead, and nothing is written."""

from __future__ import annotations

import shlex

import pytest
from tests.cases import cases
from tests.cli.inside import Inside

RUN = "run hi -m echo/echo "
COMPARE = "compare hi -m echo/echo "
JUDGE = "judge hi -m echo/echo "
EMPTY = "what is given after {} is empty; "
NO_BATCH = (
    "echo/echo has no batch interface; leave --batch out, or choose a model of openai or "
    "openai-responses or anthropic"
)


@cases(
    ("command", "said"),
    [
        # Nothing empty is a default.
        ("run hi -m ''", EMPTY.format("-m")),
        ("run hi --model= --dry-run", EMPTY.format("--model")),
        ("run hi --judge-model ' '", EMPTY.format("--judge-model")),
        ("run hi --draft ''", EMPTY.format("--draft")),
        ("compare hi --strategies ''", EMPTY.format("--strategies")),
        ("models check ''", EMPTY.format("check")),
        *((f"{name} ''", EMPTY.format(name)) for name in ("run", "judge", "show", "resume")),
        *((f"{name} ''", EMPTY.format(name)) for name in ("tell", "export", "audit")),
        # A mistake in a setting is said of its option.
        (RUN + "--rounds 0", "--rounds is 0; give a number from 1"),
        (RUN + "-k 0", "-k is 0; give a number from 1"),
        (RUN + "--judges 100", "--judges is 100; give a number from 0 to 99"),
        (RUN + "--cost-limit 0", "--cost-limit is 0; give more than 0"),
        (RUN + "--call-limit -1", "--call-limit is -1"),
        (RUN + "--alternatives 8", "--alternatives is 8; give a number from 2 to 7"),
        (RUN + "--set candidates=AB", "without --judges, `candidates` can only be B"),
        (RUN + "--set judge_temperature=3", "`judge_temperature` is 3.0"),
        (RUN + "--set tie_order=zzz", "`tie_order` is not A>AB>B"),
        (RUN + "--set pases=3", "unknown setting `pases`; did you mean --rounds?"),
        (RUN + "--set zzz=3", "unknown setting `zzz`; known are strategy, "),
        (RUN + "--set draft=3", "draft is an option of its own, not a setting; give --draft"),
        (RUN + "--set k", "'k' sets nothing; write it like k=3"),
        (RUN + "--set k=many", "-k is 'many'; give a whole number"),
        (RUN + "--set reviewers=500", "`reviewers` is 500; give a number from 0 to 99"),
        (RUN + "--set early_stop=perhaps", "`early_stop` is 'perhaps'; give True or False"),
        (RUN + "--set style=stern", "`style` is 'stern'; give 'reasoned', "),
        (RUN + "--set reviewers=3 --set reviewers=0", "`reviewers` is set twice; set it once"),
        (RUN + "--rounds 2 --set passes=3", "twice"),
        (RUN + "--strategy best_of_n --set strategy_options.n=many", "`n` must be a whole number"),
        ("certify echo/echo --repeats 0 --dry-run", "--repeats is 0"),
        ("simulate --runs 2 --set k=0", "`k` is 0"),
        ("simulate --runs 2 --set k", "write it like k=3"),
        ("simulate --runs 2 --set colour=red", "unknown setting `colour`"),
        # Options that contradict each other, or mean nothing here.
        (RUN + "--alternatives 3 --strategy single", "leave out --strategy"),
        (RUN + "--alternatives 3 --protocol paper", "alternatives needs a panel"),
        (RUN + "--min-words 9 --max-words 5", "min_words and max_words exclude each other"),
        (RUN + "--html same -o same", "give each a file of its own"),
        (RUN + "--keep names --no-keep", "--keep and --no-keep are contrary; give one"),
        (RUN + "--must-include '/a(/'", "cannot be searched for"),
        (RUN + "--batch", NO_BATCH),
        (COMPARE + "--batch", NO_BATCH),
        ("certify echo/echo --batch", NO_BATCH),
        (COMPARE + "--strategies improve", "two or more strategies"),
        (COMPARE + "--strategies improve,nobody", "no strategy 'nobody'"),
        (COMPARE + "--strategies single,improve", "single spends nothing"),
        (COMPARE + "--repeats 0", "--repeats is 0"),
        (COMPARE + "--panel 1", "judges, not 1"),
        (COMPARE + "--match cost", "cost nothing"),
        ("compare hi --match cost -m ollama/none --set critic_model=openai/none", "not known"),
        ("audit last --all", "name runs or give --all"),
        ("export last --all --pairs -", "name runs or give --all"),
        ("export last --all", "go with --pairs FILE"),
        ("export --json --pairs -", "name one with --pairs"),
        ("export --site public", "name the runs of the site, or give --all"),
        ("export --site public last --all", "name the runs of the site, or give --all"),
        ("export --site public last --patch", "exclude each other"),
        ("export --site public last --chat", "go with --pairs"),
        ("prompts --programs --research", "name one of them"),
        ("advise", "give one brief, or runs with --from"),
        ("runs --status gone", "no status 'gone'; it is one of live, killed"),
        # What is named is not there, or not what it should be.
        ("run nothing.md", "cannot read brief nothing.md: No such file"),
        ("run empty.md", "brief empty.md is empty"),
        ("run binary.md", "brief binary.md is not UTF-8 text"),
        ("run front.md", "front.md: the front matter is not YAML (line 3"),
        ("run many.md", "many.md: `max_words` must be a whole number, not text; change it"),
        ("run own -m echo/echo", "cannot read brief own: Is a directory"),
        (RUN + "--draft nothing.md", "cannot read draft nothing.md"),
        (RUN + "--prompts own", "own/critic.md: unknown variable `nonsense`"),
        (RUN + "--prompts nowhere", "no prompt folder at nowhere"),
        (RUN + "-o no/such/text.md", "cannot write to no/such/text.md"),
        (RUN + "--html no/where.html", "--html"),
        (RUN + "--journal no/such.db", "for the journal; make it first"),
        (RUN + "--journal own", "own is a folder; name a file for the journal"),
        (RUN + "--journal binary.md", "binary.md is not a journal but something else"),
        ("advise missing.md", "cannot read brief missing.md"),
        ("export --pairs no/such/pairs.jsonl", "cannot write to "),
        ("simulate --runs 2 --world paradise", "no world `paradise`"),
        ("simulate --runs 2 --world none.yaml", "cannot read world none.yaml"),
        ("prompts nosuch", "the prompts are alternatives, author, ballot_again"),
        ("runs copy none.db two.db", "no journal at"),
        # No such run.
        ("show nobody", "no run 'nobody'; see `autoreason runs`"),
        ("fork nobody", "no run 'nobody'"),
        ("resume", "there is no run that waits to be resumed"),
        ("tell stop", "there is no live run; name a run"),
        ("judge hi", "no run 'hi'"),
        ("audit nobody", "no run 'nobody'"),
        ("export nobody --pairs -", "no run 'nobody'"),
        ("export --site public gone", "no run"),
        ("advise --from nobody", "no run 'nobody'"),
        # No such model.
        ("run hi", "local/smollm2 is not on this machine yet"),
        ("run hi -m gpt", "'gpt' is not the address of a model"),
        ("run hi -m nosuch/model", "there is no provider 'nosuch'"),
        ("run hi -m anthropic/claude-sonnet-4-5", "anthropic needs an API key"),
        (
            "run hi -m test/x --base-url http://127.0.0.1:9/v1",
            "test cannot be reached at 127.0.0.1:9",
        ),
        ("certify gpt", "'gpt' is not the address of a model"),
        ("certify nowhere/model", "there is no provider 'nowhere'"),
        ("certify openai/gpt-5", "openai needs an API key"),
        ("certify echo/nope", "there is no model 'echo/nope'"),
        # Texts that cannot be judged.
        (JUDGE + "a.md", "2 to 10 texts, not 1"),
        (JUDGE + "a.md a.md", "a.md is named twice"),
        (JUDGE + "a.md copy.md", "are the same text"),
        (JUDGE + "a.md empty.md", "empty"),
        (JUDGE + "a.md b.md --judges 1", "judges is 1"),
        (JUDGE + "a.md b.md --judge-model nobody/none", "nobody"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence_and_writes_nothing(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, command: str, said: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(inside.folder / "cache"))
    (inside.folder / "binary.md").write_bytes(b"\x00\x01\xff")
    (inside.folder / "own").mkdir(exist_ok=True)
    for name, text in (
        ("a.md", "One."),
        ("b.md", "Two."),
        ("copy.md", " One.\n\n"),
        ("empty.md", " \n"),
        ("front.md", "---\nmax_words: [\n---\nx\n"),
        ("many.md", "---\nmax_words: many\n---\nWrite.\n"),
        ("own/critic.md", "{{ nonsense }}"),
    ):
        inside.write(name, text)
    before = {*inside.folder.rglob("*")}
    refused = inside(*shlex.split(command))
    assert refused.status == 2
    assert said in refused.sentence
    assert {*inside.folder.rglob("*")} == before


@cases(
    ("command", "said"),
    [
        (RUN + "--judges many", "'--judges': 'many' is not a valid integer"),
        (RUN + "--protocol strict", "'--protocol': 'strict' is not one of 'robust', 'paper'"),
        (RUN + "--effort huge", "'--effort': 'huge' is not one of 'none', 'minimal'"),
        (RUN + "--cost-limit much", "'--cost-limit': 'much' is not a sum of money"),
        (RUN + "--cost-limit 1e999", "--cost-limit is 1E+999; give at most 1,000,000,000,000"),
        (RUN + "--time-limit soon", "'--time-limit': 'soon' is not a time"),
        (RUN + "--format rtf", "'--format': 'rtf' is not one of 'markdown', 'plain', 'json'"),
        (RUN + "--seed nan", "'--seed': 'nan' is not a valid integer."),
        (RUN + "--seed -1", "-1 is not in the range x>=0."),
        (RUN + "--progress loud", "'loud' is not one of"),
        ("runs -n 0", "0 is not in the range 1<=x<=1000000."),
        ("runs --since yesterday-ish", "is not a moment; write a date as 2026-11-15"),
        ("runs --since 999999w", "is not a moment"),
        ("runs --html x", "No such option '--html'"),
        ("runs --search x delete last", "unexpected extra arguments (delete last)"),
        ("export --pairs - --min-agreement 1.5", "1.5 is not in the range 0<=x<=1."),
        ("rnu x", "No such command 'rnu'. Did you mean run"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_by_its_option(
    inside: Inside, command: str, said: str
) -> None:
    refused = inside(*command.split())
    assert refused.status == 2
    assert said in refused.err
