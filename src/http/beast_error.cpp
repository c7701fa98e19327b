#include "http/beast_error.h"

#include <boost/beast/http/error.hpp>

namespace weir::http {
namespace {

namespace beast = boost::beast;

Rejection of_content_length(const Fields& fields) {
    if (fields.contains(FieldId::transfer_encoding)) {
        return Rejection::length_and_encoding;
    }
    if (fields.contains(FieldId::content_length)) {
        return Rejection::length_repeated;
    }
    return Rejection::length_invalid;
}

Rejection of_transfer_encoding(const Fields& fields) {
    if (fields.contains(FieldId::transfer_encoding)) {
        return Rejection::encoding_repeated;
    }
    return Rejection::length_and_encoding;
}

}  // namespace

Rejection rejection_of(const boost::system::error_code& failure, const Fields& fields) {
    if (failure == beast::http::error::bad_content_length ||
        failure == beast::http::error::multiple_content_length) {
        return of_content_length(fields);
    }
    if (failure == beast::http::error::bad_transfer_encoding) {
        return of_transfer_encoding(fields);
    }
    if (failure == beast::http::error::bad_method) {
        return Rejection::bad_method;
    }
    if (failure == beast::http::error::bad_target) {
        return Rejection::bad_target;
    }
    if (failure == beast::http::error::bad_version) {
        return Rejection::bad_request_line;
    }
    // Beast looks only into the values of Connection and Proxy-Connection.
    if (failure == beast::http::error::bad_value) {
        return Rejection::bad_connection_option;
    }
    return Rejection::bad_field;
}

}  // namespace weir::http
