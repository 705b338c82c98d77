"""`python -m autoreason`: the command line."""

from autoreason.cli.__main__ import main

if __name__ == "__main__":
    main()
