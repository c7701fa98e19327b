// Which values of a counter message are plausible; an entry with any other is refused whole.
#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

#include "sync/messages.h"
#include "sync/sample_messages.h"

namespace weir::sync {
namespace {

using namespace test;

TEST_CASE("values that no limit can have are not plausible") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double bad : {nan, -1.0, 1e300, std::numeric_limits<double>::infinity()}) {
        CAPTURE(bad);
        DeltaEntry delta = some_delta();
        delta.rate = bad;
        CHECK_FALSE(plausible(delta));
        delta = some_delta();
        delta.admitted = bad;
        CHECK_FALSE(plausible(delta));
        TotalEntry total = some_total();
        total.rate = bad;
        CHECK_FALSE(plausible(total));
        HandoverEntry handover = some_handover();
        handover.held_rate = bad;
        CHECK_FALSE(plausible(handover));
        NameEntry name = some_name();
        name.high = bad;
        CHECK_FALSE(plausible(name));
        HotEntry hot = some_hot();
        hot.rate = bad;
        CHECK_FALSE(plausible(hot));
    }
    CHECK(plausible(some_delta()));
    CHECK(plausible(some_total()));
    CHECK(plausible(some_handover()));
    CHECK(plausible(some_name()));
    CHECK(plausible(some_hot()));
    NameEntry other = some_name();
    other.name = "another quota";
    CHECK_FALSE(plausible(other));
    NameEntry law = some_name();
    CHECK(plausible(law));
    law.law = 2;  // there are two
    CHECK_FALSE(plausible(law));
    HotEntry hot = some_hot();
    hot.rate = 1e15;  // the most
    CHECK(plausible(hot));
    hot.rate = 1.001e15;
    CHECK_FALSE(plausible(hot));
    DeltaEntry without_run = some_delta();
    without_run.run = 0;
    CHECK_FALSE(plausible(without_run));
}

/// Each of these numbers may be anything from 0 to the most, and nothing else.
template <class Entry>
void check_numbers(const Entry& good, std::initializer_list<double Entry::*> fields, double most) {
    std::size_t place = 0;
    for (const auto field : fields) {
        CAPTURE(place++);
        Entry entry = good;
        for (const double fine : {0.0, most}) {
            entry.*field = fine;
            CHECK(plausible(entry));
        }
        for (const double bad : {std::nextafter(most, 2 * most), -1e-300, std::nan("")}) {
            entry.*field = bad;
            CHECK_FALSE(plausible(entry));
        }
    }
}

TEST_CASE("each number of an entry has its own bounds") {
    constexpr double kCount = 36'028'797'018'963'968.0;  // 2^55
    constexpr double kRate = 1e15;
    check_numbers<DeltaEntry>(
        some_delta(), {&DeltaEntry::admitted, &DeltaEntry::refunded, &DeltaEntry::offered}, kCount);
    check_numbers<DeltaEntry>(some_delta(),
                              {&DeltaEntry::rate, &DeltaEntry::believed_level,
                               &DeltaEntry::heaviest, &DeltaEntry::typical},
                              kRate);
    check_numbers<TotalEntry>(
        some_total(), {&TotalEntry::admitted, &TotalEntry::refunded, &TotalEntry::offered}, kCount);
    check_numbers<TotalEntry>(some_total(), {&TotalEntry::rate, &TotalEntry::heaviest}, kRate);
    TotalEntry credit = some_total();  // its level may be below 0
    for (const double fine : {kRate, -kRate}) {
        credit.level = fine;
        CHECK(plausible(credit));
    }
    for (const double bad : {std::nextafter(kRate, 2 * kRate), -1.001 * kRate, std::nan("")}) {
        credit.level = bad;
        CHECK_FALSE(plausible(credit));
    }
    check_numbers<HandoverEntry>(
        some_handover(),
        {&HandoverEntry::level, &HandoverEntry::rate, &HandoverEntry::held_rate,
         &HandoverEntry::heaviest, &HandoverEntry::typical},
        kRate);
    check_numbers<HotEntry>(some_hot(), {&HotEntry::level, &HotEntry::rate}, kRate);
    NameEntry name = some_name();
    name.low = 0;
    name.high = kRate;
    check_numbers<NameEntry>(name, {&NameEntry::rate, &NameEntry::low, &NameEntry::debt}, kRate);
    check_numbers<NameEntry>(name, {&NameEntry::high}, kRate);
}

TEST_CASE("an owner has a life, and a limit's borders are in order") {
    TotalEntry lifeless = some_total();
    lifeless.life = 0;  // no owner draws it
    CHECK_FALSE(plausible(lifeless));
    for (const std::uint32_t fine : {1u, 0xffff'ffffu}) {
        lifeless.life = fine;
        CHECK(plausible(lifeless));
    }
    DeltaEntry first = some_delta();
    first.run = 1;
    CHECK(plausible(first));
    NameEntry edge = some_name();
    edge.high = edge.low;  // a hard edge
    CHECK(plausible(edge));
    edge.high = edge.low - 1;
    CHECK_FALSE(plausible(edge));
    NameEntry nameless = some_name();
    nameless.name.clear();
    nameless.key.quota = quota_hash("");
    CHECK_FALSE(plausible(nameless));
}

}  // namespace
}  // namespace weir::sync
