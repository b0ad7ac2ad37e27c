"""``firth``: the verbs, and how failures are reported."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Callable
from typing import Any, cast

import typer

from firthian._version import __version__
from firthian.cli.help import Verb, Verbs, usage_error
from firthian.cli.options import escaped_json
from firthian.cli.streams import prepared_streams
from firthian.disk.stopping import Interrupted
from firthian.errors import FirthianError, from_os_error
from firthian.runtime.table import visible

app = typer.Typer(
    name="firth",
    cls=Verbs,
    help="Count a corpus once, then train word vectors with any count-based model.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

#: The modules that register verbs; each imports the library only when its verb runs.
_MODULES = (
    "count", "train", "query", "evaluate", "compare", "regress", "change", "associate", "adapt", "encode", "map", "info",
    "convert", "compress", "search", "datasets", "demo",
)  # fmt: skip

#: The exit code after Ctrl-C: 128 plus the number of the signal.
_INTERRUPTED = 130


def _version(requested: bool) -> None:
    if requested:
        print(f"firth {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


for _module in _MODULES:
    importlib.import_module(f"firthian.cli.{_module}")
for _typer in (app, *(group.typer_instance for group in app.registered_groups)):
    for _command in _typer.registered_commands if _typer is not None else ():
        _command.cls = Verb


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code: 0 for success, 2 for user errors, 130 or 143 if interrupted."""
    arguments = sys.argv[1:] if arguments is None else arguments
    with prepared_streams():
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    try:
        result: Any = app(arguments, prog_name="firth", standalone_mode=False)
        if result == _INTERRUPTED:
            # Some releases of typer return this code, others raise.
            raise KeyboardInterrupt
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except FirthianError as error:
        message, hint = error.render(spelling(arguments))
    except (BrokenPipeError, SystemExit) as error:
        # The reader of our output closed the pipe, as `head` does: not an error. Typer may notice first, and exits.
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        sys.stdout = None
        return 0
    except OSError as error:
        known = from_os_error(error)
        message, hint = known.message, known.hint
    except (Interrupted, KeyboardInterrupt, typer.Abort) as error:
        hint = f"progress is saved; resume with: {_resuming(arguments)}" if _can_resume(arguments) else ""
        _complain("interrupted", hint)
        return error.code if isinstance(error, Interrupted) else _INTERRUPTED
    except MemoryError:
        message, hint = "the memory of this machine is not enough", "pass less at once, or use a larger machine"
    except Exception as error:
        if not hasattr(error, "format_message") or not hasattr(error, "exit_code"):
            raise
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError" and context is not None:
            # A verb without arguments prints its help.
            print(context.get_help())
            return 0
        message, hint = usage_error(error, _verb(arguments)[0])
    _complain(message, hint, as_json="--json" in arguments)
    return 2


def _verb(arguments: list[str]) -> tuple[str, list[Any]]:
    """Return the verb of a command, such as ``firth datasets list``, and its parameters."""
    name, command = "firth", cast(Any, typer.main.get_command(app))
    for argument in arguments:
        if argument in getattr(command, "commands", ()):
            name, command = f"{name} {argument}", command.commands[argument]
    return name, list(command.params)


def _can_resume(arguments: list[str]) -> bool:
    """Return whether the interrupted command can be resumed; a stream always resumes by itself."""
    typed = {argument.partition("=")[0] for argument in _flags(arguments)}
    return not typed & {"--stream", "--dry-run"} and any(
        "--resume" in parameter.opts for parameter in _verb(arguments)[1]
    )


#: Parameters that have other names in scikit-learn estimators.
_OTHER_NAMES = {"C": "cost", "n_jobs": "workers", "random_state": "seed"}


def spelling(arguments: list[str]) -> Callable[[str, str | None], str]:
    """Return a function that spells a Python option the way the user of this command line types it."""
    parameters = {parameter.name: parameter for parameter in _verb(arguments)[1]}
    typed = {argument.partition("=")[0].replace("-", "_") for argument in _flags(arguments)}

    def spell(name: str, value: str | None) -> str:
        parameter = parameters.get(_OTHER_NAMES.get(name, name))
        assigned = name if value is None else f"{name}={value}"
        if parameter is None or (name in typed and "settings" in parameters):
            return f"--set {assigned}" if "settings" in parameters else assigned
        if parameter.param_type_name == "argument":
            return str(parameter.metavar or name.upper())
        flag = next((flag for flag in parameter.opts if flag.replace("-", "_") in typed), parameter.opts[-1])
        return str(flag) if value is None or parameter.is_flag else f"{flag} {value}"

    return spell


def _resuming(arguments: list[str]) -> str:
    """Return the command that resumes the run, ready to paste."""
    flags = _flags(arguments)
    resume = [] if "--resume" in flags else ["--resume"]
    return shlex.join(["firth", *flags, *resume, *arguments[len(flags) :]])


def _flags(arguments: list[str]) -> list[str]:
    """Return the arguments before ``--``, which may be flags."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _complain(message: str, hint: str, as_json: bool = False) -> None:
    if as_json:
        print(escaped_json({"error": message, "hint": hint}), file=sys.stderr)
    else:
        text = f"{message}: {hint}" if hint else message
        print(f"firth: {visible(' '.join(text.split()))}", file=sys.stderr)
