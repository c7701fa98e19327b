// The messages of membership in docs/protocol.md against the bytes that the code writes: each table
// row and each layout in the text describes every byte of an encoded message, field by field.

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <span>
#include <sstream>
#include <string>

#include "cluster/protocol_bytes.h"
#include "gossip/wire.h"
#include "membership/messages.h"

namespace weir::membership {
namespace {

using namespace std::chrono_literals;
using test::Bytes;
using test::difference;
using test::encoded;
using test::Fields;
using test::page;
using test::Records;
using test::unlike;

constexpr std::uint64_t kNumber = 0x0102030405060708;
constexpr std::uint64_t kOther = 0x1112131415161718;
const gossip::MemberId kMember{Endpoint::v4(0x0a000001, 7946), kOther};
const std::string kMemberBytes = "040a0000011f0a1112131415161718";

TEST_CASE("every message type has its row with its number and name, and no other has") {
    std::map<unsigned, std::string> code;
    for (unsigned number = 0; number < 256; ++number) {
        const auto type = static_cast<gossip::MessageType>(number);
        if (is_known(type)) {
            code[number] = std::string(to_string(type));
        }
    }
    std::map<unsigned, std::string> docs;
    for (const auto& row : page().messages()) {
        const auto number = static_cast<unsigned>(std::stoul(row[0]));
        CHECK((!docs.contains(number) || row[1] == "hints"));  // travels in pings, tells counters
        docs[number] = row[1];
    }
    CHECK(docs == code);
}

TEST_CASE("no message has a number that the page keeps for later versions") {
    std::size_t kept = 0;
    for (const auto& row : page().table("### How later versions add to it", "place")) {
        std::istringstream numbers(row[1]);
        for (std::string number;
             row[0] == "type of message" && std::getline(numbers, number, ',');) {
            CHECK_FALSE(is_known(static_cast<gossip::MessageType>(std::stoul(number))));
            ++kept;
        }
    }
    CHECK(kept == 2);
}

TEST_CASE("the messages of membership are what the page says") {
    CHECK(unlike("ping", Ping{kNumber, kOther, 3},
                 {{"8 random number", kNumber},
                  {"8 hash of the sender's member list", kOther},
                  {"padding", "000000"}}) == "");
    CHECK(unlike("answer", PingAnswer{kNumber, kOther, {true, true}, 300},
                 {{"8 the ping's number", kNumber},
                  {"8 hash of the list", kOther},
                  {"1 flags", 3},
                  {"varint counter", 300}}) == "");
    CHECK(unlike("ping_request", PingRequest{kNumber, kMember},
                 {{"8 the asker's number", kNumber}, {"member to ping", kMemberBytes}}) == "");
    for (const char* name : {"indirect_answer", "indirect_failure"}) {
        CHECK(unlike(name, IndirectAnswer{kNumber}, {{"8 the asker's number", kNumber}}) == "");
    }
    CHECK(unlike("obituary", Obituary{kNumber}, {{"8 incarnation", kNumber}}) == "");
    CHECK(unlike("member_list_ask", MemberListAsk{kMember.address},
                 {{"endpoint after which", "040a0000011f0a"}}) == "");
    CHECK(unlike("member_list_ask", MemberListAsk{},
                 {{"endpoint after which", "06" + std::string(36, '0')}}) == "");
}

TEST_CASE("an update of a member is what the page says, in each state") {
    const std::string layout = page().sentence("Update: ");
    for (std::size_t state = 0; state < kMemberStates; ++state) {
        MemberUpdate update{kMember, static_cast<MemberState>(state), {false, true}, 300, kNumber};
        Fields fields = {
            {"1 state", state}, {"1 flags", 2}, {"member", kMemberBytes}, {"varint counter", 300}};
        if (update.state == MemberState::suspect) {
            fields.emplace_back("8 incarnation of who suspects", kNumber);
        }
        CHECK(difference(layout, encoded(update), fields) == "");
        CHECK(layout.find(std::to_string(state) + " " + std::string(to_string(update.state))) !=
              std::string::npos);
        const Records updates{layout, {fields, fields}};
        CHECK(unlike("member_list", MemberList{true, {update, update}},
                     {{"{1 more pages", Records{"", {{{"1 more pages", 1}}}}},
                      {"updates up to the end", updates}}) == "");
        const std::array both{update, update};
        const Bytes two = test::written(
            [&](ByteWriter& writer) { encode(writer, std::span<const MemberUpdate>(both)); });
        CHECK(difference(page().layout("member_updates"), two,
                         {{"updates up to the end", updates}}) == "");
    }
}

}  // namespace
}  // namespace weir::membership
