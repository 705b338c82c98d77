"""What a record is worth: rules that read any run, ours or another's, without calling a model."""
