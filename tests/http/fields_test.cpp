#include "http/fields.h"

#include <doctest/doctest.h>

#include <string>

namespace weir::http {
namespace {

TEST_CASE("names are known whatever their case, and only whole") {
    CHECK(identify("Content-Length") == FieldId::content_length);
    CHECK(identify("CONTENT-LENGTH") == FieldId::content_length);
    CHECK(identify("te") == FieldId::te);
    CHECK(identify("Content_Length") == FieldId::other);
    CHECK(identify("Content-Lengt") == FieldId::other);
    CHECK(identify("") == FieldId::other);
    CHECK(identify(std::string(200, 'a')) == FieldId::other);
}

}  // namespace
}  // namespace weir::http
