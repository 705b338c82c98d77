"""The README as a package index shows it: what points into the repository points to its address there.

Hatchling calls this when it builds. The address is that of the repository whose workflow publishes; a build elsewhere
knows none, and names files without linking them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


def with_addresses(text: str, repository: str, tag: str) -> str:
    """A page in Markdown with every relative link made absolute, or without links where there is no repository."""

    def link(found: re.Match[str]) -> str:
        picture, label, path = found.groups()
        if not repository:
            return "" if picture else label
        kind = "raw" if picture else "blob"
        return f"{picture}[{label}]({repository}/{kind}/{tag}/{path})"

    return _LINK.sub(link, text)


class ReadmeHook(MetadataHookInterface):
    """Gives the package its long description."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README to what is known of the package."""
        text = Path(self.root, "README.md").read_text("utf-8")
        name, server = os.environ.get("GITHUB_REPOSITORY"), os.environ.get("GITHUB_SERVER_URL")
        repository = f"{server}/{name}" if name and server else ""
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_addresses(text, repository, f"v{metadata['version']}"),
        }
