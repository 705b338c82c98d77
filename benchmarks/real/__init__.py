"""What the defaults do on a real model, beside the simplest rivals at equal calls."""
