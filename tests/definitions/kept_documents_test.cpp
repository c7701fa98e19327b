// Documents as a file's bytes: what is kept, and everything that must be refused.
#include "definitions/kept_documents.h"

#include <doctest/doctest.h>

#include "definitions/codec.h"
#include "definitions/quota.h"

namespace weir::definitions {
namespace {

using test::quota;
using Bytes = std::vector<std::byte>;

KeptDocument a_document(const std::string& set, std::optional<std::uint64_t> generation,
                        double amount) {
    auto encoded = encode_document(std::vector{quota(set + "/a", amount), quota(set + "/b", 5)});
    REQUIRE(encoded.has_value());
    const std::uint64_t hash = document_hash(*encoded);
    return {set, generation, hash, std::make_shared<const Bytes>(std::move(*encoded))};
}

Bytes kept_file(const std::vector<KeptDocument>& documents) {
    Bytes file = front_of_kept(documents, "storage");
    for (const KeptDocument& one : documents) {
        file.insert(file.end(), one.bytes->begin(), one.bytes->end());
    }
    return file;
}

Bytes two_documents() { return kept_file({a_document("fleet", 7, 3), a_document("here", {}, 4)}); }

}  // namespace

TEST_CASE("documents are read as they were written") {
    const std::vector<KeptDocument> before = {a_document("fleet", 7, 3), a_document("here", {}, 4)};
    const auto after = read_kept(kept_file(before), "storage");
    REQUIRE(after.has_value());
    REQUIRE(after->size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK((*after)[i].set == before[i].set);
        CHECK((*after)[i].generation == before[i].generation);
        CHECK((*after)[i].content_hash == before[i].content_hash);
        CHECK(*(*after)[i].bytes == *before[i].bytes);
    }
    CHECK(read_kept(kept_file({}), "storage")->empty());
}

TEST_CASE("every cut, every flipped bit and every further byte is refused") {
    const Bytes good = two_documents();
    for (std::size_t length = 0; length < good.size(); ++length) {
        CAPTURE(length);
        CHECK_FALSE(read_kept(ByteSpan(good).first(length), "storage").has_value());
    }
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
        CAPTURE(bit);
        Bytes bad = good;
        bad[bit / 8] ^= std::byte(1U << (bit % 8));
        CHECK_FALSE(read_kept(bad, "storage").has_value());
    }
    Bytes longer = good;
    longer.push_back(std::byte{0});
    CHECK_FALSE(read_kept(longer, "storage").has_value());
}

TEST_CASE("a file of another cluster is refused") {
    const auto read = read_kept(two_documents(), "other");
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().message == "it is of the cluster 'storage'");
}

TEST_CASE("a file of another program is known by its beginning") {
    const Bytes good = two_documents();
    CHECK(may_be_kept(ByteSpan(good).first(kKeptMagicBytes)));
    CHECK(may_be_kept({}));
    CHECK_FALSE(may_be_kept(as_bytes("upstream")));
}

}  // namespace weir::definitions
