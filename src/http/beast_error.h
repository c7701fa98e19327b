#pragma once
// Translates what Beast's parser refused into our reasons. For this module's sources.

#include <boost/system/error_code.hpp>

#include "http/fields.h"
#include "http/rejection.h"

namespace weir::http {

/// `fields`: those read before the refused one.
[[nodiscard]] Rejection rejection_of(const boost::system::error_code& failure,
                                     const Fields& fields);

/// Adds a field whose name and value lie in the bytes that begin at `base`. False when the name is
/// too long for the table.
[[nodiscard]] bool add_field(Fields& fields, const char* base, std::string_view name,
                             std::string_view value);

}  // namespace weir::http
