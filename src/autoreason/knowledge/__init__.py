"""A folder of the user's own records: read, searched and counted, without a model."""
