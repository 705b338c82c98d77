"""What the defaults do on a real model, compared with the simplest rivals at equal calls."""
