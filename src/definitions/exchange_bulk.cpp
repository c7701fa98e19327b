// The part of DefinitionExchange that makes wishes for transfers in bulk and handles their results.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "definitions/exchange.h"
#include "definitions/store.h"

namespace weir::definitions {
namespace {

using gossip::MemberId;

constexpr std::size_t kMostWishes = 16;
/// How long a peer is not asked for a transfer in bulk after one failed.
constexpr Duration kNoBulk = std::chrono::seconds(30);
/// If the maps still differ within this time after a pull of newer entries only, all entries are
/// pulled.
constexpr Duration kNewerCounts = std::chrono::seconds(30);

}  // namespace

/// Forgets peers that are gone, only to bound the memory.
void DefinitionExchange::forget_gone(std::span<const MemberId> peers) {
    if (no_bulk_until_.size() + pulled_newer_.size() <= peers.size()) {
        return;
    }
    const std::set<MemberId> here(peers.begin(), peers.end());
    const auto gone = [&](const auto& item) { return !here.contains(item.first); };
    std::erase_if(no_bulk_until_, gone);
    std::erase_if(pulled_newer_, gone);
}

bool DefinitionExchange::may_wish(const MemberId& from, Instant now) const {
    const auto blocked = no_bulk_until_.find(from);
    return bulk_possible_ && wishes_.size() < kMostWishes &&
           (blocked == no_bulk_until_.end() || now >= blocked->second);
}

bool DefinitionExchange::in_bulk_with(const MemberId& from) const {
    return pulling_overrides_ == from;
}

/// Asks for a pull of the entries above the known epochs of each writer or, if the maps still
/// differ soon after that, of all entries.
void DefinitionExchange::wish_for_overrides(const MemberId& from, Instant now) {
    if (pulling_overrides_) {
        return;  // pulls are made one after another; the next digest shows what is still missing
    }
    const auto newer = pulled_newer_.find(from);
    const bool again = newer != pulled_newer_.end() && now - newer->second < kNewerCounts;
    wishes_.push_back({from, std::nullopt, !again && store_.overrides().size() > 0});
    pulling_overrides_ = from;
    WEIR_ASSERT(wishes_.size() <= kMostWishes);
    ++counters_.bulk_wishes;
}

std::optional<BulkWish> DefinitionExchange::take_wish() {
    if (wishes_.empty()) {
        return std::nullopt;
    }
    BulkWish wish = std::move(wishes_.front());
    wishes_.pop_front();
    return wish;
}

void DefinitionExchange::end_wish(const BulkWish& wish, bool good, std::vector<std::byte> document,
                                  Instant now) {
    if (!good) {
        no_bulk_until_[wish.from] = now + kNoBulk;
        ++counters_.bulk_failures;
    }
    ask_again_.push_back(wish.from);
    if (!wish.document) {
        pulling_overrides_.reset();
        if (good && wish.only_newer) {
            pulled_newer_[wish.from] = now;
        }
        return;
    }
    const auto found = fetches_.find(wish.document->set);
    if (found == fetches_.end() || found->second.content != wish.document->content) {
        return;
    }
    if (good) {
        finish(wish.document->set, std::move(document), now);
    } else {
        found->second.in_bulk = false;
        found->second.next = now;
    }
}

}  // namespace weir::definitions
