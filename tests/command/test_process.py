"""The command as a process: signals, pipes, devices, and what it loads."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from command_files import COMMAND, as_csv, mixed_rows

pytestmark = pytest.mark.one_backend


@pytest.mark.parametrize("absent", ["pyarrow", "clevercsv"])
def test_what_is_missing_is_one_line_that_says_what_brings_it(write, absent):
    path = write(as_csv(mixed_rows()))
    program = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(name, *_):\n"
        f"        if name.split('.')[0] in ({absent!r}, 'pandas'):\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Absent)\n"
        "from entropic.command.main import main\n"
        f"sys.exit(main(['fit', {path!r}, '--target', 'y']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"entropic: {absent}") and done.stderr.count("\n") == 1
    assert "pip install 'entropic-classifier[cli]'" in done.stderr


def test_the_process_fails_with_one_line(model):
    done = subprocess.run([*COMMAND, "predict", model, "absent"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1


def test_a_reader_that_leaves_is_no_error(write, model):
    rows = write(as_csv(mixed_rows()))
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*COMMAND, "predict", model, rows], stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_full_device_is_one_line(write, model):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    rows = write(as_csv(mixed_rows()))
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "predict", model, rows], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr.startswith("entropic: ") and done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_an_interruption_is_answered_and_leaves_nothing(write, tmp_path):
    rng = np.random.default_rng(0)
    rows = [[*row, int(label)] for row, label in zip(
        rng.normal(size=(4000, 40)).round(3), rng.random(4000) < 0.5, strict=True
    )]  # fmt: skip
    path = write(as_csv(rows, [f"x{j}" for j in range(40)] + ["y"]))
    model = tmp_path / "m"
    process = subprocess.Popen(
        [*COMMAND, "fit", path, "--target", "y", "--degree", "2", "--verbose", "--tol", "0",
         "--max-iter", "1000000", "--solver", "spectral", "--model", str(model)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stderr.readline()  # the first step: the fit is under way
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    answered = time.monotonic() - sent
    assert process.returncode == 130 and out == ""
    assert error.splitlines()[-1] == "entropic: interrupted"
    assert not model.exists() and len(list(tmp_path.iterdir())) == 1
    assert answered < 10  # a second on a quiet machine


# Says when the first of its imports begins.
ENDLESS = """
import sys
from entropic.command.main import main

class Watch:
    def find_spec(self, name, *_):
        if name == "entropic.command.options":
            print("under way", flush=True)

sys.meta_path.insert(0, Watch())
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.2, 0.5, 1.0, 1.5, 4.0])
def test_an_interruption_while_libraries_load_is_one_line(write, seconds):
    X = np.random.default_rng(0).normal(size=(20000, 20)).round(2)
    names = [*(f"x{column}" for column in range(20)), "y"]
    path = write(as_csv([[*row, index % 2] for index, row in enumerate(X)], names))
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, "fit", path, "--target", "-1", "--degree", "3",
         "--tol", "0", "--max-iter", "1000000", "--solver", "spectral"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (130, "", "entropic: interrupted\n")


@pytest.mark.parametrize(
    "arguments", [["--version"], ["fit", "--help"], ["fit"], ["fit", "x", "--degree", "one"]]
)
def test_arguments_are_answered_before_any_library_is_loaded(arguments):
    script = (
        "import sys; from entropic.command.main import main; main(sys.argv[1:]); "
        "sys.exit(str(set(sys.modules) & {'numpy', 'scipy', 'sklearn'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == "set()"
