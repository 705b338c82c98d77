"""All attacks, by what they are after."""

from __future__ import annotations

from tests.programs.sandbox.attacks.attack import Attack
from tests.programs.sandbox.attacks.programs.files import FILES
from tests.programs.sandbox.attacks.programs.interference import INTERFERENCE
from tests.programs.sandbox.attacks.programs.kernel import KERNEL
from tests.programs.sandbox.attacks.programs.network import NETWORK
from tests.programs.sandbox.attacks.programs.others import OTHERS
from tests.programs.sandbox.attacks.programs.resources import RESOURCES
from tests.programs.sandbox.attacks.programs.secrets import SECRETS
from tests.programs.sandbox.attacks.programs.survival import SURVIVAL
from tests.programs.sandbox.attacks.programs.verdicts import VERDICTS

CATALOGUE: dict[str, tuple[Attack, ...]] = {
    "secrets": SECRETS,
    "other processes": OTHERS,
    "files": FILES,
    "network": NETWORK,
    "resources": RESOURCES,
    "survival": SURVIVAL,
    "verdicts": VERDICTS,
    "interference": INTERFERENCE,
    "kernel": KERNEL,
}

ATTACKS = tuple(attack for attacks in CATALOGUE.values() for attack in attacks)
