#include "http/method.h"

#include "http/words.h"

namespace weir::http {
namespace {

constexpr std::size_t kLongest = 8;
constexpr std::uint64_t word(std::string_view text) { return load(text.data(), text.size()); }

}  // namespace

Method method_of(std::string_view name) {
    if (name.size() > kLongest) {
        return Method::other;
    }
    switch (word(name)) {
        case word("GET"):
            return Method::get;
        case word("PUT"):
            return Method::put;
        case word("HEAD"):
            return Method::head;
        case word("POST"):
            return Method::post;
        case word("PATCH"):
            return Method::patch;
        case word("DELETE"):
            return Method::delete_;
        case word("OPTIONS"):
            return Method::options;
        default:
            return Method::other;
    }
}

}  // namespace weir::http
