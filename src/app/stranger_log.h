#pragma once
// Chooses the lines that the log gets about gossip that cannot be read. A sender gets a line when
// it appears, and one in each minute while it goes on. All senders together get a few lines per
// minute, because anybody who reaches the port can forge senders.
//
// Thread-safety: none. Its only state is what it remembers of the last minute. It owns what it
// remembers; the text of a line belongs to the caller.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/log.h"
#include "base/endpoint.h"
#include "base/instant.h"
#include "engine/statistics.h"

namespace weir::app {

class StrangerLog {
  public:
    static constexpr Duration kAgain = std::chrono::minutes(1);
    static constexpr std::uint32_t kLinesPerMinute = 8;

    struct Line {
        std::string message;
        LogFields fields;
    };
    [[nodiscard]] std::vector<Line> lines(const engine::SealStatus& status, Instant now);

  private:
    struct Told {
        Endpoint from;
        std::string_view reason;
        std::uint32_t key = 0;
        Instant at{};
    };
    [[nodiscard]] bool is_due(const engine::StrangerStatus& stranger, Instant now) const;
    void remember(const engine::StrangerStatus& stranger, Instant now);

    std::vector<Told> told_;  // those of the last minute
    Instant minute_{};
    std::uint32_t lines_in_minute_ = 0;
    std::uint64_t left_out_ = 0;
};

}  // namespace weir::app
