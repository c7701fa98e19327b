"""awscli for many calls. To load it takes longer than most calls, so that is done once: each line of the input is
a JSON list of arguments, and is run by a process of its own that is forked from this one. Answers each with a line of
JSON: the exit code, and all that was printed. Run by the Python that awscli is installed for."""

import json
import os
import signal
import sys
import tempfile

from awscli.clidriver import AWSCLIEntryPoint


LONGEST_S = 120


def call(arguments, output):
    """In the forked process: what /usr/bin/aws does. Does not return."""
    signal.alarm(LONGEST_S)  # ends it
    code = 1
    try:
        for descriptor in (1, 2):
            os.dup2(output.fileno(), descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.argv = ["aws", *arguments]
        code = AWSCLIEntryPoint().main(arguments)
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)


def main():
    for line in sys.stdin:
        with tempfile.TemporaryFile() as output:
            child = os.fork()
            if child == 0:
                call(json.loads(line), output)
            _, status = os.waitpid(child, 0)
            output.seek(0)
            print(json.dumps([os.waitstatus_to_exitcode(status), output.read().decode()]), flush=True)


if __name__ == "__main__":
    main()
