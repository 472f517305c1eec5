"""`loadline-adapter`: flags to a command, and its exit code. Nothing else happens here."""

import sys
from importlib.metadata import version

from adapter.commands.check import check

DISTRIBUTION = "loadline-autoscaler"


def main() -> None:
    """Serve, or do what the first word says."""
    match sys.argv[1:]:
        case ["check", *rest]:
            sys.exit(check(rest))
        case ["explain", *rest]:
            from adapter.commands.explain import explain

            sys.exit(explain(rest))
        case ["--version"]:
            print(f"loadline-adapter {version(DISTRIBUTION)}")
        case arguments:
            # Imported late: `check` and `--version` need neither a listener nor a cluster.
            from adapter.commands.server import serve

            sys.exit(serve(arguments, version=version(DISTRIBUTION)))


if __name__ == "__main__":
    main()
