#include "routing/client.h"

#include <string_view>

#include "base/characters.h"
#include "http/fields.h"

namespace weir::routing {
namespace {

/// The address of an element, which some proxies write with a port: "10.0.0.1:80", "[::1]:80".
std::optional<Endpoint> address_in(std::string_view element) {
    if (element.starts_with('[')) {
        const auto end = element.find(']');
        return end == std::string_view::npos ? std::nullopt
                                             : parse_address(element.substr(1, end - 1));
    }
    const auto colon = element.find(':');
    const bool port = colon != std::string_view::npos && colon == element.rfind(':');
    return parse_address(port ? element.substr(0, colon) : element);
}

/// Goes from the address nearest to this sidecar to the one farthest from it.
class Walk {
  public:
    Walk(const http::Fields& fields, std::span<const AddressBlock> proxies)
        : fields_(fields), proxies_(proxies) {}

    std::optional<Endpoint> run() {
        for (std::size_t i = fields_.size(); i-- > 0 && !done_;) {
            if (fields_[i].id == http::FieldId::x_forwarded_for) {
                field(fields_.value(i));
            }
        }
        return found_;
    }

  private:
    void field(std::string_view value) {
        while (!done_) {
            const auto comma = value.rfind(',');
            const bool first = comma == std::string_view::npos;
            element(trim(first ? value : value.substr(comma + 1)));
            if (first) {
                return;
            }
            value = value.substr(0, comma);
        }
    }

    void element(std::string_view text) {
        if (text.empty()) {
            return;
        }
        const auto address = address_in(text);
        // What a proxy has not understood, such as "unknown", is not looked behind: whoever wrote
        // the element to its right is the farthest that is known.
        if (!address) {
            done_ = true;
            return;
        }
        found_ = address;
        done_ = ++seen_ == kMostProxies || !contains(proxies_, *address);
    }

    const http::Fields& fields_;
    std::span<const AddressBlock> proxies_;
    std::optional<Endpoint> found_;
    std::size_t seen_ = 0;
    bool done_ = false;
};

}  // namespace

std::optional<Endpoint> sender_of(const http::Fields& fields, const Client& client) {
    if (client.trusted && fields.contains(http::FieldId::x_forwarded_for)) {
        if (const auto found = Walk(fields, client.proxies).run()) {
            return found;
        }
    }
    if (client.asks || client.address == Endpoint{}) {
        return std::nullopt;
    }
    return client.address;
}

}  // namespace weir::routing
