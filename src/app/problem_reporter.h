#pragma once
// Looks once a second at what the parts of a sidecar know, has the list of problems computed from
// it (node/problem_watch.h), and writes to the log what begins and ends. All listeners show the
// list of the last look.
//
// Thread-safety: for the control thread. It reads counters and states that are there anyway, so the
// request path does nothing for it. Ownership: what the constructor is given must outlive it.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/live_settings.h"
#include "app/log.h"
#include "node/host.h"
#include "node/problem_watch.h"
#include "node/quota_search.h"

namespace weir::definitions {
class DefinitionStore;
}

namespace weir::app {

class ProblemReporter {
  public:
    static constexpr std::chrono::seconds kLook{1};
    /// For so long the control thread may be held up in one look by comparing names of quotas with
    /// those of routes. The next look goes on where this one ended.
    static constexpr Duration kSearchTime = std::chrono::milliseconds(5);
    /// How many names are compared before the clock is read.
    static constexpr std::size_t kComparisonsAtOnce = 1000;
    /// How many pairs of a missing name and a candidate for it are looked at for suggestions, in
    /// one piece at the end of a search. The candidates are the first names in order.
    static constexpr std::size_t kMostSuggestions = 20'000;

    /// What the proxy tells.
    struct ProxyFacts {
        /// How many requests found no connection to the upstream so far.
        std::function<std::uint64_t()> upstream_failures;
        /// How often clients had to wait so far, or lost their place, because all connections were
        /// in use; and how many those are.
        std::function<std::uint64_t()> crowded;
        std::function<std::uint64_t()> most_connections;
        /// The quotas for which checks asked since the last call, and which do not exist.
        std::function<std::vector<std::string>()> asked_in_vain;
    };
    ProblemReporter(boost::asio::io_context& control, node::Host& host, const LiveSettings& live,
                    Log& log, ProxyFacts proxy);

    /// Begins to look as soon as the control thread runs. The host must be open.
    void start() { look_after(std::chrono::seconds(0)); }
    void stop();
    /// Says that there are new routes.
    void routes_changed() { routes_known_ = false; }

    [[nodiscard]] const admin::ProblemList& list() const { return watch_.list(); }

  private:
    void look();
    void look_after(std::chrono::seconds wait);
    [[nodiscard]] node::ProblemFacts facts();
    void add_proxy(node::ProblemFacts& facts);
    void add_routes(node::ProblemFacts& facts);
    void search_quotas(const definitions::DefinitionStore& store);
    void add_gossip(node::ProblemFacts& facts);
    void add_files(node::ProblemFacts& facts);
    void write(const node::ProblemLine& line);

    node::Host& host_;
    const LiveSettings& live_;
    Log& log_;
    ProxyFacts proxy_;
    boost::asio::steady_timer timer_;
    node::ProblemWatch watch_;
    /// What was found about the routes, for these definitions.
    bool routes_known_ = false;
    std::uint64_t definitions_hash_ = 0;
    /// Looks for the quotas of the routes; nothing when it has looked at all of them.
    std::optional<node::QuotaSearch> search_;
    /// The last name of a quota that `search_` has looked at.
    std::string searched_to_;
    std::vector<node::RouteFinding> without_quota_;
    std::vector<node::RouteFinding> without_requests_;
    bool stopped_ = false;
};

}  // namespace weir::app
