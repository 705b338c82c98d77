"""What a resumed or forked run takes along of the servers it was begun at."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from autoreason.run.choices import change_servers
from autoreason.settings import Models, make_settings

ACME, OPENAI = (Models.everywhere(f"{name}/x") for name in ("acme", "openai"))
MIXED = replace(ACME, judges=("openai/y",))
HERE, THERE = "http://here.example", "http://there.example"


@pytest.mark.parametrize(
    ("models", "recorded", "after", "given", "url"),
    [
        pytest.param(ACME, HERE, ACME, None, {"acme": HERE}, id="goes on"),
        pytest.param(ACME, HERE, OPENAI, None, None, id="not to another provider"),
        pytest.param(ACME, HERE, MIXED, None, {"acme": HERE}, id="not to a provider added"),
        pytest.param(ACME, HERE, ACME, THERE, THERE, id="another for the one"),
        pytest.param(
            ACME,
            HERE,
            MIXED,
            {"openai": THERE},
            {"acme": HERE, "openai": THERE},
            id="one more",
        ),
        pytest.param(ACME, None, OPENAI, None, None, id="none"),
        pytest.param(MIXED, HERE, MIXED, None, HERE, id="still in doubt"),
        pytest.param(MIXED, HERE, OPENAI, None, None, id="doubt is not settled by a change"),
        pytest.param(MIXED, HERE, MIXED, {"acme": HERE}, {"acme": HERE}, id="doubt is settled"),
    ],
)
def test_a_server_stays_with_its_provider(
    models: Models, recorded: str | None, after: Models, given: Any, url: Any
) -> None:
    before = make_settings(models, 1, base_url=recorded)
    assert (
        change_servers(before, after, {"base_url": given, "allow_http": False})["base_url"] == url
    )


@pytest.mark.parametrize(
    ("after", "given", "flag", "allowed"),
    [
        (ACME, None, False, True),
        (ACME, THERE, False, False),
        (ACME, THERE, True, True),
        (OPENAI, None, False, False),
        (MIXED, {"openai": THERE}, False, False),
    ],
)
def test_consent_to_plain_http_is_for_what_it_was_given_for(
    after: Models, given: Any, flag: bool, allowed: bool
) -> None:
    before = make_settings(ACME, 1, base_url=HERE, allow_http=True)
    found = change_servers(before, after, {"base_url": given, "allow_http": flag})
    assert found["allow_http"] is allowed
