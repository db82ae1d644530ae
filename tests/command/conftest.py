"""What tests of the command share: files, and the command run in this process."""

import contextlib
import io

import pytest
from command_files import as_csv, mixed_rows

from entropic.command.main import main


@pytest.fixture
def write(tmp_path):
    """Write a file of text or bytes: its path."""

    def write(content, name="rows.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


@pytest.fixture
def run(capsys):
    """Run the command in this process: exit code, output, error output."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def fails(run, tmp_path):
    """Run what must fail: exit code 2, one line, nothing printed, nothing written."""

    def fails(*arguments):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        code, out, error = run(*arguments)
        assert (code, out) == (2, "")
        assert error.startswith("entropic: ") and error.count("\n") == 1 and error[-1] == "\n"
        after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert before == after
        return error

    return fails


@pytest.fixture(scope="session")
def _model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model"
    rows = path.with_name("rows.csv")
    rows.write_text(as_csv(mixed_rows()))
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["fit", str(rows), "--target", "y", "--model", str(path)]) == 0
    return path.read_bytes()


@pytest.fixture
def model(_model, tmp_path):
    """The path of a model that the command has fitted to ``mixed_rows``."""
    path = tmp_path / "model"
    path.write_bytes(_model)
    return path
