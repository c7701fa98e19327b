#pragma once
// Packs the entries of one tick: all for one receiver go into as few messages as hold them. Each
// message has a tag, which the answer repeats, so that what was said is looked up here and need not
// be repeated. Belongs to the control thread; borrows the sink.
//
// Nobody is sent more than can be answered: at most kWindow messages to a receiver wait for an
// answer at once. A message waits for twice as long as answers have taken lately, and twice as long
// again for each whole window that was sent since the last answer. After that it counts as lost; an
// answer that comes later is still of use.
//
// Invariant: for each receiver at most the kRemembered newest messages are remembered. The answer
// to a forgotten message is of no use.

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/instant.h"
#include "gossip/wire.h"
#include "sync/messages.h"

namespace weir::sync {

/// How long answers take. Single answers that were held up do not count for much: the estimate
/// falls at once and grows by an eighth of what is missing. A plain value.
class AnswerTime {
  public:
    void note(Duration measured) {
        measured = std::max(Duration::zero(), measured);
        const bool shorter = !usual_ || measured < *usual_;
        usual_ = shorter ? measured : *usual_ + (measured - *usual_) / 8;
        WEIR_ASSERT(*usual_ >= Duration::zero());
    }
    /// How long to wait for an answer: twice as long as usual.
    [[nodiscard]] Duration wait() const {
        return std::clamp(2 * usual_.value_or(Duration::zero()), kShortest, kLongest);
    }
    static constexpr Duration kShortest = std::chrono::milliseconds(60);
    static constexpr Duration kLongest = std::chrono::seconds(1);

  private:
    std::optional<Duration> usual_;
};

template <class Said, gossip::MessageType kType>
class TaggedMessages {
  public:
    /// Messages that may wait for an answer at once.
    static constexpr std::size_t kWindow = 24;
    static constexpr std::size_t kRemembered = 2 * kWindow;
    static constexpr std::size_t kMostDoublings = 4;

    /// `dropped` counts entries that could not be sent. Receivers may hold answers back for up to
    /// `held_back`, which does not count as the time that these take.
    TaggedMessages(gossip::MessageSink& sink, std::uint64_t& dropped, Duration held_back = {})
        : sink_(sink), dropped_(dropped), held_back_(held_back) {}

    /// `entry` is the encoded entry. `may_wait`: the receiver may hold the answer back if all
    /// entries of the message allow it; then it says nothing about the time that answers take.
    void add(const gossip::MemberId& to, ByteSpan entry, const Said& said, Instant now,
             bool may_wait = false) {
        Line& line = lines_[to];
        if (line.open.size() + entry.size() > gossip::kMaximumPayload) {
            send(to, line, now);
        }
        if (line.open.empty()) {
            std::array<std::byte, 3> bytes;
            ByteWriter head(bytes);
            write_delta_head(head, line.next_tag);
            line.open.assign(head.written().begin(), head.written().end());
            line.may_wait = true;
            filling_ += line.open.size() + gossip::kDatagramOverhead;
        }
        filling_ += entry.size();
        line.open.insert(line.open.end(), entry.begin(), entry.end());
        line.said.push_back(said);
        line.may_wait = line.may_wait && may_wait;
        WEIR_ASSERT(line.open.size() <= gossip::kMaximumPayload);
    }
    /// The bytes of the messages that are being filled, each as a datagram of its own.
    [[nodiscard]] std::size_t filling() const { return filling_; }
    /// Whether a message to this member is being filled.
    [[nodiscard]] bool is_filling(const gossip::MemberId& to) const {
        const auto found = lines_.find(to);
        return found != lines_.end() && !found->second.open.empty();
    }
    /// Sends what was added since the last call.
    void send_all(Instant now) {
        for (auto& [to, line] : lines_) {
            if (!line.open.empty()) {
                send(to, line, now);
            }
        }
    }
    /// Whether one more entry may be sent: in the message that is being filled, or in another one.
    [[nodiscard]] bool has_room(const gossip::MemberId& to, Instant now) const {
        const auto found = lines_.find(to);
        if (found == lines_.end()) {
            return true;
        }
        const Line& line = found->second;
        const bool fits =
            line.open.empty() || line.open.size() + kMaximumEntrySize <= gossip::kMaximumPayload;
        return line.waiting(now) + (fits ? 0 : 1) < kWindow;
    }
    /// How long this receiver is waited for before something is said again.
    [[nodiscard]] Duration answer_wait(const gossip::MemberId& to) const {
        const auto line = lines_.find(to);
        return line == lines_.end() ? AnswerTime::kShortest : line->second.wait();
    }
    /// What was said in the message with this tag, which has been answered now; nullptr if it was
    /// forgotten or never sent. Valid until the next call.
    [[nodiscard]] std::vector<Said>* answered(const gossip::MemberId& by, std::uint16_t tag,
                                              Instant now) {
        const auto line = lines_.find(by);
        if (line == lines_.end()) {
            return nullptr;
        }
        std::deque<TaggedMessage>& sent = line->second.sent;
        const auto message = std::find_if(
            sent.begin(), sent.end(), [tag](const TaggedMessage& each) { return each.tag == tag; });
        if (message == sent.end()) {
            return nullptr;
        }
        if (!std::exchange(message->answered, true)) {
            if (!message->may_wait) {
                line->second.time.note(without_delay(now - message->at));
            }
            line->second.in_vain = 0;
        }
        return &message->said;
    }
    void forget(const gossip::MemberId& receiver) {
        if (const auto line = lines_.find(receiver); line != lines_.end()) {
            leave_out(line->second);
            lines_.erase(line);
        }
    }
    void clear() {
        lines_.clear();
        filling_ = 0;
    }

