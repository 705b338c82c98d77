"""Which model plays which role, and which prompts a run uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from autoreason.errors import InvalidInput
from autoreason.exchange import Model
from autoreason.paths import certificates_folder
from autoreason.prompts import PromptSet, load
from autoreason.settings import DEFAULT_MODEL, Models, Settings, providers_of

_ROLES = ("author", "critic", "synthesizer")


class ModelChoice:
    """Models given as addresses or as objects: the addresses by role, and the objects by address."""

    models: Models

    def __init__(self) -> None:
        self.objects: dict[str, Model] = {}

    @classmethod
    def writing(cls, model: str | Model, options: Mapping[str, Any]) -> Self:
        """`model` in every role that has none of its own."""
        choice = cls()
        choice.models = choice.change(Models.everywhere(choice.address(model)), options)
        return choice

    @classmethod
    def judging(cls, model: str | Model, options: Mapping[str, Any]) -> Self:
        """Judges alone."""
        choice = cls()
        judges = choice._several("judge", options) or (choice.address(model),)
        choice.models = Models.judging(*judges)
        return choice

    def change(self, before: Models, options: Mapping[str, Any]) -> Models:
        """The models of `before`, but for the roles that `options` name."""
        revisers = before.revisers
        if options.get("model") is not None:
            # A job in which only judges are asked stays one.
            every = Models.everywhere if before.author else Models.judging
            address = self.address(options["model"])
            # As many as before: a resumed run has the same candidates.
            before, revisers = every(address), (address,) * len(revisers)
        roles = {role: options.get(f"{role}_model") for role in _ROLES}
        return Models(
            **{
                role: getattr(before, role) if model is None else self.address(model)
                for role, model in roles.items()
            },
            judges=self._several("judge", options) or before.judges,
            revisers=self._several("reviser", options) or revisers,
        )

    def _several(self, role: str, options: Mapping[str, Any]) -> tuple[str, ...]:
        models = options.get(f"{role}_models") or ()
        several = (
            models if isinstance(models, Sequence) and not isinstance(models, str) else [models]
        )
        return tuple(self.address(model) for model in several)

    def address(self, model: str | Model) -> str:
        """The address of a model; an object is remembered under it."""
        if isinstance(model, str):
            if not model.strip():
                raise InvalidInput("the model's address is empty; give provider/model")
            return model
        address: object = getattr(model, "address", None)
        if not isinstance(address, str):
            raise InvalidInput(
                f"a model is given as {type(model).__name__}; give provider/model or a model object"
            )
        self.objects[address] = model
        return address


def change_servers(before: Settings, models: Models, options: Mapping[str, Any]) -> dict[str, Any]:
    """The servers of a run that goes on with other models; consent for one server is not for another."""
    given, recorded, used = options.get("base_url"), before.base_url, providers_of(models.all())
    if given is None and isinstance(recorded, str) and len(used) > 1:
        # It is not known whose it is, and the pool will ask for that before anything is sent.
        given = recorded
    if not isinstance(given, str):
        kept = recorded.items() if isinstance(recorded, dict) else ()
        given = {name: url for name, url in kept if name in used} | (given or {})
    same = (given or None, models) == (recorded, before.models)
    return {
        "base_url": given or None,
        "allow_http": bool(options.get("allow_http")) or (same and before.allow_http),
    }


def choose_prompts(
    settings: Settings, folder: Path | None = None, *, writes: str | None = None
) -> PromptSet:
    """The user's prompts, and the built-in ones for the rest: the short ones where the author is known to need them.

    Where that is not known beforehand, the run finds out (`Strategy.begin_pass`). What a judge failed in says nothing
    about authors: a failed certificate changes the judges' prompt alone.
    """
    author = settings.models.author or settings.models.judges[0]
    prompts = load(folder, small=author == DEFAULT_MODEL, writes=writes)
    return prompts.with_short_judge() if _fails_as_judge(settings) else prompts


def _fails_as_judge(settings: Settings) -> bool:
    """Whether a judge of the panel failed its certificate in something that depends on how it is asked."""
    if not certificates_folder().is_dir():
        return False
    # Certificates need imports that few commands use.
    from autoreason.studies.certify.certificate import find_certificate
    from autoreason.studies.certify.properties import BALLOTS, DEFECTS

    judges = dict.fromkeys(settings.models.judges)
    stored = [find_certificate(judge, settings.server_of(judge)) for judge in judges]
    failed = {name for each in stored if each for name in each.certificate.failed}
    # Other failures, such as a preference for the first position, say nothing about prompts.
    return not failed.isdisjoint((BALLOTS.name, DEFECTS.name))
