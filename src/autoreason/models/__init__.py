"""Ask one model: wire formats, providers, layers around them, the embedded model, doubles."""
