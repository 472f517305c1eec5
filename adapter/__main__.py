"""`loadline-adapter`: flags to a command, and its exit code. Nothing else happens here."""

import sys
from importlib.metadata import version

DISTRIBUTION = "loadline-autoscaler"


def main() -> None:
    """Serve, or do what the first word says."""
    match sys.argv[1:]:
        case ["check", *rest]:
            # Imported late, all of them: no command pays for another one's libraries.
            from adapter.commands.check import check

            sys.exit(check(rest))
        case ["explain", *rest]:
            from adapter.commands.explain import explain

            sys.exit(explain(rest))
        case ["--version"]:
            print(f"loadline-adapter {version(DISTRIBUTION)}")
        case arguments:
            from adapter.commands.server import serve

            sys.exit(serve(arguments, version=version(DISTRIBUTION)))


if __name__ == "__main__":
    main()
