#include "routing/s3_index.h"

#include <array>
#include <string>

#include "base/assert.h"
#include "routing/escapes.h"

namespace weir::routing {
namespace {

constexpr std::size_t kMaxMarker = 24;
constexpr std::size_t kLevels = 3;

/// The operations of one level and one method, which are neighbours in the table. Those with more
/// conditions come first.
struct Run {
    std::uint8_t begin = 0;
    std::uint8_t end = 0;
    std::uint8_t plain = 0;  ///< the first one without conditions; `end` if there is none
};

class S3Index {
  public:
    S3Index() {
        index_markers();
        index_operations();
    }

    [[nodiscard]] const Run& run(S3Level level, http::Method method) const {
        return runs_[static_cast<std::size_t>(level)][static_cast<std::size_t>(method)];
    }
    /// Markers are ordered by length. Those of length n are from order_[begin_[n]] up to, but
    /// without, order_[begin_[n + 1]].
    [[nodiscard]] std::span<const std::uint8_t> markers_of_length(std::size_t length) const {
        return {order_.data() + begin_[length], order_.data() + begin_[length + 1]};
    }

  private:
    void index_markers() {
        const auto markers = s3_markers();
        WEIR_ASSERT(markers.size() <= order_.size());
        std::size_t next = 0;
        for (std::size_t length = 0; length <= kMaxMarker; ++length) {
            begin_[length] = static_cast<std::uint8_t>(next);
            for (std::size_t i = 0; i < markers.size(); ++i) {
                if (markers[i].name.size() == length) {
                    order_[next++] = static_cast<std::uint8_t>(i);
                }
            }
        }
        begin_[kMaxMarker + 1] = static_cast<std::uint8_t>(next);
        WEIR_ASSERT(next == markers.size());
    }

    void index_operations() {
        const auto operations = s3_operations();
        WEIR_ASSERT(operations.size() < 255);
        for (std::size_t i = 0; i < operations.size(); ++i) {
            const auto& operation = operations[i];
            const auto method = http::method_of(operation.method);
            WEIR_ASSERT(method != http::Method::other);
            auto& run =
                runs_[static_cast<std::size_t>(operation.level)][static_cast<std::size_t>(method)];
            if (run.end == 0) {
                run.begin = run.end = run.plain = static_cast<std::uint8_t>(i);
            }
            WEIR_ASSERT(run.end == i);
            const bool asks = operation.markers != 0 || operation.headers != 0;
            if (run.plain == run.end && asks) {
                ++run.plain;
            }
            ++run.end;
        }
    }

    std::array<std::array<Run, http::kMethods>, kLevels> runs_{};
    std::array<std::uint8_t, 64> order_{};
    std::array<std::uint8_t, kMaxMarker + 2> begin_{};
};

const S3Index& s3_index() {
    static const S3Index index;
    return index;
}

bool fits(const S3Operation& operation, const S3Facts& facts) {
    return (operation.markers & facts.markers) == operation.markers &&
           (operation.headers & facts.headers) == operation.headers &&
           (operation.path.empty() || operation.path == facts.path);
}

std::uint64_t markers_of_plain(std::string_view name, std::string_view value) {
    if (name.empty() || name.size() > kMaxMarker) {
        return 0;
    }
    const auto markers = s3_markers();
    std::uint64_t bits = 0;
    for (const auto i : s3_index().markers_of_length(name.size())) {
        const auto& marker = markers[i];
        if (marker.name[0] != name[0] || marker.name != name) {
            continue;
        }
        if (marker.value.empty() || equals_decoded(value, marker.value)) {
            bits |= std::uint64_t{1} << i;
        }
    }
    return bits;
}

}  // namespace

std::uint64_t s3_markers_of(std::string_view name, std::string_view value) {
    if (name.find('%') == std::string_view::npos) {
        return markers_of_plain(name, value);
    }
    if (name.size() > 3 * kMaxMarker) {
        return 0;
    }
    std::array<char, 3 * kMaxMarker> decoded;
    std::size_t size = 0;
    while (!name.empty()) {
        const auto byte = decode_escape(name);
        decoded[size++] = byte.value_or(name[0]);
        name.remove_prefix(byte ? 3 : 1);
    }
    return markers_of_plain({decoded.data(), size}, value);
}

const S3Operation* find_s3_operation(const S3Facts& facts) {
    const auto operations = s3_operations();
    const auto& run = s3_index().run(facts.level, facts.method);
    const bool asked = facts.markers != 0 || facts.headers != 0;
    for (std::size_t i = asked ? run.begin : run.plain; i < run.end; ++i) {
        if (fits(operations[i], facts)) {
            return &operations[i];
        }
    }
    return nullptr;
}

}  // namespace weir::routing
