#include "routing/normal_path.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "routing/escapes.h"

namespace weir::routing {
namespace {

std::string joined(const NormalPath& path) {
    std::string text;
    for (std::size_t i = 0; i < path.size(); ++i) {
        text += "/" + std::string(path[i]);
    }
    return text.empty() ? "/" : text;
}

std::string normal(std::string_view raw, PathRules rules = {}) {
    NormalPath path;
    path.build(raw, rules);
    return joined(path);
}

Ambiguity ambiguity(std::string_view raw) {
    NormalPath path;
    path.build(raw, {});
    return path.ambiguity();
}

TEST_CASE("paths are decoded once and resolved") {
    CHECK(normal("/a/b") == "/a/b");
    CHECK(normal("/a/b/") == "/a/b");
    CHECK(normal("/") == "/");
    CHECK(normal("//a///b//") == "/a/b");
    CHECK(normal("/a/./b/../c") == "/a/c");
    CHECK(normal("/%61%2562") == "/a%62");
    CHECK(normal("/a//../b", {.resolve_dot_segments = true, .merge_slashes = false}) == "/a/b");
    CHECK(normal("/a//b", {.resolve_dot_segments = true, .merge_slashes = false}) == "/a//b");
    CHECK(normal("/a/../b", {.resolve_dot_segments = false, .merge_slashes = true}) == "/a/../b");
    NormalPath asterisk;
    asterisk.build("*", {});
    CHECK_FALSE(asterisk.is_rooted());
}

TEST_CASE("what two readers could read differently is ambiguous") {
    CHECK(ambiguity("/a/%2e%2e/b") == Ambiguity::escaped_dot_segment);
    CHECK(ambiguity("/a/.%2E/b") == Ambiguity::escaped_dot_segment);
    CHECK(ambiguity("/a/%2e") == Ambiguity::escaped_dot_segment);
    CHECK(ambiguity("/a%2F..%2Fb") == Ambiguity::escaped_dot_segment);
    CHECK(ambiguity("/a%") == Ambiguity::bad_escape);
    CHECK(ambiguity("/a%4") == Ambiguity::bad_escape);
    CHECK(ambiguity("/a%4g") == Ambiguity::bad_escape);
    CHECK(ambiguity("/a%00") == Ambiguity::bad_escape);
    CHECK(ambiguity("/a%2F%00b") == Ambiguity::bad_escape);
    for (const auto* hidden :
         {"/a\\..\\b", "/a%5C..", "/..%5C", "/a%5c.%5cb", "/.%0A./b", "/%0d.", "/a%2F.%2E"}) {
        CAPTURE(hidden);
        CHECK(ambiguity(hidden) == Ambiguity::escaped_dot_segment);
    }
    for (const auto* mixed : {"/a%2Fb\\c", "/a\\b/c%5Cd", "/a%0A/%2F", "/%5C/x%09"}) {
        CAPTURE(mixed);
        CHECK(ambiguity(mixed) == Ambiguity::none);
        NormalPath path;
        path.build(mixed, {});
        CHECK(path.doubt() == Doubt::several);
        CHECK(path.before_doubts() == 0);
    }
    CHECK(ambiguity("/../a") == Ambiguity::above_root);
    CHECK(ambiguity("/a%2Fb") == Ambiguity::none);
    CHECK(ambiguity("/a%5cb\\/..") == Ambiguity::doubtful_climb);
    CHECK(ambiguity("/a%5cb\\/%00") == Ambiguity::bad_escape);
    CHECK(ambiguity("/a\\b\\/...\\c") == Ambiguity::none);
    CHECK(ambiguity("/a%0D%0A/%09b%7f") == Ambiguity::none);
    CHECK(ambiguity("/a%252e%252e/..b/...") == Ambiguity::none);
}

TEST_CASE("backslashes and control bytes stay within their segment and are remembered") {
    NormalPath path;
    const auto reads = [&](std::string_view raw, std::string_view first, Doubt doubt) {
        CAPTURE(raw);
        path.build(raw, {});
        REQUIRE(path.size() == 2);
        CHECK(path[0] == first);
        CHECK(path.is_doubtful(0));
        CHECK_FALSE(path.is_doubtful(1));
        CHECK(path.doubt() == doubt);
    };
    reads("/a\\b/c", "a\\b", Doubt::backslash);
    reads("/a%5cb/c", "a\\b", Doubt::escaped_backslash);
    reads("/a%0a/%63", "a\n", Doubt::control_byte);
    path.build("/a/b^{}\"<>`|", {});
    CHECK(path.doubt() == Doubt::none);
    path.build_decoded_first("/a%5Cb\\c/%2e%2e/d%0D%0A", {});
    CHECK(joined(path) == "/a/b/d");
}

TEST_CASE("escaped slashes stay within their segment and are remembered") {
    NormalPath path;
    path.build("/a%2fb/c", {});
    REQUIRE(path.size() == 2);
    CHECK(path[0] == "a/b");
    CHECK(path.is_doubtful(0));
    CHECK_FALSE(path.is_doubtful(1));
    CHECK(path.doubt() == Doubt::escaped_slash);
    path.build_decoded_first("/a%2fb/%2e%2e/c", {});
    CHECK(joined(path) == "/a/c");
}

TEST_CASE("normalising twice is normalising once") {
    const std::vector<std::string> parts{"/",   "a", ".",  "..",   "%2e", "doubt",
                                         "%41", "%", "//", "b%20", "~"};
    CHECK(rc::check("idempotent", [&] {
        const auto chosen =
            *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(parts));
        // Two kinds in one path would make it ambiguous.
        const auto doubt = *rc::gen::elementOf(std::vector<std::string>{"%2F", "\\", "%5C", "%0A"});
        std::string raw = "/";
        for (const auto& part : chosen) {
            raw += part == "doubt" ? doubt : part;
        }
        NormalPath once;
        once.build(raw, {});
        RC_PRE(once.ambiguity() == Ambiguity::none);
        std::string written;  // with everything escaped that has a meaning
        for (std::size_t i = 0; i < once.size(); ++i) {
            written += '/';
            for (const char c : once[i]) {
                if (c == '/') {
                    written += "%2F";
                } else if (c == '%') {
                    written += "%25";
                } else if (c == '\n') {
                    written += "%0A";
                } else {
                    written += c;
                }
            }
        }
        NormalPath twice;
        twice.build(written.empty() ? "/" : written, {});
        RC_ASSERT(joined(twice) == joined(once));
        RC_ASSERT(twice.size() == once.size());
    }));
}

TEST_CASE("hosts lose case, port and trailing dot") {
    const auto host = [](std::string_view text) {
        std::string out;
        append_normal_host(out, text);
        return out;
    };
    CHECK(host("A.Example.:8080") == "a.example");
    CHECK(host("[::A]:80") == "[::a]");
    CHECK(host("") == "");
}

TEST_CASE("captured values cannot forge names") {
    const auto safe = [](std::string_view text) {
        std::string out;
        append_safe(out, text);
        return out;
    };
    CHECK(safe("plain-1._~") == "plain-1._~");
    CHECK(safe("a/b") == "a%2Fb");
    CHECK(safe("a%2Fb") == "a%252Fb");
    CHECK(safe("{x}\n\"\\ \xc3\xa4") == "%7Bx%7D%0A%22%5C%20%C3%A4");
    const std::string first = std::string(5000, 'a') + "1";
    const std::string second = std::string(5000, 'a') + "2";
    CHECK(safe(first).size() == kMaxCapture);
    CHECK(safe(first) == safe(first));
    CHECK(safe(first) != safe(second));
    CHECK(safe(std::string(kMaxCapture, 'a')) == std::string(kMaxCapture, 'a'));
    CHECK(rc::check("printable, bounded, without separators", [&](const std::string& text) {
        const auto out = safe(text);
        RC_ASSERT(out.size() <= kMaxCapture);
        for (const char c : out) {
            RC_ASSERT(c > 0x20 && c < 0x7f && c != '/' && c != '{');
        }
    }));
    CHECK(rc::check("different short values have different names",
                    [&](const std::string& a, const std::string& b) {
                        RC_PRE(a != b && a.size() < 40 && b.size() < 40);
                        RC_ASSERT(safe(a) != safe(b));
                    }));
}

TEST_CASE("comparing decodes on the way") {
    CHECK(equals_decoded("%61cl", "acl"));
    CHECK(equals_decoded("acl", "acl"));
    CHECK_FALSE(equals_decoded("acl%", "acl"));
    CHECK_FALSE(equals_decoded("ac", "acl"));
    CHECK_FALSE(equals_decoded("%2561cl", "acl"));
}

}  // namespace
}  // namespace weir::routing
