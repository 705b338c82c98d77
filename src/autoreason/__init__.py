"""Autoreason makes a language model's draft as good as it can get, and knows when to stop."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoreason import errors as errors
    from autoreason import events as events
    from autoreason import extend as extend
    from autoreason import testing as testing
    from autoreason._api import *  # noqa: F403
    from autoreason._api import __version__ as __version__

    __all__: list[str]
else:
    from importlib import import_module

    def __getattr__(name):
        """A public name. All are imported when the first is used, so that `import autoreason` is quick."""
        if name in ("errors", "events", "extend", "testing"):
            return import_module(f"autoreason.{name}")
        if name in ("__all__", "__version__") or not name.startswith("_"):
            names = vars(import_module("autoreason._api"))
            if name in names:
                return names[name]
            if name == "__all__":
                return sorted(each for each in names if each[0] != "_" or each == "__version__")
        raise AttributeError(f"module 'autoreason' has no attribute {name!r}")

    def __dir__():
        return __getattr__("__all__")
