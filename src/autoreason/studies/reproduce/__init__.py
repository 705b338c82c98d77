"""The paper's tables rebuilt from its recorded results, beside what it says of them."""
