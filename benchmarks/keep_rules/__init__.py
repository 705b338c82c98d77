"""Keep rules of research in worlds where the true effect of every change is known."""
