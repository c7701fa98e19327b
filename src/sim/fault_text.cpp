#include "sim/fault_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/assert.h"
#include "base/closest.h"
#include "config/reader.h"
#include "config/values.h"
#include "sim/fleet_limits.h"
#include "sim/value_reader.h"

namespace weir::sim {
namespace {

using config::Diagnostics;
using config::NodeRef;

/// The shortest text that reads back as the same number.
std::string number_text(double value) {
    std::array<char, 64> text{};
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    return {text.data(), end.ptr};
}

std::string target_text(const FaultTarget& target) {
    switch (target.kind) {
        case FaultTarget::Kind::number:
            return std::to_string(target.number);
        case FaultTarget::Kind::owner:
            return "owner of " + target.quota;
        case FaultTarget::Kind::no_owner:
            return "no owner of " + target.quota;
        case FaultTarget::Kind::owners:
            return "owners of " + target.quota;
    }
    return {};
}

void read_quota(NodeRef node, std::string_view name, const FaultContext& context,
                std::string& quota, Diagnostics& diagnostics) {
    if (!is_covered(name, context.quotas)) {
        std::vector<std::string_view> names;
        for (const limiter::QuotaDefinition& each : context.quotas) {
            names.push_back(each.name);
        }
        diagnostics.error(node, "there is no quota '" + std::string(name) + "'",
                          closest(name, names));
    }
    quota = std::string(name);
}

void read_target(NodeRef node, const FaultContext& context, Fault& fault,
                 Diagnostics& diagnostics) {
    const auto text = config::read_text(node, diagnostics);
    if (!text) {
        return;
    }
    struct Word {
        std::string_view before;
        FaultTarget::Kind kind;
    };
    for (const Word& word : {Word{"owner of ", FaultTarget::Kind::owner},
                             Word{"no owner of ", FaultTarget::Kind::no_owner},
                             Word{"owners of ", FaultTarget::Kind::owners}}) {
        if (text->starts_with(word.before)) {
            fault.target.kind = word.kind;
            return read_quota(node, text->substr(word.before.size()), context, fault.target.quota,
                              diagnostics);
        }
    }
    if (!config::parse_unsigned(*text)) {
        diagnostics.error(node,
                          "must be a sidecar's number, 'owner of QUOTA', 'no owner of "
                          "QUOTA' or 'owners of QUOTA'");
        return;
    }
    fault.target.number = read_sidecar(node, context.sidecars, diagnostics);
}

void read_side(NodeRef node, const FaultContext& context, Fault& fault, Diagnostics& diagnostics) {
    for (const NodeRef each : config::read_list(node, diagnostics)) {
        fault.side.push_back(read_sidecar(each, context.sidecars, diagnostics));
    }
    if (fault.side.empty()) {
        diagnostics.error(node, "needs at least one sidecar");
    }
}

std::string side_text(const Fault& fault) {
    std::string text;
    for (const std::uint32_t sidecar : fault.side) {
        text += (text.empty() ? "[" : ", ") + std::to_string(sidecar);
    }
    return text.empty() ? text : text + "]";
}

template <double Fault::*member>
void read_time(NodeRef node, const FaultContext&, Fault& fault, Diagnostics& diagnostics) {
    fault.*member = read_seconds(node, diagnostics);
}

template <double Fault::*member>
std::string write_time(const Fault& fault) {
    return seconds_text(fault.*member);
}

constexpr std::array kFields = {
    FaultField{"sidecar", "`3`, `owner of q`, `no owner of q` or `owners of q`",
               "to whom it happens; `owners of q` are all of them", read_target,
               [](const Fault& fault) { return target_text(fault.target); }},
    FaultField{"for", "a time", "how long", read_time<&Fault::seconds>,
               write_time<&Fault::seconds>},
    FaultField{"by", "a time", "how far the clock leaps, or is wrong", read_time<&Fault::amount>,
               write_time<&Fault::amount>},
    FaultField{"each_way", "a time", "how long a datagram takes", read_time<&Fault::amount>,
               write_time<&Fault::amount>},
    FaultField{"share", "a percentage", "of the datagrams",
               [](NodeRef node, const FaultContext&, Fault& fault, Diagnostics& diagnostics) {
                   fault.amount = read_share(node, diagnostics);
               },
               [](const Fault& fault) { return share_text(fault.amount); }},
    FaultField{"side", "`[1, 3]`", "the sidecars on one side of the cut", read_side, side_text},
    FaultField{
        "quota", "a name",
        "whose rate changes; in windows, the amount that the rate gives in a window",
        [](NodeRef node, const FaultContext& context, Fault& fault, Diagnostics& diagnostics) {
            const auto text = config::read_text(node, diagnostics);
            read_quota(node, text.value_or(""), context, fault.quota, diagnostics);
        },
        [](const Fault& fault) { return fault.quota; }},
    FaultField{"rate", "`4r/s`", "the new rate",
               [](NodeRef node, const FaultContext&, Fault& fault, Diagnostics& diagnostics) {
                   fault.amount = read_rate(node, diagnostics);
               },
               [](const Fault& fault) { return rate_text(fault.amount); }},
    FaultField{"stopped", "a time", "how long of each period it does not run",
               read_time<&Fault::stopped>, write_time<&Fault::stopped>},
    FaultField{"every", "a time", "the period", read_time<&Fault::every>,
               write_time<&Fault::every>},
    FaultField{"apart", "a time", "with `owners of q`: from one sidecar to the next",
               read_time<&Fault::apart>, write_time<&Fault::apart>},
};

const FaultField& field_of(std::string_view key) {
    const auto found = std::find_if(kFields.begin(), kFields.end(),
                                    [&](const FaultField& field) { return field.key == key; });
    WEIR_ASSERT(found != kFields.end());
    return *found;
}

/// Whether the quota's first limit is one of requests in flight, which no rate can change.
bool counts_in_flight(const Fault& fault, const FaultContext& context) {
    const auto found = std::find_if(context.quotas.begin(), context.quotas.end(),
                                    [&](const auto& each) { return each.name == fault.quota; });
    return found != context.quotas.end() && !found->limits.empty() &&
           found->limits.front().is_concurrency();
}

void check(const Fault& fault, NodeRef node, const FaultContext& context,
           Diagnostics& diagnostics) {
    if (fault.kind == FaultKind::edit && counts_in_flight(fault, context)) {
        diagnostics.error(node, "the first limit of '" + fault.quota +
                                    "' is one of requests in flight, which has no rate");
    }
    constexpr double kShortestPeriod = 0.001;
    if (fault.kind == FaultKind::throttle && !diagnostics.has_errors() &&
        (fault.every < kShortestPeriod || fault.stopped >= fault.every)) {
        diagnostics.error(node, "'every' must be at least 1ms, and longer than 'stopped'");
    }
}

void read_fields(const FaultForm& form, NodeRef node, const FaultContext& context, Fault& fault,
                 Diagnostics& diagnostics) {
    if (form.needed.empty() && node->kind == config::NodeKind::null) {
        return;
    }
    if (node.is_scalar() && form.needed.size() == 1) {
        return field_of(form.needed.front()).read(node, context, fault, diagnostics);
    }
    config::MapReader reader(node, diagnostics);
    for (const std::string_view key : form.needed) {
        if (const auto value = reader.require(key)) {
            field_of(key).read(*value, context, fault, diagnostics);
        }
    }
    for (const std::string_view key : form.optional) {
        if (const auto value = reader.take(key)) {
            field_of(key).read(*value, context, fault, diagnostics);
        }
    }
    reader.finish();
    check(fault, node, context, diagnostics);
}

}  // namespace

std::string seconds_text(double seconds) { return number_text(seconds) + "s"; }

std::string share_text(double share) { return config::format_percentage(share); }

std::string rate_text(double per_second) {
    return per_second == 0 ? "0" : number_text(per_second) + "r/s";
}

std::span<const FaultField> fault_fields() { return kFields; }

namespace {

/// The forms of the kinds up to a cut, and of all others, in the order of FaultKind.
std::vector<FaultForm> forms_up_to_cuts() {
    using enum FaultKind;
    return {
        {kill,
         "kill",
         {"sidecar"},
         {"for", "apart"},
         "the process is gone; another one starts after `for`, if that is given"},
        {restart, "restart", {"sidecar"}, {"apart"}, "another process takes its place at once"},
        {goodbye,
         "goodbye",
         {"sidecar"},
         {"for", "apart"},
         "like `kill`, but the process says goodbye before"},
        {stop,
         "stop",
         {"sidecar", "for"},
         {"apart"},
         "the process does not run; its clock goes on"},
        {pause,
         "pause",
         {"sidecar", "for"},
         {"apart"},
         "the whole machine does not run; its clock stands still"},
        {leap, "leap", {"sidecar", "by"}, {"apart"}, "its clock leaps forward"},
        {cut, "cut", {"side", "for"}, {}, "nothing passes between the side and the others"},
        {cut_one_way,
         "cut_one_way",
         {"side", "for"},
         {},
         "nothing passes from the side to the others"},
    };
}

std::vector<FaultForm> forms_after_cuts() {
    using enum FaultKind;
    return {
        {loss, "loss", {"share", "for"}, {}, "datagrams are lost"},
        {duplication, "duplication", {"share", "for"}, {}, "datagrams come twice"},
        {reordering, "reordering", {"share", "for"}, {}, "datagrams come up to two seconds late"},
        {delay, "delay", {"each_way", "for"}, {}, "datagrams take longer"},
        {clone,
         "clone",
         {"sidecar", "for"},
         {"share"},
         "another machine has the same address, and gets the share of what is sent there"},
        {churn, "churn", {"sidecar", "for"}, {"apart"}, "a restart every two seconds"},
        {rotate_keys,
         "rotate_keys",
         {},
         {},
         "all accept a new key, then use it, then drop the old one"},
        {edit,
         "edit",
         {"sidecar", "quota", "rate"},
         {},
         "the quota's first limit gets another rate, through the sidecar's API"},
        {throttle,
         "throttle",
         {"sidecar", "stopped", "every", "for"},
         {"apart"},
         "the process is stopped for a part of each period, and its requests wait"},
        {set_ahead,
         "set_ahead",
         {"sidecar", "by"},
         {"for", "apart"},
         "the wall clock of its machine is ahead of all others, until it is set right after `for`"},
        {set_back,
         "set_back",
         {"sidecar", "by"},
         {"for", "apart"},
         "the same, and it is behind the others"},
    };
}

}  // namespace

std::span<const FaultForm> fault_forms() {
    static const std::vector<FaultForm> forms = [] {
        std::vector<FaultForm> all = forms_up_to_cuts();
        std::vector<FaultForm> others = forms_after_cuts();
        std::move(others.begin(), others.end(), std::back_inserter(all));
        WEIR_ASSERT(all.size() == kFaultKinds);
        return all;
    }();
    return forms;
}

std::string_view to_string(FaultKind kind) {
    return fault_forms()[static_cast<std::size_t>(kind)].key;
}

std::size_t take_faults(config::MapReader& step, double at, const FaultContext& context,
                        std::vector<Fault>& faults, Diagnostics& diagnostics) {
    std::size_t found = 0;
    for (const FaultForm& form : fault_forms()) {
        const auto node = step.take(form.key);
        if (!node) {
            continue;
        }
        ++found;
        const std::size_t errors = diagnostics.error_count();
        Fault fault;
        fault.at = at;
        fault.kind = form.kind;
        read_fields(form, *node, context, fault, diagnostics);
        if (diagnostics.error_count() == errors) {
            faults.push_back(std::move(fault));
        }
    }
    return found;
}

std::string describe(const Fault& fault) {
    const FaultForm& form = fault_forms()[static_cast<std::size_t>(fault.kind)];
    std::string fields;
    const auto add = [&](std::string_view key) {
        fields +=
            (fields.empty() ? "" : ", ") + std::string(key) + ": " + field_of(key).write(fault);
    };
    std::for_each(form.needed.begin(), form.needed.end(), add);
    for (const std::string_view key : form.optional) {
        if (field_of(key).write(fault) != field_of(key).write(Fault{})) {
            add(key);
        }
    }
    return "{at: " + seconds_text(fault.at) + ", " + std::string(form.key) + ": {" + fields + "}}";
}

}  // namespace weir::sim
