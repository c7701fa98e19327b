#include "cluster/seeds.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <utility>

namespace weir::cluster {

LookupPace::LookupPace(Duration interval, Duration interval_alone, Random random)
    : interval_(interval),
      interval_alone_(std::min(interval_alone, interval)),
      next_alone_(interval_alone_),
      random_(random) {}

Duration LookupPace::next(bool alone) {
    const Duration wait = alone ? next_alone_ : interval_;
    next_alone_ = alone ? std::min(next_alone_ * 2, interval_) : interval_alone_;
    return from_seconds(to_seconds(wait) * (0.75 + 0.5 * random_.unit()));
}

Seeds::Seeds(boost::asio::io_context& control, SeedsOptions options, Random random, Changed changed,
             Alone alone)
    : control_(control),
      timer_(control),
      options_(std::move(options)),
      pace_(options_.interval, options_.interval_alone, random),
      changed_(std::move(changed)),
      alone_(std::move(alone)) {
    for (const auto& seed : options_.join) {
        if (seed.literal) {
            literals_.push_back(*seed.literal);
        } else {
            names_.push_back({.host = seed.host, .port = seed.port, .addresses = {}});
        }
    }
}

void Seeds::start() {
    changed_(addresses(), false);
    if (names_.empty()) {
        return;
    }
    resolver_ = std::make_unique<SeedResolver>(control_, options_.lookup);
    look_up_all();
}

void Seeds::stop() {
    timer_.cancel();
    resolver_.reset();
}

std::vector<Endpoint> Seeds::addresses() const {
    Addresses all = literals_;
    for (const auto& name : names_) {
        all.insert(all.end(), name.addresses.begin(), name.addresses.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

std::map<std::string, std::string> Seeds::never_found() const {
    std::map<std::string, std::string> names;
    for (const auto& name : names_) {
        if (name.addresses.empty() && !name.failure.empty()) {
            names[name.host + ":" + std::to_string(name.port)] = name.failure;
        }
    }
    return names;
}

void Seeds::look_up_all() {
    for (auto& name : names_) {
        if (name.asked) {
            continue;  // the last look-up has not ended yet
        }
        ++lookups_;
        name.asked = resolver_->request(name.host, name.port, [this, &name](auto result) {
            answered(name, std::move(result));
        });
        if (!name.asked) {
            ++failures_;
        }
    }
    schedule();
}

void Seeds::answered(Name& name, Result<Addresses> result) {
    name.asked = false;
    if (result.has_error()) {
        ++failures_;
        name.failure = result.error().message;
        return;
    }
    name.addresses = std::move(*result);
    changed_(addresses(), true);
}

void Seeds::schedule() {
    timer_.expires_after(pace_.next(alone_()));
    timer_.async_wait([this](const boost::system::error_code& failure) {
        if (!failure && resolver_) {
            look_up_all();
        }
    });
}

}  // namespace weir::cluster
