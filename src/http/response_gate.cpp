#include "http/response_gate.h"

#include "base/characters.h"
#include "http/element_list.h"
#include "http/framing.h"

namespace weir::http {

/// Whether the response has no body whatever its fields say (RFC 9112, 6.3, rule 1).
bool ResponseGate::never_has_body() const {
    return asked_.method == Method::head || head_.status_ < 200 || head_.status_ == 204 ||
           head_.status_ == 304;
}

/// Whether the response's Upgrade names the protocol that was asked for, and no other (RFC 9110,
/// 7.8). Otherwise the two sides may speak different protocols from now on.
bool ResponseGate::switches_as_asked() const {
    std::size_t named = 0;
    bool as_asked = !asked_.upgrade.empty() && head_.minor_version_ == 1;
    const auto& fields = head_.fields_;
    for (auto i = fields.find(FieldId::upgrade); i != Fields::kNone;
         i = fields.find(FieldId::upgrade, i + 1)) {
        for_each_element(fields.value(i), [&](std::string_view protocol) {
            ++named;
            as_asked = as_asked && equals_ignoring_case(protocol, asked_.upgrade);
        });
    }
    return as_asked && named == 1;
}

/// Only the first of equal Content-Length fields is passed on, because clients may be stricter.
void ResponseGate::drop_repeated_lengths() {
    auto& fields = head_.fields_;
    if (!fields.repeats(FieldId::content_length)) {
        return;
    }
    const auto first = fields.find(FieldId::content_length);
    for (auto i = fields.find(FieldId::content_length, first + 1); i != Fields::kNone;
         i = fields.find(FieldId::content_length, i + 1)) {
        fields.drop(i);
    }
}

Rejection ResponseGate::judge() {
    // Statuses from 600 on are in no RFC, but three digits, and so some services use them.
    if (head_.status_ < 100) {
        return Rejection::bad_status_line;
    }
    if (head_.status_ == 101 && !switches_as_asked()) {
        return Rejection::unexpected_upgrade;
    }
    const auto declared =
        declared_framing(head_.fields_, head_.minor_version_, RepeatedLength::one_if_equal);
    if (declared.rejection != Rejection::none) {
        return declared.rejection;
    }
    drop_repeated_lengths();
    const auto options = connection_options(head_.fields_);
    if (!options.valid) {
        return Rejection::bad_connection_option;
    }
    head_.keep_alive_ = !options.close && (head_.minor_version_ == 1 || options.keep_alive);
    if (head_.is_upgrade()) {
        // A length or a coding means nothing here (RFC 9110, 8.6; RFC 9112, 6.1), and is not passed
        // on.
        head_.body_ = {BodyKind::until_close, 0};
        head_.keep_alive_ = false;
        return options.upgrade ? Rejection::none : Rejection::unexpected_upgrade;
    }
    if (never_has_body() || declared.length == 0U) {
        head_.body_ = {};
    } else if (declared.chunked) {
        head_.body_ = {BodyKind::chunked, 0};
    } else if (declared.length) {
        head_.body_ = {BodyKind::length, *declared.length};
    } else {
        head_.body_ = {BodyKind::until_close, 0};
        head_.keep_alive_ = false;
    }
    return Rejection::none;
}

}  // namespace weir::http
