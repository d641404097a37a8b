"""`python -m skillopt` is the command line."""

from skillopt.cli import main

if __name__ == "__main__":
    main()
