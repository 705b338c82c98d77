"""Problems in every format they come in, and how an answer is compared."""
