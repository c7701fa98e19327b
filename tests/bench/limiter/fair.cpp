#include "fair.h"

#include <cstdio>
#include <vector>

#include "measure.h"
#include "ours.h"

namespace {

constexpr std::size_t kInstances = 10'000;

/// At 10,000 requests a second, with a limit of `root` for all together.
void compare(const char* title, double root, int rounds) {
    Case setting{kInstances, kLongPrefix, 1e-4};
    setting.root = root;
    setting.fair = false;
    Case fair_setting = setting;
    fair_setting.fair = true;
    Ours off(setting);
    Ours fair(fair_setting);
    ThreadContext& off_thread = off.thread(3);
    ThreadContext& fair_thread = fair.thread(3);
    weir::Random random(7);
    Instant off_now = instant(10);
    Instant fair_now = instant(10);
    std::vector<Name> names;
    std::vector<double> times;
    std::vector<double> ratios;
    for (int round = -1; round < rounds; ++round) {
        double with = 0;
        double without = 0;
        for (std::size_t batch = 0; batch < kBatchesPerRound; ++batch) {
            draw(names, setting, random);
            timed(with, [&] { return fair.run(fair_thread, names, fair_now); });
            timed(without, [&] { return off.run(off_thread, names, off_now); });
        }
        if (round >= 0) {  // the first one warms up
            times.push_back(with / (double{kBatch} * kBatchesPerRound));
            ratios.push_back(with / without);
        }
    }
    const Quartiles time = quartiles(times);
    const Quartiles ratio = quartiles(ratios);
    std::printf("%-34s fair %5.0f (%.0f-%.0f)  ratio to not fair %.3f (%.3f-%.3f)\n", title,
                time.median, time.low, time.high, ratio.median, ratio.low, ratio.high);
}

}  // namespace

void print_fair(int rounds) {
    compare("fair, nothing sheds", 1e9, rounds);
    compare("fair, the root refuses 3 of 4", 2500, rounds);
}
