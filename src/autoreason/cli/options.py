"""The options of a run, in the groups in which help teaches them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from autoreason.cli.fields import LIMITS, Duration, FieldType
from autoreason.cli.help import FieldOption, GroupedOption
from autoreason.field_docs import Field, read_constant

Wrap = Callable[[Any], Any]
"""A decorator as click makes them."""
Spec = tuple[tuple[str, ...], dict[str, Any]]
"""The names and attributes of an option."""
FILE = click.Path(path_type=Path)
FILE.name = "file"
_NAMED = re.compile(r"([^=:/?]+)=(.*)")


def group(heading: str, *options: Spec) -> Wrap:
    """Options under one heading, as one decorator."""

    def wrap(command: Any) -> Any:
        for names, attrs in reversed(options):
            known: dict[str, Any] = {"cls": GroupedOption, "heading": heading}
            command = click.option(*names, **known | attrs)(command)
        return command

    return wrap


def option(*names: str, **attrs: Any) -> Spec:
    """One option, to be put under a heading.

    `--to FOLDER` says the word for its value, too; help that does not say its default gets it.
    """
    flags, _, words = zip(*(name.partition(" ") for name in names), strict=True)
    word = "".join(words)
    default, is_shown = attrs.get("default"), "[default" in attrs.get("help", "")
    if default and not is_shown and "show_default" not in attrs:
        attrs["help"] += f" [default: {default}]"
    return flags, {"metavar": word} | attrs if word else attrs


def flag(*names: str, **attrs: Any) -> Spec:
    """An option without a value."""
    return option(*names, is_flag=True, **attrs)


def file(*names: str, **attrs: Any) -> Spec:
    """An option whose value is a file or a folder."""
    return option(*names, type=FILE, **attrs)


def field_option(field: Field, *names: str, **attrs: Any) -> Spec:
    """An option for a field, named after it unless other names are given."""
    names = names or (f"--{field.name.replace('_', '-')}",)
    if not attrs.get("is_flag"):
        attrs.setdefault("type", FieldType(field))
    return option(*names, cls=FieldOption, field=field, **attrs)


def setting(name: str, *names: str, **attrs: Any) -> Spec:
    """An option for a field of `Settings`."""
    return field_option(Field("autoreason.settings", "Settings", name), *names, **attrs)


def _contract(name: str, *names: str, **attrs: Any) -> Spec:
    return field_option(Field("autoreason.contract", "Contract", name), *names, **attrs)


def _model(role: str, *names: str, **attrs: Any) -> Spec:
    field = Field("autoreason.settings", "Models", role)
    return field_option(field, *names, metavar="ADDRESS", **attrs)


def _limit(name: str, **attrs: Any) -> Spec:
    flag = f"--{LIMITS[name].replace('_', '-')}"
    return field_option(Field("autoreason.settings", "Budget", name), flag, **attrs)


def _default_model() -> str:
    return str(read_constant("autoreason.settings", "DEFAULT_MODEL"))


def default_panel_judges() -> str:
    """How many judges vote over finished texts, as help shows it."""
    return str(read_constant("autoreason.settings", "PANEL_JUDGES"))


def _read_servers(
    _ctx: click.Context, _param: click.Parameter, urls: tuple[str, ...]
) -> str | dict[str, str] | None:
    """A URL alone, or URLs by provider."""
    if not urls:
        return None
    if len(urls) == 1 and not _NAMED.match(urls[0]):
        return urls[0]
    named: dict[str, str] = {}
    for each in urls:
        found = _NAMED.match(each)
        if not found:
            raise click.BadParameter(f"of several, each says whose it is; write provider={each}")
        name, url = found.groups()
        if not url:
            raise click.BadParameter(f"there is no address after {each}; write {each}URL")
        if name in named:
            raise click.BadParameter(f"{name} is given twice; give it once")
        named[name] = url
    return named


effort_option = setting(
    "author_effort",
    "--effort LEVEL",
    help="How much models reason: none, minimal, low, medium, high, xhigh, max.",
    usual=lambda: "the model's own",
)
max_tokens_option = setting("max_tokens", metavar="TOKENS")
judge_temperature_option = setting("judge_temperature", metavar="T")
seed_option = setting("seed", hint="[default: drawn]")
panel_judges_option = setting("judges", help="How many judges vote.", usual=default_panel_judges)
JUDGE = (judge_temperature_option, effort_option, max_tokens_option)
"""How judges are asked."""
style_option = setting("style", metavar="NAME")
batch_option = setting("batch", is_flag=True)
SERVERS = (
    setting("base_url", metavar="[PROVIDER=]URL", multiple=True, callback=_read_servers),
    setting("allow_http", is_flag=True),
)
models_options = group(
    "Models",
    _model(
        "author",
        "-m",
        "--model",
        help="Who plays every role, as provider/model.",
        usual=_default_model,
    ),
    *(_model(role, f"--{role}-model") for role in ("author", "critic", "synthesizer")),
    _model("judges", "--judge-model", "judge_models", multiple=True),
    *SERVERS,
    batch_option,
)
research_models_options = group(
    "Models",
    _model(
        "author",
        "-m",
        "--model",
        help="Who proposes changes, as provider/model.",
        usual=_default_model,
    ),
    _model(
        "judges",
        "--judge-model",
        "judge_models",
        multiple=True,
        help="Who decides where the task has `judge` and the number cannot tell.",
    ),
    *SERVERS,
    max_tokens_option,
    effort_option,
    setting("author_temperature", "--temperature T", "author_temperature"),
    file("--prompts DIR", help="Your own prompts in place of ours."),
    seed_option,
)
text_options = group(
    "What to start from",
    file("--draft", help="A text to improve; without it the author writes one."),
    file("--facts", help="Ground truth for critic, authors and judges."),
)
contract_options = group(
    "Contract, checked by code in every text (also as front matter of the brief)",
    _contract("min_words"),
    _contract("max_words"),
    _contract("sections", "--section", "sections", multiple=True, metavar="HEADING"),
    _contract("must_include", multiple=True, metavar="TEXT"),
    _contract("must_not_include", multiple=True, metavar="TEXT"),
    _contract("format"),
    _contract("checks", "--check", "checks", multiple=True, metavar="FILE.py:NAME"),
)
limit_options = group(
    "Limits over the whole run, resumes included",
    _limit("cost", metavar="USD"),
    _limit("tokens"),
    _limit("calls"),
    _limit("seconds", type=Duration(), metavar="TIME", hint="Write 90s, 30m or 2h."),
)
strategy_options = group(
    "Strategy",
    setting("strategy", metavar="NAME"),
    setting("strategy_options", "--option NAME=VALUE", "strategy_options", multiple=True),
)
draft_options = group("The drafts", setting("drafts"), setting("max_drafts"))
candidate_options = group(
    "The candidates",
    setting("candidates"),
    _model("revisers", "--reviser-model", "reviser_models", multiple=True),
    setting("blind_revision", is_flag=True, default=None),
    setting("subtractive_synthesis", is_flag=True, default=None),
    setting("critic_facts", "--critic-facts/--no-critic-facts", is_flag=True, default=None),
)
stop_options = group(
    "When to stop",
    setting("k", "-k", "k"),
    setting("passes"),
    setting("playoff"),
    flag("--no-playoff", help="Deliver the last A as it stands."),
    setting("confirmation"),
    setting("plateau", metavar="PASSES"),
    setting("plateau_change", metavar="SHARE"),
    setting("stop_rules", "--stop-rule FILE.py:NAME", "stop_rules", multiple=True),
)
panel_options = group(
    "The panel",
    setting("protocol"),
    setting("judges"),
    setting("single_judge", is_flag=True, default=None),
    setting("extra_judges"),
    setting("max_judges"),
    setting("close_margin", metavar="POINTS"),
    style_option,
    setting("voting", metavar="NAME"),
    setting("required_lead", metavar="POINTS"),
    setting("tie_order", metavar="ORDER"),
)
own_prompts_option = file("--prompts DIR", help="Your own prompts in place of ours, by file name.")
_prompts_option = file(
    "--prompts DIR|small",
    help="Your own prompts in place of ours, by file name; or ours in few words, for small models.",
)


def _asking_options(prompts: Spec) -> Wrap:
    return group(
        "How models are asked",
        max_tokens_option,
        effort_option,
        *(setting(f"{role}_effort", metavar="LEVEL") for role in ("author", "critic", "judge")),
        setting("author_temperature", metavar="T"),
        setting("critic_temperature", metavar="T"),
        judge_temperature_option,
        prompts,
        seed_option,
    )


model_options = _asking_options(_prompts_option)
journal_option = group(
    "Record",
    option(
        "--journal URL",
        help="The journal to use: a file, or postgresql://user@host/database."
        " [default: AUTOREASON_JOURNAL or your data folder]",
    ),
)


def _check_page(_ctx: click.Context, _param: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a file that cannot be written before anything is spent."""
    if path is not None:
        from autoreason.files import check_output

        check_output(path, "--html")
    return path


