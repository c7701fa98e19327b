#include "engine/bulk_definitions.h"

#include <array>
#include <utility>

#include "base/bytes.h"

namespace weir::engine {

BulkDefinitions::BulkDefinitions(std::string cluster_name, const std::vector<gossip::Key>& keys,
                                 gossip::NonceSource& nonces,
                                 const membership::Transport& transport,
                                 definitions::DefinitionStore& store,
                                 definitions::DefinitionExchange& exchange)
    : cluster_name_(std::move(cluster_name)),
      nonces_(nonces),
      sealer_(keys, nonces),
      transport_(transport),
      store_(store),
      exchange_(exchange) {}

definitions::BulkContext BulkDefinitions::context() {
    definitions::BulkContext context;
    context.store = &store_;
    context.sealer = &sealer_;
    context.counters = &counters_;
    context.cluster = gossip::cluster_tag(cluster_name_);
    context.self = transport_.self();
    // Nobody can guess this number, so frames that were captured earlier cannot be used again.
    std::array<std::byte, 8> number{};
    nonces_.fill(number);
    context.number = ByteReader(number).u64() | 1U;
    context.is_member = [this](const gossip::MemberId& member) {
        return transport_.membership().find(member) != nullptr;
    };
    return context;
}

std::unique_ptr<definitions::DefinitionPull> BulkDefinitions::take_pull() {
    auto wish = exchange_.take_wish();
    if (!wish) {
        return nullptr;
    }
    ++counters_.pulls_begun;
    return std::make_unique<definitions::DefinitionPull>(context(), std::move(*wish));
}

void BulkDefinitions::end_pull(definitions::DefinitionPull& pull, Instant now) {
    ++(pull.good() ? counters_.pulls_done : counters_.pulls_failed);
    exchange_.end_wish(pull.wish(), pull.good(), pull.take_document(), now);
}

std::unique_ptr<definitions::DefinitionServe> BulkDefinitions::serve_pull() {
    return std::make_unique<definitions::DefinitionServe>(context());
}

}  // namespace weir::engine
