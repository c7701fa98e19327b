#include "node/file_differences.h"

#include "admin/figures.h"
#include "definitions/exchange.h"

namespace weir::node {
namespace {

/// So many digits of a hash tell contents apart for people, who can compare them with the whole.
constexpr std::size_t kDigits = 8;

std::string places_text(const definitions::SetCount::Content& content) {
    std::string text;
    for (const Endpoint& place : content.places) {
        text += (text.empty() ? "" : ", ") + to_string(place);
    }
    return content.places.size() < content.count ? "among them " + text : text;
}

}  // namespace

std::string words_of(const definitions::FileDifference& difference) {
    std::string text = "the files of " + difference.count.set + " differ:";
    std::uint64_t counted = 0;
    for (const auto& content : difference.count.contents) {
        text += counted == 0 ? " " : ", ";
        text += std::to_string(content.count);
        text += counted == 0 ? " of " + std::to_string(difference.count.voters) + " sidecars have "
                             : " have ";
        text += admin::hash_text(content.content).substr(0, kDigits);
        const bool in_force = content.content == difference.in_force.content;
        text += in_force ? " (in force)" : " (" + places_text(content) + ")";
        counted += content.count;
    }
    if (counted < difference.count.voters) {
        text += ", " + std::to_string(difference.count.voters - counted) + " have others";
    }
    return text;
}

}  // namespace weir::node
