#include "app/stranger_log.h"

#include <algorithm>

#include "admin/figures.h"
#include "admin/report_json.h"

namespace weir::app {
namespace {

std::string key_list(const std::vector<std::uint32_t>& keys) {
    std::string text;
    for (const std::uint32_t key : keys) {
        text += (text.empty() ? "" : ",") + admin::key_text(key);
    }
    return text.empty() ? "none" : text;
}

StrangerLog::Line line_about(const engine::StrangerStatus& stranger,
                             const std::vector<std::uint32_t>& keys) {
    StrangerLog::Line line;
    line.message = "gossip that is " + std::string(admin::describe_refusal(stranger.reason));
    line.fields = {{"from", to_string(stranger.from)},
                   {"datagrams", std::to_string(stranger.datagrams)},
                   {"reason", std::string(stranger.reason)}};
    if (stranger.key != 0) {
        line.fields.emplace_back("key", admin::key_text(stranger.key));
    }
    line.fields.emplace_back("our_keys", key_list(keys));
    return line;
}

}  // namespace

std::vector<StrangerLog::Line> StrangerLog::lines(const engine::SealStatus& status, Instant now) {
    if (now - minute_ >= kAgain) {
        minute_ = now;
        lines_in_minute_ = 0;
    }
    std::erase_if(told_, [&](const Told& told) { return now - told.at >= kAgain; });
    std::vector<Line> lines;
    for (const engine::StrangerStatus& stranger : status.strangers) {
        if (!is_due(stranger, now)) {
            continue;
        }
        remember(stranger, now);
        if (lines_in_minute_ == kLinesPerMinute) {
            ++left_out_;
            continue;
        }
        ++lines_in_minute_;
        lines.push_back(line_about(stranger, status.keys));
        if (left_out_ > 0) {
            lines.back().fields.emplace_back("senders_left_out", std::to_string(left_out_));
            left_out_ = 0;
        }
    }
    return lines;
}

/// Whether the stranger is to be logged: it still sends, and has not been logged lately.
bool StrangerLog::is_due(const engine::StrangerStatus& stranger, Instant now) const {
    const bool fresh = stranger.silence < kAgain / 6;
    return fresh && std::none_of(told_.begin(), told_.end(), [&](const Told& told) {
               return told.from == stranger.from && told.reason == stranger.reason &&
                      told.key == stranger.key && now - told.at < kAgain;
           });
}

/// The list is bounded, because senders can be forged: the oldest is forgotten, and may be logged
/// again.
void StrangerLog::remember(const engine::StrangerStatus& stranger, Instant now) {
    constexpr std::size_t kMost = 256;
    if (told_.size() == kMost) {
        told_.erase(told_.begin());
    }
    told_.push_back({stranger.from, stranger.reason, stranger.key, now});
}

}  // namespace weir::app
