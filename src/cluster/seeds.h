#pragma once
// The addresses through which a sidecar finds its peers: literal ones, and those of names that are
// looked up again and again, because the addresses of a headless Service change with every rollout,
// and the sides of a healed partition must find each other again. After a failed look-up the
// addresses of the last good one stay.
//
// Thread-safety: none, control thread only. The io_context must outlive it.

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/instant.h"
#include "base/random.h"
#include "cluster/seed_resolver.h"
#include "config/settings.h"

namespace weir::cluster {

struct SeedsOptions {
    std::vector<config::Seed> join;
    Duration interval;
    /// The first wait while alone; it doubles up to `interval`.
    Duration interval_alone;
    Lookup lookup;
};

/// Computes the waits between look-ups. They double while the sidecar is alone, and each varies at
/// random by 25 %, so that a fleet that was started at one moment does not ask its name servers at
/// one moment. Pure but for its generator.
class LookupPace {
  public:
    LookupPace(Duration interval, Duration interval_alone, Random random);
    [[nodiscard]] Duration next(bool alone);

  private:
    Duration interval_;
    Duration interval_alone_;
    Duration next_alone_;
    Random random_;
};

class Seeds {
  public:
    /// `looked_up`: whether a name was looked up for them just now; else they are those that the
    /// settings name.
    using Changed = std::function<void(std::vector<Endpoint>, bool looked_up)>;
    using Alone = std::function<bool()>;

    Seeds(boost::asio::io_context& control, SeedsOptions options, Random random, Changed changed,
          Alone alone);
    Seeds(const Seeds&) = delete;
    Seeds& operator=(const Seeds&) = delete;

    void start();
    void stop();
    [[nodiscard]] std::vector<Endpoint> addresses() const;
    /// The names, with their ports, that were never found, and why the last look-up failed.
    [[nodiscard]] std::map<std::string, std::string> never_found() const;
    [[nodiscard]] std::uint64_t lookups() const { return lookups_; }
    [[nodiscard]] std::uint64_t failures() const { return failures_; }

  private:
    struct Name {
        std::string host;
        std::uint16_t port = 0;
        Addresses addresses;
        std::string failure = {};  ///< of the last look-up
        bool asked = false;
    };

    void look_up_all();
    void answered(Name& name, Result<Addresses> result);
    void schedule();

    boost::asio::io_context& control_;
    boost::asio::steady_timer timer_;
    SeedsOptions options_;
    LookupPace pace_;
    Changed changed_;
    Alone alone_;
    Addresses literals_;
    std::vector<Name> names_;
    std::unique_ptr<SeedResolver> resolver_;
    std::uint64_t lookups_ = 0;
    std::uint64_t failures_ = 0;
};

}  // namespace weir::cluster
