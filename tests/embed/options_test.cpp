#include "embed/options.h"

#include <doctest/doctest.h>

namespace weir::embed {

TEST_CASE("settings are lines of key and value; comments and blank lines are skipped") {
    const auto read = read_settings_lines("# a comment\n\n cluster.name = blue \nworkers=3");
    REQUIRE(read.has_value());
    REQUIRE(read->size() == 2);
    CHECK(read->at(0).key == "cluster.name");
    CHECK(read->at(0).text == "blue");
    CHECK(read->at(0).source == "options.settings: line 3");
    CHECK(read->at(1).text == "3");
}

TEST_CASE("an unknown key names its line and the key that was probably meant") {
    const auto read = read_settings_lines("cluster.name = a\ncluster.nmae = b\n");
    REQUIRE(read.has_error());
    CHECK(read.error().message ==
          "options.settings: line 2: unknown key 'cluster.nmae', did you mean 'cluster.name'?");
}

TEST_CASE("a line without '=' is an error") {
    const auto read = read_settings_lines("cluster.insecure");
    REQUIRE(read.has_error());
    CHECK(read.error().message == "options.settings: line 1: is not 'key = value'");
}

TEST_CASE("options whose size was not set are refused") {
    weir_options options = WEIR_OPTIONS_INIT;
    CHECK(to_source(options).has_value());
    options.size = 4;
    const auto source = to_source(options);
    REQUIRE(source.has_error());
    CHECK(source.error().message == "options.size is too small: begin with WEIR_OPTIONS_INIT");
}

}  // namespace weir::embed
