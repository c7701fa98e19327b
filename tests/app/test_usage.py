"""What the real program says about its own use: wrong command lines, help, versions."""

import re
import subprocess

import pytest
from test_command_line import ROOT, weir


@pytest.mark.parametrize("arguments,message", [
    (["rnu"], "unknown command 'rnu' of 'weir', did you mean 'run'?"),
    (["run", "--lisen", "x"], "unknown flag '--lisen' of 'weir run', did you mean '--listen'?"),
    (["run", "--lisen=x"], "did you mean '--listen'?"),
    (["run", "--cluster-keyfile", "x"], "did you mean '--cluster-key-file'?"),
    (["quota", "lst"], "unknown command 'lst' of 'weir quota', did you mean 'list'?"),
    (["status", "everything"], "unknown argument 'everything' of 'weir status'"),
    (["--verbose"], "unknown flag '--verbose' of 'weir'"),
    (["quota", "get"], "name is required\n(see 'weir quota get --help')"),
    (["run", "--workers"], "--workers needs a value"),
    (["validate"], "say what to validate"),
    (["quota", "set", "a"], "say what to change, like --rate 200r/s"),
    (["quota", "set", "a", "--absent", "--rate", "1r/s"], "--absent stands alone"),
    (["status", "--admin", "nowhere"], "--admin: 'nowhere' is not an address"),
    (["status", "-o", "xml"], "--output: 'xml' must be table or json"),
    (["quota", "set", "a", "--expires", "yesterday"], "--expires: 'yesterday' must be a time from now on"),
    (["quota", "set", "a", "--rate", "1r/s", "--expires", "-1h"], "--expires: '-1h' must be a time"),
    (["quota", "set", "a", "--rate", "1r/s", "--expires", "400d"], "at most 366d, or never"),
    (["quota", "apply", "x.yaml", "--expires", "0s"], "--expires: '0s' must be a time from now on"),
    (["help", "quota", "ste"], "unknown command 'ste' of 'weir quota', did you mean 'set'?"),
    (["validate", "-o", "xml", "x.yaml"], "--output: 'xml' must be text, json or github"),
    (["help", "rnu"], "unknown command 'rnu' of 'weir', did you mean 'run'?"),
    (["run", "--config", ""], "--config: must not be empty"),
    (["validate", "--strict=", "x.yaml"], "--strict takes no value"),
    (["quota", "get", "--history=", "shop"], "--history takes no value"),
    (["run", "--config=", "--upstream", "http://127.0.0.1:1"], "--config: must not be empty"),
    (["status", "--admin-token-file="], "--admin-token-file: must not be empty"),
    (["status", "--output="], "--output: '' must be table or json"),
    (["quota", "set", "a", "--rate", "1r/s", "--expires", ""], "must not be empty"),
    (["quota", "set", "a", "--rate", "1r/s", "--who", ""], "--who: must not be empty"),
    (["quota", "rm", "a", "--expires", ""], "a removal does not end by itself"),
])
def test_a_wrong_command_line_exits_2_and_says_what_was_meant(arguments, message):
    done = weir(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("flag", [["--cluster-insecure", ""], ["--cluster-insecure="]])
def test_a_flag_that_is_left_empty_does_not_switch_anything_on(flag):
    given = ["validate", "--upstream", "http://127.0.0.1:1", "--cluster-listen", "127.0.0.1:1"]
    assert weir(*given, "--cluster-insecure").returncode == 0
    done = weir(*given, *flag)
    assert done.returncode == 1
    assert "--cluster-insecure: '' is neither true nor false" in done.stderr


@pytest.mark.parametrize("arguments", [["simulate", "x.yaml"], ["top"], ["inject"]])
def test_commands_of_later_versions_say_so(arguments):
    done = weir(*arguments)
    assert done.returncode == 2
    assert "is not in this version" in done.stderr


def test_without_a_command_the_help_is_shown():
    done = weir()
    assert done.returncode == 2 and "Examples:" in done.stderr


@pytest.mark.parametrize("arguments,text", [
    (["--help"], "weir quota set"),
    (["run", "--help"], "--cluster-key-file"),
    (["quota", "set", "--help"], "Only what is named changes"),
    (["quota", "--help"], "list"),
    (["validate", "-h"], "opens no socket"),
])
def test_help_teaches_and_exits_0(arguments, text):
    done = weir(*arguments)
    assert done.returncode == 0 and text in done.stdout and done.stderr == ""


@pytest.mark.parametrize("arguments", [["version"], ["--version"], ["-V"]])
def test_version_names_commit_compiler_and_build(arguments):
    done = weir(*arguments)
    assert done.returncode == 0 and done.stderr == ""
    rows = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert list(rows) == ["weir", "commit", "compiler", "build"]
    head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True).stdout
    assert re.fullmatch("[0-9a-f]{12}", rows["commit"]) or not head
    assert rows["compiler"].split()[0] in ("g++", "clang") and rows["build"] != ""


@pytest.mark.parametrize("path", [[], ["run"], ["quota"], ["quota", "set"], ["version"]])
def test_help_of_a_command_is_asked_for_in_two_ways_and_names_the_whole_command(path):
    help_of, flag = weir("help", *path), weir(*path, "--help")
    assert help_of.returncode == flag.returncode == 0
    assert help_of.stdout == flag.stdout
    assert f"Usage: {' '.join(['weir', *path])} [OPTIONS]" in help_of.stdout


def test_the_help_shows_the_values_that_a_setting_may_have():
    text = " ".join(weir("run", "--help").stdout.split())
    assert "[off; possible: off, limited, all]" in text
    assert "[0; possible: 0 to 64]" in text
