#include "tools/output.h"

namespace weir::tools {

void Output::add(std::string_view text) {
    if (text.size() < kShared) {
        return copy(text);
    }
    pieces_.push_back({{}, text});
    size_ += text.size();
}

void Output::copy(std::string_view text) {
    if (text.empty()) {
        return;
    }
    if (pieces_.empty() || pieces_.back().copied.empty()) {
        pieces_.push_back({std::string(text), {}});
    } else {
        pieces_.back().copied.append(text);
    }
    size_ += text.size();
}

std::string_view Output::front() const {
    return pieces_.empty() ? std::string_view{} : pieces_.front().text().substr(sent_);
}

void Output::sent(std::size_t count) {
    size_ -= count;
    sent_ += count;
    if (sent_ == pieces_.front().text().size()) {
        pieces_.pop_front();
        sent_ = 0;
    }
}

}  // namespace weir::tools
