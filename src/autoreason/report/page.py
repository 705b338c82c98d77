"""One self-contained page: styles and scripts inside, nothing from a network, and no text on it acts."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from autoreason.characters import for_xml, in_markup
from autoreason.report.numbers import capital, count

if TYPE_CHECKING:
    from jinja2 import Environment

ASSETS = Path(__file__).parent / "assets"
_NOTES = re.compile(r"/\*(?s:.*?)\*/|^\s*//.*|^\s+", re.MULTILINE)
_SPACES = re.compile(r"\n|(?<=[:,]) | (?=\{)")
_SPELLED_OUT = re.compile(r"<(U\+[0-9A-F]{4})>")


def fill_page(template: Path, *, title: str, styles: Sequence[Path] = (), **values: object) -> str:
    """The page of a template, with the style and the script that are named like it and stand beside it."""
    sheets = (ASSETS / "base.css", *styles, template.with_suffix(".css"))
    script = "\n".join(map(read_asset, (ASSETS / "base.js", template.with_suffix(".js"))))
    return fill(
        ASSETS / "page.html",
        title=title,
        style=Markup(_SPACES.sub("", "\n".join(map(read_asset, sheets)))),
        script=Markup(script),
        digest=b64encode(sha256(script.encode()).digest()).decode(),
        main=Markup(_render(template, {"title": title, **values})),
    )


def fill(template: Path, **values: object) -> str:
    """HTML from a template; of the values only `Markup` is taken as HTML."""
    return spell_out(_render(template, values))


def spell_out(html: str) -> str:
    """HTML without signs that reorder a text or steer a terminal, which escaping alone would leave."""
    return _SPELLED_OUT.sub(r"&lt;\1&gt;", for_xml(html))


def _render(template: Path, values: dict[str, object]) -> str:
    return _environment(template.parent).get_template(template.name).render(values)


def link_to(page: str, url: str, name: str) -> str:
    """A page with a link at its top, to one beside it."""
    brand = "<b>autoreason</b>"
    return page.replace(brand, f'{brand}<a href="{in_markup(url)}">{in_markup(name)}</a>', 1)


@cache
def read_asset(path: Path) -> str:
    """A style or a script of ours, without what is there for who changes it."""
    return _NOTES.sub("", path.read_text("utf-8")).strip()


@cache
def _environment(folder: Path) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    house = Environment(
        loader=FileSystemLoader([folder, ASSETS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    house.filters["capital"] = capital
    house.globals["count"] = count
    return house
