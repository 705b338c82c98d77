"""All attacks, by what they are after."""

from __future__ import annotations

from tests.sandbox.attacks.attack import Attack
from tests.sandbox.attacks.programs.files import FILES
from tests.sandbox.attacks.programs.interference import INTERFERENCE
from tests.sandbox.attacks.programs.kernel import KERNEL
from tests.sandbox.attacks.programs.network import NETWORK
from tests.sandbox.attacks.programs.others import OTHERS
from tests.sandbox.attacks.programs.resources import RESOURCES
from tests.sandbox.attacks.programs.secrets import SECRETS
from tests.sandbox.attacks.programs.survival import SURVIVAL
from tests.sandbox.attacks.programs.verdicts import VERDICTS

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
