"""How `make docs` makes a site of the pages as they are, and of the docstrings behind `autoreason.__all__`."""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path
from typing import is_typeddict

from sphinx.application import Sphinx
from sphinx.ext.napoleon import GoogleDocstring

import autoreason
from autoreason.run.verbs import option_texts, options_class
from autoreason.version import __version__

project = "autoreason"
release = version = __version__
language = "en"

# The whole repository, so that links between README, docs/ and the others lead to the same places as in the source.
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/integrations/*.md", "paper/*.md"]
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"autoreason {__version__}"
html_copy_source = False

# Docstrings are written like the pages: `code` in single backticks.
default_role = "code"
autodoc_default_options = {"members": True, "undoc-members": True}
autodoc_member_order = "groupwise"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

CONTENTS = """

```{toctree}
:hidden:
:caption: The path

docs/writing
docs/judging
docs/comparing
docs/programs
docs/research
docs/knowledge
docs/laboratory
docs/reference
docs/method
```

```{toctree}
:hidden:
:caption: More on it

docs/models
docs/host
docs/advice
docs/prompts
docs/extending
docs/integrations/index
docs/integrations/inspect-ai
docs/integrations/dspy
docs/integrations/promptfoo
docs/integrations/llm
docs/json
docs/scale
docs/sandbox
```

```{toctree}
:hidden:
:caption: What it rests on

docs/evidence
docs/protocol
docs/real-models
paper/README
docs/benchmarks
```

```{toctree}
:hidden:
:caption: Maintain it

docs/architecture
docs/glossary
docs/dependencies
CONTRIBUTING
SECURITY
CHANGELOG
```
"""


def add_contents(_: Sphinx, page: str, source: list[str]) -> None:
    """Put the contents below the first page, where only the site sees them."""
    if page == root_doc:
        # A brief is not a page of the site; this makes it a file to take home.
        source[0] = source[0].replace("](examples/", "](path:examples/") + CONTENTS


def copy_first_page(app: Sphinx, failure: Exception | None) -> None:
    """Show the first page where no page is named."""
    if failure is None:
        shutil.copy(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


def read_sections(
    _app: Sphinx, what: str, _name: str, _obj: object, _options: object, lines: list[str]
) -> None:
    """Read Args, Returns, Raises and Example of functions; other docstrings have no sections."""
    if what == "function":
        lines[:] = GoogleDocstring(lines).lines()


def leave_out_options(
    _app: Sphinx, _what: str, _name: str, obj: object, _skip: bool, _options: object
) -> bool | None:
    """Leave out what `add_options` puts below: autodoc knows no meaning of a dictionary's keys."""
    return True if is_typeddict(obj) else None


def add_options(_: Sphinx, page: str, source: list[str]) -> None:
    """Put the options of functions below the reference, each with its type, default and meaning."""
    if page != "docs/reference":
        return
    lines = [".. py:currentmodule:: autoreason.extend", ""]
    for function in (getattr(autoreason, name) for name in autoreason.__all__):
        kind = options_class(inspect.unwrap(function)) if inspect.isfunction(function) else None
        if kind is None:
            continue
        parameters = inspect.signature(function).parameters
        lines += [f".. py:class:: {kind.__name__}", "", f"   {kind.__doc__}", ""]
        for name, text in option_texts(kind).items():
            default = parameters[name].default if name in parameters else None
            shown = "" if default is None else f" Default: {default!r}."
            lines += [f"   .. py:attribute:: {name}", "", f"      {text}{shown}", ""]
    block = "\n".join(lines)
    source[0] += f"\n```{{eval-rst}}\n{block}\n```\n"


def shorten_signature(
    _app: Sphinx, what: str, _name: str, obj: object, _options: object, _given: str, returns: str
) -> tuple[str, str] | None:
    """Show the options of a function as one argument: they are listed below."""
    if what != "function" or not hasattr(obj, "aio"):
        return None
    short = inspect.signature(inspect.unwrap(obj))
    return str(short.replace(return_annotation=short.empty)).replace("'", ""), returns


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", read_sections)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-skip-member", leave_out_options)
    app.connect("source-read", add_contents)
    app.connect("source-read", add_options)
    app.connect("build-finished", copy_first_page)