html_option = file(
    "--html", callback=_check_page, help="Also write the report there, as a page for a browser."
)
quiet_option = flag("-q", "--quiet", help="No progress.")
live_option = flag("--no-live", help="One line per step instead of the live view.")
view_options = group(
    "Output",
    file("-o", "--output", help="Write the text there instead of to standard output."),
    flag("--json", "as_json", help="Print one JSON object instead of the text."),
    html_option,
    flag(
        "--fail-on-contract",
        help="Exit status 6 where the text breaks its contract; it is written all the same.",
    ),
    flag("-q", "--quiet", help="No progress and no summary."),
    live_option,
)
_json = flag("--json", "as_json", help="Print JSON.")
json_option = group("Output", _json)
report_options = group("Output", _json, html_option)


judges_options = group(
    "Models",
    _model("judges", "-m", "--model", help="Who judges, as provider/model.", usual=_default_model),
    _model(
        "judges",
        "--judge-model",
        "judge_models",
        multiple=True,
        help="Several of these make a mixed panel.",
    ),
    *SERVERS,
    batch_option,
    *JUDGE,
    file("--facts", help="Ground truth that judges are shown."),
    own_prompts_option,
    seed_option,
)
table_options = group(
    "Output",
    flag("--json", "as_json", help="Print one JSON object instead of the table."),
    html_option,
    quiet_option,
    live_option,
    flag("--dry-run", help="Show what it would take; call nothing."),
)


def _together(*groups: Wrap) -> Wrap:
    """Several groups of options as one decorator, in this order."""

    def wrap(command: Any) -> Any:
        for each in reversed(groups):
            command = each(command)
        return command

    return wrap


_shape = (
    models_options,
    contract_options,
    limit_options,
    draft_options,
    candidate_options,
    stop_options,
    panel_options,
    model_options,
)
run_options = _together(models_options, strategy_options, *_shape[1:], journal_option, view_options)
"""Everything that shapes a run, apart from its text."""
writing_options = _together(*_shape, journal_option, table_options)
"""Everything that shapes the runs of a comparison."""
ASKED = (
    *("max_tokens", "author_temperature", "critic_temperature", "judge_temperature"),
    *("base_url", "allow_http"),
)
"""How models are asked, by the names that settings have for it."""
solving_options = _together(
    models_options, limit_options, _asking_options(own_prompts_option), journal_option
)
"""Everything that shapes how models write programs."""
judging_options = _together(judges_options, limit_options, journal_option, table_options)
"""Everything that shapes a panel over finished texts."""
