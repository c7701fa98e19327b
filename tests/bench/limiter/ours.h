#pragma once
// weir's limiter with all instances of a case, and requests to it.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "between.h"
#include "limiter/limiter.h"
#include "measure.h"
#include "names.h"
#include "quotas.h"
#include "sim/quota_set.h"

inline constexpr std::size_t kBatch = 256;
inline constexpr std::size_t kBatchesPerRound = 200;
/// Requests between two calls of quiescent(): as many as a turn of the event loop under little
/// load.
inline constexpr std::size_t kTurn = 4;

struct Case {
    std::size_t instances;
    std::string_view prefix;
    double step;                 // virtual seconds between two requests
    bool fenced = false;         // a fence before each request, and what lies between (between.h)
    double root = 1e9;           // the limit of the root, requests per virtual second
    std::optional<bool> fair{};  // whether quotas with children shed fairly; nothing = the default
};

using weir::Instant;
using weir::limiter::CheckMode;
using weir::limiter::LeafId;
using weir::limiter::Limiter;
using weir::limiter::ThreadContext;

/// A limiter in which all instances exist.
class Ours {
  public:
    explicit Ours(const Case& setting)
        : limiter_(std::make_unique<Limiter>(options_for(setting.instances))),
          step_(weir::from_seconds(setting.step)),
          fenced_(setting.fenced) {
        if (!weir::sim::replace_quotas(*limiter_, definitions(setting.root, setting.fair),
                                       instant(1))
                 .empty()) {
            std::abort();
        }
        ThreadContext& thread = limiter_->register_thread(1);
        for (std::size_t i = 0; i < std::max<std::size_t>(1, setting.instances / 2); ++i) {
            const LeafId leaf =
                limiter_->find(thread, name_of(i, setting.prefix).leaf(), instant(1));
            (void)limiter_->check(thread, leaf, {}, instant(1), CheckMode::charge);
            if (i % 64 == 0) {
                limiter_->quiescent(thread);
                limiter_->maintain(instant(1));
            }
        }
        limiter_->quiescent(thread);
        limiter_->maintain(instant(1));
    }
    void track() {
        limiter_->drain_active([](weir::limiter::LimitRef) {});
    }
    ThreadContext& thread(std::uint64_t seed) { return limiter_->register_thread(seed); }
    Limiter& limiter() { return *limiter_; }

    std::size_t run(ThreadContext& thread, const std::vector<Name>& names, Instant& now) {
        std::size_t admitted = 0;
        for (std::size_t i = 0; i < names.size(); ++i) {
            now += step_;
            const LeafId leaf = find(thread, names[i].leaf(), now);
            admitted +=
                limiter_->check(thread, leaf, {}, now, CheckMode::charge).admitted ? 1U : 0U;
            if (i % kTurn == 0) {
                limiter_->quiescent(thread);
            }
        }
        return admitted;
    }

  private:
    LeafId find(ThreadContext& thread, std::string_view name, Instant now) {
        if (!fenced_) {
            return limiter_->find(thread, name, now);
        }
        fence();
        const weir::limiter::AskedName asked = limiter_->ask(thread, name);
        sink.fetch_add(between_.work(), std::memory_order_relaxed);
        return limiter_->find(thread, asked, now);
    }

    std::unique_ptr<Limiter> limiter_;
    Between between_;
    weir::Duration step_;
    bool fenced_;
};

inline void draw(std::vector<Name>& names, const Case& setting, weir::Random& random) {
    names.resize(kBatch);
    for (Name& name : names) {
        name =
            name_of(random.below(std::max<std::size_t>(1, setting.instances / 2)), setting.prefix);
    }
}
