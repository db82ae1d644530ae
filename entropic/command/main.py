"""The command ``entropic``: its arguments, its errors and its exit code.

Only what arguments need is imported here; a subcommand's own libraries are loaded once it is known.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from contextlib import contextmanager

BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


def main(argv=None):
    """Run the command.

    Parameters
    ----------
    argv : list of str or None
        Arguments; None takes those of the process.

    Returns
    -------
    int
        0; 2 for bad input, after one line on standard error; 130 when interrupted.
    """
    try:
        if hasattr(sys.stdout, "reconfigure"):  # a table is UTF-8, whatever the terminal is
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
        if hasattr(sys.stderr, "reconfigure"):
            sys.stderr.reconfigure(errors="backslashreplace")
        with _interrupts_end_the_process():
            from .options import parser

            options = parser().parse_args(argv)
            # each subcommand is a function in a module of its name
            name = options.command
            run = getattr(importlib.import_module(f"{__package__}.{name}"), name)
        run(options)
        sys.stdout.flush()
    except SystemExit as done:  # --help and --version
        return done.code or 0
    except BrokenPipeError:
        # nobody reads on: neither may the interpreter's last flush fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except MemoryError as error:
        return _complain(str(error) or "the machine's memory does not suffice.", BAD_INPUT)
    except ModuleNotFoundError as error:
        name = error.name.partition(".")[0]
        extra = "plot" if name == "matplotlib" else "cli"
        message = f"{name} is missing; pip install 'entropic-classifier[{extra}]' brings it."
        return _complain(message, BAD_INPUT)
    except (ValueError, OSError) as error:
        return _complain(str(error), BAD_INPUT)
    return 0


@contextmanager
def _interrupts_end_the_process():
    """While libraries load, Ctrl-C ends the process at once.

    An exception raised in the middle of an import may be swallowed there, or come out as another
    one; nothing is open yet that would have to be closed.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_):
        os.write(2, b"entropic: interrupted\n")
        os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _complain(message, code):
    print(f"entropic: {' '.join(message.split())}", file=sys.stderr)
    return code
