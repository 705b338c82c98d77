"""Models for tests and trials, without a provider: one follows a script, one generates its answers."""

from autoreason.models.doubles import Answer, EchoModel, Script, ScriptedModel

__all__ = ["Answer", "EchoModel", "Script", "ScriptedModel"]
