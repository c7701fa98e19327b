#include "proxy/body_progress.h"

#include <algorithm>

namespace weir::proxy {

BodyProgress::Passed BodyProgress::pass(std::string_view bytes) {
    switch (kind_) {
        case http::BodyKind::none:
            return {};
        case http::BodyKind::length: {
            const auto used =
                static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size()));
            remaining_ -= used;
            payload_ += used;
            return {.used = used};
        }
        case http::BodyKind::chunked: {
            if (scanner_.complete()) {
                return {};
            }
            const auto result = scanner_.scan(bytes);
            return {.used = result.consumed,
                    .bad = result.state == http::ChunkedScanner::State::rejected};
        }
        case http::BodyKind::until_close:
            payload_ += bytes.size();
            return {.used = bytes.size()};
    }
    return {};
}

BodyProgress::Unwrapped BodyProgress::unwrap(std::span<char> bytes) {
    Unwrapped result;
    std::size_t used = 0;
    for (; used < bytes.size() && !scanner_.complete(); ++used) {
        const auto before = scanner_.payload_bytes();
        const auto scanned = scanner_.scan({&bytes[used], 1});
        if (scanned.state == http::ChunkedScanner::State::rejected) {
            return {.bad = true};
        }
        if (scanner_.payload_bytes() > before) {
            bytes[result.content++] = bytes[used];
        }
    }
    const auto behind = bytes.subspan(used);
    std::copy(behind.begin(), behind.end(), bytes.data() + result.content);
    result.total = result.content + behind.size();
    return result;
}

bool BodyProgress::done() const {
    switch (kind_) {
        case http::BodyKind::none:
            return true;
        case http::BodyKind::length:
            return remaining_ == 0;
        case http::BodyKind::chunked:
            return scanner_.complete();
        case http::BodyKind::until_close:
            return false;
    }
    return true;
}

std::uint64_t BodyProgress::payload() const {
    return kind_ == http::BodyKind::chunked ? scanner_.payload_bytes() : payload_;
}

}  // namespace weir::proxy
