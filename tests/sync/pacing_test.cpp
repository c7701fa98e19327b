// When an owner slows its origins down, and when no more.

#include "sync/pacing.h"

#include <doctest/doctest.h>

#include <initializer_list>

namespace weir::sync {
namespace {

struct Owner {
    SyncSettings settings;
    Pacing pacing;

    /// Shares of the bound, second by second.
    void seconds(std::initializer_list<double> loads) {
        for (const double load : loads) {
            pacing.note_second(settings, load);
        }
    }
};

TEST_CASE("a jump of the load is let pass, again after some calm seconds") {
    Owner owner;
    owner.seconds({0.4, 2.5, 1.6, 0.4});
    CHECK(owner.pacing.tenths() == 0);
    owner.seconds({0.4, 0.4, 0.4, 0.4});
    owner.seconds({2.5, 1.6, 0.4});
    CHECK(owner.pacing.tenths() == 0);
}

TEST_CASE("what stays is answered: sooner the more it is, up to the largest pace") {
    Owner little;
    little.seconds({1.8, 1.8, 1.8, 1.8});
    CHECK(little.pacing.tenths() == 0);
    little.seconds({1.8});
    CHECK(little.pacing.tenths() == 5);
    Owner much;
    much.seconds({6});
    CHECK(much.pacing.tenths() == 5);
    for (int i = 0; i < 300; ++i) {
        much.seconds({6});
    }
    CHECK(much.pacing.tenths() == much.settings.largest_pace);
}

TEST_CASE("a load just below the bound slows nobody down for ever") {
    Owner owner;
    for (int i = 0; i < 1000; ++i) {
        owner.seconds({0.8});
    }
    CHECK(owner.pacing.tenths() == 0);
}

TEST_CASE("the pace falls by a tenth a second, no further than the load allows") {
    Owner owner;
    for (int i = 0; i < 10; ++i) {
        owner.seconds({6});
    }
    REQUIRE(owner.pacing.tenths() == 20);
    owner.seconds({0.3, 0.3, 0.3});
    CHECK(owner.pacing.tenths() == 17);
    // As the origins' messages: fewer the slower they are, 0.9 of the bound at their own pace.
    for (int i = 0; i < 100; ++i) {
        owner.seconds({0.9 * 10 / (10 + owner.pacing.tenths())});
    }
    CHECK(owner.pacing.tenths() == 3);  // 0.75 again with one less
    // A load that is gone needs no pace.
    for (int i = 0; i < 3; ++i) {
        owner.seconds({0.01});
    }
    CHECK(owner.pacing.tenths() == 0);
}

}  // namespace
}  // namespace weir::sync
