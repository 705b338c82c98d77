"""A list of runs as a page: where a text is, how it ended, and whether anything is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from autoreason.characters import in_markup
from autoreason.pages.listed import OUTCOMES, Kind, ListedRun, describe_length
from autoreason.report.numbers import count, money
from autoreason.report.page import document
from autoreason.tournament.endings import short_run
from autoreason.wording import KINDS

LIST_MARK = "<!-- a list of runs, by autoreason -->"
"""By which such a page is known when it is written again."""
_ASSETS = Path(__file__).parent / "assets"
_KINDS: dict[Kind, str] = {
    "text": "Texts",
    "program": "Programs",
    "research": "Research",
    "comparison": "Comparisons",
    "judging": "Judging",
}
_MARKS_SHOWN = 12
_TONES = {"good": "good", "warning": "warn", "bad": "bad", "muted": "muted"}


def runs_page(runs: Sequence[ListedRun], addresses: Mapping[str, str]) -> str:
    """A page of these runs, running ones first; `addresses` are those of their pages, by name."""
    ordered = sorted(runs, key=lambda each: each.outcome != "running")
    rows = "\n".join(_row(each, addresses.get(each.run, "")) for each in ordered)
    body = f"""<h1>Runs</h1>
<ul class="facts">{_facts(runs)}</ul>
<div class="filters noprint" role="search" hidden><label class="grow"><span class="vh">Search</span>\
<input type="search" id="words" placeholder="Search title, name or outcome ( / )"></label>
{_filters(runs)}</div>
<ul id="runs" aria-label="Runs">
{rows}
</ul>
<p id="none" class="muted" hidden>No run fits. <button id="clear" class="quiet">Show all</button></p>
<p class="muted small noprint"><span id="count" role="status">{count(len(runs), "run")}</span> · \
<kbd>/</kbd> search, <kbd>j</kbd> <kbd>k</kbd> down and up, <kbd>Enter</kbd> opens</p>"""
    page = document("Runs", body, styles=[_ASSETS / "runs.css"], scripts=[_ASSETS / "runs.js"])
    return f"{page}{LIST_MARK}\n"


def _facts(runs: Sequence[ListedRun]) -> str:
    running = sum(each.outcome == "running" for each in runs)
    known = [each.cost for each in runs if each.cost is not None]
    facts = [f"<b>{len(runs):,}</b> {'run' if len(runs) == 1 else 'runs'}"]
    facts += [f"<b>{running:,}</b> running"] if running else []
    unknown = f", and {count(len(runs) - len(known), 'run')} of unknown cost"
    spent = money(sum(known, Decimal(0)))
    facts.append(f"<b>{spent}</b> spent{unknown if len(known) < len(runs) else ''}")
    return "".join(f"<li><span>{each}</span></li>" for each in facts)


def _filters(runs: Sequence[ListedRun]) -> str:
    kinds = [kind for kind in _KINDS if any(each.kind == kind for each in runs)]
    outcomes = [name for name in OUTCOMES if any(each.outcome == name for each in runs)]
    found = ""
    if len(kinds) > 1:
        buttons = "".join(
            f'<button data-kind="{kind}" aria-pressed="false">{_KINDS[kind]}</button>'
            for kind in kinds
        )
        all_kinds = '<button data-kind="" aria-pressed="true">All</button>'
        found += f'<div class="seg" role="group" aria-label="Kind">{all_kinds}{buttons}</div>'
    if len(outcomes) > 1:
        options = "".join(
            f'<option value="{name}">{OUTCOMES[name][0]}</option>' for name in outcomes
        )
        found += (
            '<label><span class="vh">Outcome</span><select id="outcome">'
            f'<option value="">Any outcome</option>{options}</select></label>'
        )
    return found


def _row(run: ListedRun, address: str) -> str:
    label, tone = OUTCOMES[run.outcome]
    where = f' href="{in_markup(address)}"' if address else ""
    about = " · ".join(filter(None, (run.line.rstrip("."), _words(run), _kept(run))))
    made = run.created.astimezone()
    return (
        f'<li data-kind="{run.kind}" data-outcome="{run.outcome}"><a{where}>'
        f'<span class="outcome {_TONES[tone]}">{label}</span>'
        f'<span class="about"><span class="title">{in_markup(run.title)}</span>'
        f'<span class="line">{in_markup(about)}</span></span>'
        f'<span class="rounds">{_rounds(run)}</span>'
        f'<span class="cost">{_cost(run)}</span>'
        f'<span class="when"><time datetime="{made.isoformat(timespec="minutes")}">'
        f'{made:%-d %b %Y, %H:%M}</time><span class="name">{in_markup(short_run(run.run))}</span></span>'
        "</a></li>"
    )


def _words(run: ListedRun) -> str:
    length = describe_length(run)
    return f"{length} {'word' if run.words == 1 else 'words'}" if length else ""


def _kept(run: ListedRun) -> str:
    return f"limits {run.limits}" if run.limits else ""


def _rounds(run: ListedRun) -> str:
    """Marks, the last ones where there are many, and for those who cannot see them in words."""
    if not run.rounds:
        return f'<span class="muted small">{_KINDS[run.kind].lower()}</span>' * (run.kind != "text")
    words = ", ".join(
        "undecided" if kind is None else "kept" if kind == "kept" else f"{KINDS[kind].name} won"
        for kind in run.rounds
    )
    shown = run.rounds[-_MARKS_SHOWN:]
    marks = "".join(
        f'<span class="glyph {kind}">{KINDS[kind].mark}</span>' if kind else "?" for kind in shown
    )
    more = "…" if len(run.rounds) > len(shown) else ""
    return f'<span role="img" aria-label="Rounds: {words}">{more}{marks}</span>'


def _cost(run: ListedRun) -> str:
    spent = "cost unknown" if run.cost is None else money(run.cost)
    if not run.cost_limit:
        return spent
    share = float((run.cost or Decimal(0)) / run.cost_limit)
    full = " full" if share >= 1 else ""
    return (
        f'{spent} <span class="muted">of {money(run.cost_limit)}</span>'
        f'<span class="meter{full}"><i style="width:{min(1, share):.0%}"></i></span>'
    )
