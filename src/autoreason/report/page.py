"""One self-contained page: styles and scripts inside, nothing from a network, and no text on it acts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from autoreason.characters import in_markup

ASSETS = Path(__file__).parent / "assets"
_BASE = (ASSETS / "base.css", ASSETS / "base.js")


def document(
    title: str,
    body: str,
    *,
    styles: Sequence[Path] = (),
    scripts: Sequence[Path] = (),
    links: Sequence[tuple[str, str]] = (),
) -> str:
    """A page around `body`, which is safe HTML; `links` are addresses and names at its top, of the pages beside it."""
    style = "\n".join(map(read_asset, (_BASE[0], *styles)))
    script = "\n".join(map(read_asset, (_BASE[1], *scripts)))
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    beside = "".join(f'<a href="{in_markup(url)}">{in_markup(name)}</a>' for url, name in links)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{in_markup(title)}</title><style>{style}</style></head><body>",
            '<a class="skip" href="#main">To the content</a>',
            f'<header class="top"><div><b>autoreason</b>{beside}'
            '<button id="theme" class="quiet" aria-label="Light or dark">◐</button></div></header>',
            f'<main id="main">{body}</main>',
            f"<script>{script}</script></body></html>\n",
        ]
    )


def link_to(page: str, url: str, name: str) -> str:
    """A page with one more link at its top."""
    brand = "<b>autoreason</b>"
    return page.replace(brand, f'{brand}<a href="{in_markup(url)}">{in_markup(name)}</a>', 1)


@cache
def read_asset(path: Path) -> str:
    """A style or a script of ours."""
    return path.read_text("utf-8").strip()


@cache
def _digest(script: str) -> str:
    return b64encode(sha256(script.encode()).digest()).decode()
