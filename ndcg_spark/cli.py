"""The command line: the only place with prints to the user, exit codes and log set-up."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

from ndcg_spark.commands import COMMANDS, EXAMPLES, say
from ndcg_spark.ending import as_program, ending, leave, watch
from ndcg_spark.engine.flags import EXIT_CODES, add_flags
from ndcg_spark.engine.progress import listen
from ndcg_spark.engine.running import cause, quiet_logs
from ndcg_spark.errors import (
    NdcgSparkError,
    UsageError,
    nearest,
)
from ndcg_spark.redaction import redacted
from ndcg_spark.tables.write import publications
from ndcg_spark.version import __version__


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code (0 good, 2 usage, 3 input refused, 4 check failed, 1 else).

    Without arguments it is the program itself, with those of the process: a signal ends it within
    five seconds (130 and 143).
    """
    return _program(sys.argv[1:]) if arguments is None else _run(list(arguments))


def command(name: str) -> int:
    """Run one command with the process's arguments: what `jobs/NAME.py` does."""
    return _program([name, *sys.argv[1:]])


def _program(arguments: list[str]) -> int:
    with as_program(_interrupted):
        code = _run(arguments)
        if ending():
            leave(code)
    return code


def _run(arguments: list[str]) -> int:
    verbose = "--verbose" in arguments
    quiet_logs(verbose)
    listen(say)
    try:
        given = _parse(arguments)
        given.pop("run")(given)
    except NdcgSparkError as problem:
        say(f"error: {problem}")
        return problem.exit_code
    except BrokenPipeError:  # `| head` is not an error
        sys.stderr.close()
        return 0
    except KeyboardInterrupt as problem:
        code = int(getattr(problem, "exit_code", 130))
        watch(code)
        _interrupted()
        return code
    except Exception as problem:
        if verbose:
            print(redacted(traceback.format_exc()), file=sys.stderr)
        more = "" if verbose else " (--verbose shows where)"
        say(f"unexpected error: {cause(problem)}{more}")
        return 1
    return 0


def _interrupted() -> None:
    n = publications()
    kept = f"what was published before ({n}) is whole" if n else "nothing was published"
    say(f"interrupted; {kept}")


def _parse(arguments: list[str]) -> dict[str, Any]:
    parser = _Parser(
        prog="ndcg-spark",
        description="Ranking evaluation on Spark",
        allow_abbrev=False,
        epilog=f"ndcg-spark COMMAND --help has a command's options\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ndcg-spark {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for name, (run, job, text) in COMMANDS.items():
        sub = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        sub.set_defaults(run=run)
        sub.add_argument(
            "--verbose", action="store_true", help="show where an unexpected error comes from"
        )
        if job:
            add_flags(sub, job, EXAMPLES.get(name, ""))
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        hint = nearest(arguments[0], COMMANDS)
        raise UsageError(f"unknown command {arguments[0]!r}{hint}; commands: {', '.join(COMMANDS)}")
    given, stray = parser.parse_known_args(arguments)
    values = vars(given)
    name = values.pop("command")
    values.pop("verbose", None)
    if not name:
        parser.print_help()
        raise UsageError(f"give a command: {', '.join(COMMANDS)}")
    if stray:
        job = COMMANDS[name][1]
        flags = ["--config", *(f"--{key.replace('_', '-')}" for key in (job.keys() if job else ()))]
        raise UsageError(f"{name}: unknown argument {stray[0]!r}{nearest(stray[0], flags)}")
    return values
