#pragma once
// Translates errors of Beast's parser into Rejection. Used by the sources of this module only. Pure
// functions, thread-safe.

#include <boost/system/error_code.hpp>
#include <limits>

#include "http/fields.h"
#include "http/rejection.h"

namespace weir::http {

/// The reason why the parser failed. `fields` holds the fields that it read before the failure.
[[nodiscard]] Rejection rejection_of(const boost::system::error_code& failure,
                                     const Fields& fields);

/// Adds a field whose name and value lie in the bytes that were given to Fields::begin(). False
/// when the name is too long for the table.
[[nodiscard]] inline bool add_field(Fields& fields, std::string_view name, std::string_view value) {
    if (name.size() > std::numeric_limits<std::uint16_t>::max()) {
        return false;
    }
    fields.add(name, value);
    return true;
}

}  // namespace weir::http
