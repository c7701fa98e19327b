#include "cluster/advertise.h"

#include <doctest/doctest.h>

using namespace weir;
using namespace weir::cluster;

namespace {

Endpoint at(std::string_view text) {
    const auto endpoint = parse_endpoint(text);
    REQUIRE(endpoint.has_value());
    return *endpoint;
}

AdvertiseInputs everywhere() {
    return {.configured = std::nullopt,
            .pod_ip = "",
            .bound = at("0.0.0.0:7946"),
            .interfaces = {at("127.0.0.1:0"), at("[2001:db8::7]:0"), at("10.1.2.3:0"),
                           at("10.9.9.9:0")}};
}

}  // namespace

TEST_CASE("what is configured wins, with the bound port unless it says one") {
    auto inputs = everywhere();
    inputs.pod_ip = "10.0.0.1";
    inputs.configured = at("192.0.2.1:1234");
    CHECK(*choose_advertised(inputs) == at("192.0.2.1:1234"));
    inputs.configured = at("192.0.2.1:0");
    CHECK(*choose_advertised(inputs) == at("192.0.2.1:7946"));
    inputs.configured = at("0.0.0.0:7946");
    CHECK(choose_advertised(inputs).has_error());
    inputs.configured = at("[::]:7946");
    CHECK(choose_advertised(inputs).has_error());
}

TEST_CASE("POD_IP comes next, of either family") {
    auto inputs = everywhere();
    inputs.pod_ip = "10.0.0.1";
    CHECK(*choose_advertised(inputs) == at("10.0.0.1:7946"));
    inputs.pod_ip = "2001:db8::1";
    CHECK(*choose_advertised(inputs) == at("[2001:db8::1]:7946"));
    for (const auto* bad : {"pod", "10.0.0.1:80", "0.0.0.0", "[2001:db8::1]"}) {
        CAPTURE(bad);
        inputs.pod_ip = bad;
        CHECK(choose_advertised(inputs).has_error());
    }
}

TEST_CASE("a bound address is advertised as it is") {
    auto inputs = everywhere();
    inputs.bound = at("10.9.9.9:7000");
    CHECK(*choose_advertised(inputs) == at("10.9.9.9:7000"));
    inputs.bound = at("127.0.0.1:7000");
    CHECK(*choose_advertised(inputs) == at("127.0.0.1:7000"));
}

TEST_CASE("bound to everything: the first interface that the socket's family reaches") {
    auto inputs = everywhere();
    CHECK(*choose_advertised(inputs) == at("10.1.2.3:7946"));
    inputs.bound = at("[::]:7946");
    CHECK(*choose_advertised(inputs) == at("[2001:db8::7]:7946"));
    inputs.interfaces = {at("127.0.0.1:0")};
    CHECK(*choose_advertised(inputs) == at("127.0.0.1:7946"));
    inputs.interfaces.clear();
    CHECK(choose_advertised(inputs).has_error());
}

TEST_CASE("this machine has interface addresses, none of them link-local or unspecified") {
    for (const auto& address : interface_addresses()) {
        CAPTURE(to_string(address));
        CHECK_FALSE(is_unspecified(address));
        CHECK(address.port == 0);
        CHECK_FALSE(to_string(address).starts_with("169.254."));
        CHECK_FALSE(to_string(address).starts_with("[fe80"));
    }
}
