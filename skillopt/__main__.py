"""`python -m skillopt` is the command line."""

from skillopt.commands.entry import main

if __name__ == "__main__":
    main()
