#include "admin/gzip.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <string>

using namespace weir::admin;

namespace {

std::string unpacked(std::string packed, std::size_t size) {
    z_stream stream{};
    REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);  // only gzip
    std::string result(size + 1, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END);
    result.resize(stream.total_out);
    inflateEnd(&stream);
    return result;
}

}  // namespace

TEST_CASE("gzip gives back what went in, and less") {
    std::string text;
    for (int i = 0; i < 2000; ++i) {
        text += "weir_requests_total " + std::to_string(i) + "\n";
    }
    const auto packed = gzip(text);
    REQUIRE(packed.has_value());
    CHECK(packed->size() < text.size() / 3);
    CHECK(unpacked(*packed, text.size()) == text);
    CHECK(unpacked(gzip("").value(), 0).empty());
}

TEST_CASE("Accept-Encoding is read with its weights") {
    for (const auto* yes : {"gzip", "GZIP", "deflate, gzip;q=0.5", "*", "gzip;q=1.0",
                            "identity;q=0, gzip", "br , gzip"}) {
        CAPTURE(yes);
        CHECK(accepts_gzip(yes));
    }
    for (const auto* no : {"", "identity", "gzip;q=0", "gzip;q=0.000", "*;q=0", "xgzip", "gzipx",
                           "gzip;q=0, *", ",,"}) {
        CAPTURE(no);
        CHECK_FALSE(accepts_gzip(no));
    }
}
