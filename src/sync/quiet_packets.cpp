#include "sync/quiet_packets.h"

#include <algorithm>
#include <array>
#include <utility>

namespace weir::sync {

void QuietPackets::add(const gossip::MemberId& owner, const QuietEntry& entry) {
    std::array<std::byte, kMaximumEntrySize> buffer;
    ByteWriter writer(buffer);
    encode(writer, entry);
    Line& line = lines_[owner];
    if (line.open.size() + writer.size() > gossip::kMaximumPayload) {
        send(owner, line);
    }
    if (line.open.empty()) {
        std::array<std::byte, 3> bytes;
        ByteWriter head(bytes);
        write_delta_head(head, line.next_tag);
        line.open.assign(head.written().begin(), head.written().end());
    }
    const ByteSpan bytes = writer.written();
    line.open.insert(line.open.end(), bytes.begin(), bytes.end());
    line.told.push_back({entry.key, entry.run, entry.admitted});
}

void QuietPackets::send(const gossip::MemberId& owner, Line& line) {
    if (!sink_.send(owner, gossip::MessageType::quiet, line.open)) {
        dropped_ += line.told.size();
    }
    line.open.clear();
    if (line.sent.size() == kRemembered) {
        line.sent.pop_front();
    }
    line.sent.push_back({line.next_tag++, std::exchange(line.told, {})});
}

void QuietPackets::send_all() {
    for (auto& [owner, line] : lines_) {
        if (!line.open.empty()) {
            send(owner, line);
        }
    }
}

std::vector<QuietPackets::Told> QuietPackets::take(const gossip::MemberId& owner,
                                                   std::uint16_t tag) {
    const auto line = lines_.find(owner);
    if (line == lines_.end()) {
        return {};
    }
    std::deque<Message>& sent = line->second.sent;
    const auto message = std::find_if(sent.begin(), sent.end(),
                                      [tag](const Message& each) { return each.tag == tag; });
    if (message == sent.end()) {
        return {};
    }
    std::vector<Told> told = std::move(message->told);
    sent.erase(message);
    return told;
}

}  // namespace weir::sync