  private:
    struct TaggedMessage {
        std::uint16_t tag = 0;
        bool answered = false;
        bool may_wait = false;
        Instant at{};
        std::vector<Said> said;
    };
    struct Line {
        std::uint16_t next_tag = 0;
        std::vector<std::byte> open;  // payload of the message that is being filled
        std::vector<Said> said;
        bool may_wait = false;           // of the message that is being filled
        std::deque<TaggedMessage> sent;  // oldest first
        AnswerTime time;
        std::size_t in_vain = 0;  // messages since the last answer

        [[nodiscard]] Duration wait() const {
            const std::size_t doublings = std::min(in_vain / kWindow, kMostDoublings);
            return std::min(AnswerTime::kLongest, time.wait() * (1 << doublings));
        }
        [[nodiscard]] std::size_t waiting(Instant now) const {
            const Duration longest = wait();
            return static_cast<std::size_t>(
                std::count_if(sent.begin(), sent.end(), [&](const TaggedMessage& each) {
                    const Duration held_back = each.may_wait ? kAnswerMayWait : Duration::zero();
                    return !each.answered && now - each.at < longest + held_back;
                }));
        }
    };
    /// How long an answer takes that is not held back, as far as this one tells: one that took long
    /// may not have been.
    [[nodiscard]] Duration without_delay(Duration measured) const {
        const bool may_be = held_back_ > Duration::zero();
        return may_be ? std::max(measured - held_back_, measured / 2) : measured;
    }
    /// The message that is being filled counts no more.
    void leave_out(const Line& line) {
        if (!line.open.empty()) {
            WEIR_ASSERT(line.open.size() + gossip::kDatagramOverhead <= filling_);
            filling_ -= line.open.size() + gossip::kDatagramOverhead;
        }
    }
    void send(const gossip::MemberId& to, Line& line, Instant now) {
        WEIR_ASSERT(!line.open.empty() && !line.said.empty());
        if (!sink_.send(to, kType, line.open)) {
            dropped_ += line.said.size();
        }
        leave_out(line);
        line.open.clear();
        if (line.sent.size() == kRemembered) {
            line.sent.pop_front();
        }
        line.sent.push_back(
            {line.next_tag++, false, line.may_wait, now, std::exchange(line.said, {})});
        WEIR_ASSERT(line.sent.size() <= kRemembered);
        ++line.in_vain;
    }

    gossip::MessageSink& sink_;
    std::uint64_t& dropped_;
    Duration held_back_;
    std::map<gossip::MemberId, Line> lines_;
    std::size_t filling_ = 0;
};

}  // namespace weir::sync
