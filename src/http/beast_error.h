#pragma once
// Translates what Beast's parser refused into our reasons. For this module's sources.

#include <boost/system/error_code.hpp>
#include <limits>

#include "http/fields.h"
#include "http/rejection.h"

namespace weir::http {

/// `fields`: those read before the refused one.
[[nodiscard]] Rejection rejection_of(const boost::system::error_code& failure,
                                     const Fields& fields);

/// Adds a field whose name and value lie in the bytes that the fields begin with. False when the
/// name is too long for the table.
[[nodiscard]] inline bool add_field(Fields& fields, std::string_view name, std::string_view value) {
    if (name.size() > std::numeric_limits<std::uint16_t>::max()) {
        return false;
    }
    fields.add(name, value);
    return true;
}

}  // namespace weir::http
