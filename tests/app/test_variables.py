"""What weir says about variables that a command does not read."""

import pytest

from test_command_line import weir


@pytest.mark.parametrize("variable, is_told", [("127.0.0.1:9", True), ("0.0.0.0:9901", False), ("unix:/x", True),
                                               ("127.0.0.1:9901", False), ("", False)])
def test_a_variable_that_does_not_say_where_to_ask_is_told(variable, is_told):
    said = weir("status", env={"WEIR_ADMIN": variable}).stderr
    told = "weir: asking 127.0.0.1:9901: WEIR_ADMIN says where a sidecar listens, WEIR_ADMIN_ADDRESS where to ask\n"
    assert (told in said) == is_told, said
    assert told not in weir("status", "--admin", "127.0.0.1:9901", env={"WEIR_ADMIN": variable}).stderr
