#include "node/reload_record.h"

#include <doctest/doctest.h>

namespace weir::node {
namespace {

using Lines = std::vector<std::string>;
using namespace std::chrono_literals;

}  // namespace

TEST_CASE("what was bad is told until it was read again and is good") {
    ReloadRecord record("weir.yaml", 1);
    record.start(5s);
    CHECK(record.figures().file == "weir.yaml");
    CHECK(record.figures().last_reload_successful);
    CHECK(record.figures().last_success_seconds == 5);

    record.fail(Reload::quotas, {"q.yaml: bad"});
    CHECK(record.told(Reload::quotas, {"q.yaml: bad"}));
    CHECK_FALSE(record.told(Reload::settings, {"q.yaml: bad"}));
    CHECK_FALSE(record.told(Reload::quotas, {"q.yaml: worse"}));
    CHECK_FALSE(record.figures().last_reload_successful);
    CHECK(record.errors() == Lines{"q.yaml: bad"});

    CHECK(record.succeed(9s));
    CHECK(record.errors().empty());
    CHECK(record.figures().last_reload_successful);
    CHECK(record.figures().last_success_seconds == 9);
    CHECK(record.figures().reloads == 2);
    CHECK(record.figures().reload_failures == 1);
}

TEST_CASE("good quotas do not hide that the settings were bad") {
    ReloadRecord record("weir.yaml", 1);
    record.fail(Reload::everything, {"weir.yaml: bad"});
    CHECK_FALSE(record.succeed(9s));
    CHECK(record.errors() == Lines{"weir.yaml: bad"});
    CHECK_FALSE(record.figures().last_reload_successful);
    CHECK(record.figures().reloads == 2);

    const std::string before = record.figures().hash;
    record.settings_taken_over(2);
    CHECK(record.succeed(10s));
    CHECK(record.figures().hash != before);
    CHECK(record.figures().last_reload_successful);
}

TEST_CASE("errors of quotas stand beside those of settings") {
    ReloadRecord record("weir.yaml", 1);
    record.fail(Reload::settings, {"weir.yaml: bad"});
    record.fail(Reload::quotas, {"q.yaml: bad"});
    CHECK(record.errors() == Lines{"weir.yaml: bad", "q.yaml: bad"});
    CHECK(record.figures().errors == record.errors());
    record.settings_taken_over(2);
    CHECK(record.errors() == Lines{"q.yaml: bad"});
    record.fail(Reload::settings, {"weir.yaml: bad"});
    CHECK(record.errors() == Lines{"weir.yaml: bad"});
    record.fail(Reload::quotas, {"q.yaml: bad"});
    CHECK_FALSE(record.succeed(9s));
    CHECK(record.errors() == Lines{"weir.yaml: bad"});
}

TEST_CASE("a file of its own is bad and good by itself") {
    ReloadRecord record("", 1);
    record.file_is_bad(OwnFile::admin_token, "token: empty");
    record.file_is_bad(OwnFile::gossip_keys, "keys: short");
    CHECK(record.problem(OwnFile::gossip_keys) == "keys: short");
    CHECK(record.figures().errors == Lines{"keys: short", "token: empty"});
    CHECK(record.errors().empty());
    CHECK(record.succeed(9s));
    CHECK_FALSE(record.figures().last_reload_successful);

    record.file_is_good(OwnFile::gossip_keys, true);
    CHECK(record.problem(OwnFile::gossip_keys).empty());
    CHECK(record.figures().errors == Lines{"token: empty"});
    record.file_is_good(OwnFile::admin_token, false);
    CHECK(record.figures().last_reload_successful);
    CHECK(record.figures().reloads == 4);  // an unchanged file counts for nothing
    CHECK(record.figures().reload_failures == 2);
}

}  // namespace weir::node
