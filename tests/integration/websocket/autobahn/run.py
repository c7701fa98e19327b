"""Runs Autobahn's program `wstest` with the packages of the folder that is named first. For Python 2.7, which is
all that Autobahn's suite runs on."""

import site
import sys

site.addsitedir(sys.argv.pop(1))

from autobahntestsuite import wstest  # noqa: E402

wstest.run()
