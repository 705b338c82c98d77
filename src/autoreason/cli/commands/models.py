"""`autoreason models`: providers, keys and the weights of the embedded model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand, HelpfulGroup, with_flags
from autoreason.errors import InvalidInput
from autoreason.models.examples import with_examples

if TYPE_CHECKING:
    from autoreason.models.pool import ModelPool
    from autoreason.models.providers import Provider
    from autoreason.models.wire import Check


@click.group(cls=HelpfulGroup, default="list")
@with_examples
def models() -> None:
    """Show providers, keys and local models; list and pull.

    A model's address is provider/model. Keys come from the environment or from the key file; they
    are never shown. Without a command, what there is is listed.

    \b
      autoreason models
      autoreason models --certificates
      autoreason models check {model} {local}
      autoreason models check my/model --base-url http://127.0.0.1:8000/v1
      autoreason models pull
    """


@models.command("list", cls=HelpfulCommand, shares="as_json", short_help="What there is to ask.")
@click.argument("model", required=False)
@options.group(
    "What to show",
    options.flag("--certificates", help="What was measured of judges; with MODEL, all of it."),
)
def list_models(model: str | None, certificates: bool, as_json: bool) -> None:
    """Show providers and keys, and the models that run in this process; or certificates of judges."""
    if certificates:
        from autoreason.cli.views.certificates import show_certificates

        show_certificates(model, as_json=as_json)
    elif model:
        raise InvalidInput(
            f"`autoreason models check {model}` says whether {model} can be used; "
            f"`autoreason models --certificates {model}` how it judges"
        )
    else:
        _list(as_json)


@models.command(cls=HelpfulCommand, shares="as_json")
@click.argument("addresses", metavar="MODEL...", nargs=-1, required=True)
@options.group("Options", options.server_option, options.setting("allow_http"))
def check(
    addresses: tuple[str, ...],
    base_url: str | dict[str, str] | None,
    allow_http: bool | None,
    as_json: bool,
) -> int:
    """Reach models without spending a token.

    Exit status 1 where any of them cannot be used.
    """
    from autoreason.models.pool import ModelPool
    from autoreason.settings import servers

    pool = ModelPool(servers(base_url, addresses), allow_http=bool(allow_http))
    return _check(addresses, pool, as_json)


@models.command(cls=HelpfulCommand)
@click.argument("model", default="smollm2")
@click.option("--sha256", default="", metavar="DIGITS", help="What an address must give.")
def pull(model: str, sha256: str) -> None:
    """Fetch a model that runs in this process, once, and check it.

    MODEL is a name of `autoreason models`, the address of a .gguf file with its --sha256, or
    hf:owner/repo/file.gguf for a public file of the Hugging Face hub, which names the SHA-256 itself.
    A pull that was interrupted goes on where it ended.

    \b
      autoreason models pull qwen2.5-coder-1.5b
      autoreason run brief.md -m local/qwen2.5-coder-1.5b
    """
    from autoreason.cli.embedded import pull_weights
    from autoreason.models.weights import model_file

    pull_weights(model_file(model, sha256))


def _list(as_json: bool) -> None:
    from autoreason.cli.config import read_config
    from autoreason.cli.embedded import weights_state
    from autoreason.cli.views.console import stdout_console
    from autoreason.cli.views.outcome import print_json
    from autoreason.models.providers import PROVIDERS, key_file
    from autoreason.models.weights import local_models
    from autoreason.paths import config_file
    from autoreason.report.table import wrap
    from autoreason.settings import DEFAULT_MODEL

    default = read_config().model or DEFAULT_MODEL

    weights, remote = weights_state(), PROVIDERS.values()
    rows: list[dict[str, Any]] = [
        _ECHO,
        *({"provider": each.name, **_key(each), "server": each.base()} for each in remote),
    ]
    if as_json:
        print_json(
            {
                "default": default,
                "local": {"ready": weights.ready, "state": weights.status},
                "local_models": [row._asdict() for row in local_models()],
                "providers": rows,
                "key_file": str(key_file()),
                "config_file": str(config_file()),
            }
        )
        return
    _print_table(rows, weights.status)
    sentences = (
        "",
        f"The default is {default}, whatever keys are set; choose with -m provider/model.",
        f"Keys may also be in {key_file()}, and your own default model and limits in {config_file()}.",
        "",
        "Models that run in this process:",
    )
    for sentence in sentences:
        click.echo("\n".join(wrap(sentence, stdout_console().width)))
    for row in local_models():
        fetch = f"not here: autoreason models pull {row.name}"
        click.echo(f"local/{row.name}  {'here' if row.here else fetch}")
        memory = f"{row.memory} of memory" if row.memory else ""
        about = (row.title, f"{row.bytes // 1_000_000:,} MB", memory, row.licence)
        click.echo(f"  {', '.join(part for part in about if part)}")
        if row.good_for:
            click.echo(f"  good for {row.good_for}")


_INSIDE = "in this process"
_ECHO = {
    "provider": "echo",
    "key": "not needed",
    "message": "echo/echo makes answers up, for trials",
    "server": _INSIDE,
}


def _print_table(rows: list[dict[str, Any]], weights: str) -> None:
    from autoreason.cli.views.console import print_table, stdout_console
    from autoreason.report.table import Column, Table, Tone, words

    local = {"provider": "local", "key": "", "message": weights, "server": _INSIDE}
    tones: dict[str, Tone] = {"set": "good", "unusable": "warning"}
    table = Table(
        [*words("provider", "key"), Column("server", figures=False, least=_LEAST_SERVER)],
        [(row["provider"], row["message"], row["server"]) for row in (local, *rows)],
        tones={row["message"]: tones[row["key"]] for row in rows if row["key"] in tones},
    )
    print_table(stdout_console(), table)


_LEAST_SERVER = 32
"""Columns that show nearly all of them whole next to the names of keys."""


def _key(provider: Provider) -> dict[str, str]:
    """Whether there is a key, never which."""
    from autoreason.models.providers import find_key

    names = " or ".join(provider.key_variables)
    try:
        found = find_key(provider.name, provider.key_variables, needed=False)
    except InvalidInput as problem:
        return {"key": "unusable", "message": str(problem)}
    if found:
        return {"key": "set", "message": f"{names} set"}
    if provider.needs_key:
        return {"key": "missing", "message": f"{names} not set"}
    return {"key": "not needed", "message": "none needed"}


def _check(addresses: tuple[str, ...], pool: ModelPool, as_json: bool) -> int:
    import asyncio

    from autoreason.cli.views.outcome import print_json

    async def reach() -> list[Check]:
        try:
            return await pool.check_all(addresses)
        finally:
            await pool.close()

    checks = asyncio.run(reach())
    if as_json:
        print_json(checks)
    else:
        for check in checks:
            click.echo(f"{'fail' if check.problem else 'ok  '}  {check.address}  {_status(check)}")
    return 1 if any(check.problem for check in checks) else 0


def _status(check: Check) -> str:
    if check.problem:
        return with_flags(click.get_current_context().command, check.problem)
    parts = (
        ("reachable", check.reachable),
        ("no key sent", check.key_sent is False),
        ("key accepted", check.key_accepted),
        ("model known", check.model_known),
    )
    return ", ".join(name for name, true in parts if true) or "runs in this process"
