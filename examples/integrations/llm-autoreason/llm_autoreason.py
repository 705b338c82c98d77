"""llm: `llm -m autoreason` refines what a model writes, and autoreason can ask the models of llm."""

from collections.abc import Callable, Iterator
from typing import Any

import llm

from autoreason import refine
from autoreason.extend import OnSignal, Reply, Request, Usage

SPEAKERS = {"system": llm.system, "user": llm.user, "assistant": llm.assistant}


class LlmModel:
    """Asks a model of llm, with its key: `autoreason judge … -m llm_autoreason:LlmModel/NAME`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._model = llm.get_async_model(address.partition("/")[2])

    async def ask(self, request: Request, _on_signal: OnSignal | None = None) -> Reply:
        messages = [SPEAKERS[each.speaker](each.text) for each in request.in_words()]
        wanted = {"max_tokens": request.max_tokens, "temperature": request.temperature}
        known = self._model.Options.model_fields
        options = {name: value for name, value in wanted.items() if name in known}
        response = self._model.prompt(messages=messages, stream=False, options=options)
        text, used = await response.text(), await response.usage()
        return Reply(text=text, usage=Usage(input=used.input, output=used.output))

    async def close(self) -> None: ...


class Refined(llm.Model):
    """What another model of llm writes, refined."""

    model_id, supports_conversation = "autoreason", False

    class Options(llm.Options):
        model: str | None = None
        passes: int = 5
        calls: int = 60

    def execute(self, prompt: llm.Prompt, response: llm.Response, **_: Any) -> Iterator[str]:
        options = prompt.options
        model = f"llm_autoreason:LlmModel/{options.model or llm.get_default_model()}"
        brief = "\n\n".join(filter(None, [prompt.system, prompt.prompt]))
        result = refine(brief, model, passes=options.passes, budget={"calls": options.calls})
        response.response_json = {"run": result.run, "summary": result.summary()}
        yield result.delivered_text


@llm.hookimpl
def register_models(register: Callable[[llm.Model], None]) -> None:
    register(Refined())
