"""A key goes to its own provider's server, or to the one the user named for it, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.cli.conftest import BRIEF, NO_END, Shell
from tests.cli.conftest import quick_shell as shell
from tests.cli.server import Server, serving

__all__ = ["shell"]

ROLES = ("--author-model", "--critic-model", "--synthesizer-model")
KEYS = {"OPENAI_API_KEY": "sk-oai", "ANTHROPIC_API_KEY": "sk-ant", "TEST_API_KEY": "sk-test"}
MIXED = ("-m", "test/slow", "--judge-model", "openai/slow", "--judge-model", "anthropic/claude")
FAR = "http://far.example/v1"


@pytest.fixture
def open_server(server: Server) -> Server:
    server.gate.set()
    return server


@pytest.fixture
def second() -> Iterator[Server]:
    with serving() as server:
        server.gate.set()
        yield server


@pytest.mark.parametrize(
    "command",
    [
        ("run", BRIEF, *MIXED),
        ("compare", BRIEF, *MIXED),
        ("judge", BRIEF, "a.md", "b.md", *MIXED),
        ("solve", "p.json", *MIXED),
        ("models", "check", "test/slow", "openai/slow"),
    ],
    ids=lambda command: command[0],
)
def test_one_base_url_is_not_for_several_providers(
    shell: Shell, open_server: Server, command: tuple[str, ...]
) -> None:
    problem = {"id": "p", "statement": "Add.", "public_tests": [{"input": "1", "output": "1"}]}
    for name, text in (("a.md", "One."), ("b.md", "Two."), ("p.json", json.dumps(problem))):
        (shell.home / name).write_text(text)
    done = shell(*command, "--base-url", open_server.url, **KEYS)
    assert done.returncode == 2
    (said,) = done.stderr.splitlines()
    assert "say whose server it is" in said
    assert said.endswith(("--base-url test=URL", "--base-url openai=URL"))
    assert open_server.visits == 0
    assert not shell.journal.exists()


def test_each_provider_is_asked_at_the_server_named_for_it(
    shell: Shell, open_server: Server, second: Server
) -> None:
    named = ("--base-url", f"test={open_server.url}", "--base-url", f"openai={second.url}")
    models = ("-m", "test/slow", "--judge-model", "openai/slow")
    done = shell("run", BRIEF, *models, *named, "--rounds", "1", "-q", **KEYS)
    assert done.returncode == 0
    assert open_server.asked > 0
    assert second.asked > 0
    assert (open_server.keys, second.keys) == ({"sk-test"}, {"sk-oai"})


@pytest.mark.parametrize("command", [("run", BRIEF), ("judge", BRIEF, "a.md", "b.md")])
def test_a_model_that_another_stands_in_for_counts_too(
    shell: Shell, open_server: Server, command: tuple[str, ...]
) -> None:
    for name in "ab":
        (shell.home / f"{name}.md").write_text(f"Text {name}.")
    roles = ["--judge-model"] if command[0] == "judge" else [*ROLES, "--judge-model"]
    others = [word for role in roles for word in (role, "openai/slow")]
    asked = (*command, "-m", "test/slow", *others, "--base-url", open_server.url, "-q")
    done = shell(*asked, **KEYS)
    assert done.returncode == 2
    assert "--base-url test=URL" in done.stderr
    assert open_server.visits == 0


@pytest.mark.parametrize(
    "name",
    ["opena\u0131", "m\u0131stral", "deep\u017feek", "google", "Azure", "OPENAI_API_KEY", "Echo"],
)
def test_no_name_of_a_server_leads_to_another_providers_key(
    shell: Shell, open_server: Server, name: str
) -> None:
    providers = ("OPENAI", "MISTRAL", "DEEPSEEK", "GOOGLE", "AZURE")
    keys = {f"{each}_API_KEY": "sk-home" for each in providers}
    done = shell("run", BRIEF, "-m", f"{name}/x", "--base-url", open_server.url, "-q", **keys)
    assert done.returncode == 2
    assert (open_server.visits, open_server.keys) == (0, set())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("opnai=http://127.0.0.1:9/v1",), "of opnai, which no model here uses"),
        (("http://127.0.0.1:9", "test=http://127.0.0.1:9"), "write provider=URL, once"),
        (("test=http://127.0.0.1:9", "test=http://127.0.0.1:8"), "write provider=URL, once"),
        (("",), "--base-url is empty"),
        (("test=",), "write provider=URL, once"),
        (
            ("http://127.0.0.1:9/v1?api_key=secret",),
            "has a key or a query; put keys into the key file",
        ),
        (("127.0.0.1:9/v1?api_key=secret",), "has a key or a query; put keys into the key file"),
    ],
)
def test_a_base_url_that_leaves_doubt_is_refused(
    shell: Shell, given: tuple[str, ...], said: str
) -> None:
    urls = [word for url in given for word in ("--base-url", url)]
    done = shell("run", BRIEF, "-m", "test/slow", *urls)
    assert done.returncode == 2
    assert said in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize("command", [("run", BRIEF, "-m"), ("certify",), ("models", "check")])
def test_a_key_is_not_sent_unencrypted_to_another_machine_unless_allowed(
    shell: Shell, open_server: Server, command: tuple[str, ...]
) -> None:
    far = (*command, "test/slow", "--base-url", FAR)
    # Whatever leaves this machine goes through the proxy, which is ours.
    around = {"http_proxy": open_server.url, **KEYS}
    done = shell(*far, **around)
    assert done.returncode == (1 if command[0] == "models" else 2)
    said = done.stdout + done.stderr
    assert f"the key for test would go unencrypted to {FAR}" in said
    assert "allow_http" in said.replace("-", "_")
    assert open_server.visits == 0
    if command[0] == "models":
        assert shell(*far, "--allow-http", **around).returncode == 0
        assert open_server.keys == {"sk-test"}


def test_without_a_key_plain_http_is_nobodys_secret_and_no_proxy_is_asked_for_this_machine(
    shell: Shell, open_server: Server, second: Server
) -> None:
    done = shell("models", "check", "test/slow", "--base-url", FAR, http_proxy=open_server.url)
    assert done.returncode == 0
    assert open_server.visits == 1
    check = ("models", "check", "test/slow", "--base-url", open_server.url)
    assert shell(*check, http_proxy=second.url, **KEYS).returncode == 0
    assert (open_server.keys, second.visits) == ({"sk-test"}, 0)


def test_the_environment_may_name_a_server_but_not_an_exposed_one(
    shell: Shell, open_server: Server
) -> None:
    check = ("models", "check", "openai/slow")
    assert shell(*check, OPENAI_BASE_URL=open_server.url, **KEYS).returncode == 0
    assert open_server.keys == {"sk-oai"}
    done = shell(*check, OPENAI_BASE_URL=FAR, http_proxy=open_server.url, **KEYS)
    assert done.returncode == 1
    assert "unencrypted" in done.stdout
    assert open_server.visits == 1


def paused(shell: Shell, server: Server, *more: str) -> None:
    address = ("-m", "test/slow", "--base-url", server.url, *more)
    limits = ("--rounds", "1", "--call-limit", "2", *NO_END)
    done = shell("run", BRIEF, *address, *limits, "-q", **KEYS)
    assert done.returncode == 3


def test_a_run_goes_on_at_the_server_it_was_begun_at(shell: Shell, open_server: Server) -> None:
    paused(shell, open_server)
    before = open_server.asked
    assert shell("resume", "--call-limit", "99", "-q", **KEYS).returncode == 0
    assert open_server.asked > before


@pytest.mark.parametrize("how", [("resume", "--call-limit", "9"), ("fork", "@1", "--round", "0")])
def test_a_server_is_not_handed_on_to_another_provider(
    shell: Shell, open_server: Server, second: Server, how: tuple[str, ...]
) -> None:
    paused(shell, open_server)
    visits = open_server.visits
    here = {**KEYS, "OPENAI_BASE_URL": second.url}
    done = shell(*how, "-m", "openai/slow", "-q", "--rounds", "1", **here)
    assert done.returncode in (0, 3)
    assert (second.keys, open_server.visits) == ({"sk-oai"}, visits)


def test_a_server_that_points_elsewhere_is_refused_with_the_address(
    shell: Shell, open_server: Server, second: Server
) -> None:
    open_server.moved_to = f"{second.url}/models"
    done = shell("run", BRIEF, "-m", "test/slow", "--base-url", open_server.url, **KEYS)
    assert done.returncode == 2
    (said,) = done.stderr.splitlines()
    assert f"test answered 308 and points to {second.url}/models; keys do not follow" in said
    assert (second.visits, shell.journal.exists()) == (0, False)
