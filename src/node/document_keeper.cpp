#include "node/document_keeper.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/hash.h"
#include "definitions/store.h"
#include "net/clock.h"
#include "node/snapshot_file.h"

namespace weir::node {
namespace {

using definitions::KeptDocument;

/// The first `most` bytes of the file. The error is not_found if there is none.
Result<std::vector<std::byte>> beginning_of(const std::string& path, std::size_t most) {
    const auto input = SnapshotInput::open(path);
    if (!input) {
        return input.error();
    }
    std::vector<std::byte> bytes;
    const auto read = input->read([&](ByteSpan piece) {
        const ByteSpan wanted = piece.first(std::min(piece.size(), most - bytes.size()));
        bytes.insert(bytes.end(), wanted.begin(), wanted.end());
        return bytes.size() < most;
    });
    if (!read) {
        return read.error();
    }
    return bytes;
}

Result<void> write_file(const std::string& path, const std::vector<KeptDocument>& documents,
                        const std::string& cluster) {
    std::uint64_t bytes = 0;
    for (const KeptDocument& one : documents) {
        bytes += one.bytes->size();
    }
    if (bytes > definitions::kMaximumKept) {
        return error(
            ErrorCode::too_large,
            "they have more than " + std::to_string(definitions::kMaximumKept >> 20U) + " MiB");
    }
    const auto before = beginning_of(path, definitions::kKeptMagicBytes);
    if (!before && before.error().code != ErrorCode::not_found) {
        return before.error();
    }
    if (before && !definitions::may_be_kept(*before)) {
        return error(ErrorCode::conflict,
                     path + " has no quota documents of weir and is not written over");
    }
    auto file = SnapshotFile::create(path);
    if (!file) {
        return file.error();
    }
    auto written = file->append(definitions::front_of_kept(documents, cluster));
    for (auto at = documents.begin(); written && at != documents.end(); ++at) {
        written = file->append(*at->bytes);
    }
    if (!written) {
        return written;
    }
    if (auto size = file->commit(); !size) {
        return size.error();
    }
    return {};
}

constexpr const char* kNotUsed = "the quota documents that were kept are not used";

std::string listed(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& one : words) {
        text += (text.empty() ? "" : ", ") + one;
    }
    return text;
}

}  // namespace

DocumentKeeper::DocumentKeeper(boost::asio::io_context& control,
                               const definitions::DefinitionStore& store, std::string file,
                               std::string cluster, Tell tell, SnapshotTiming timing)
    : control_(control),
      store_(store),
      file_(std::move(file)),
      cluster_(std::move(cluster)),
      tell_(std::move(tell)),
      timing_(timing),
      timer_(control),
      retry_(timing.first_retry),
      helper_(1) {}

DocumentKeeper::~DocumentKeeper() { helper_.join(); }

void DocumentKeeper::tell(bool is_warning, std::string message, std::string reason) const {
    if (tell_) {
        tell_({is_warning, std::move(message), std::move(reason)});
    }
}

std::vector<KeptDocument> DocumentKeeper::load(std::optional<std::uint64_t> room) const {
    // The bytes of the file, and the documents made of them.
    const std::uint64_t most =
        std::min<std::uint64_t>(definitions::kMaximumKept, room ? *room / 2 : UINT64_MAX);
    const auto bytes = beginning_of(file_, most + 1);
    if (!bytes && bytes.error().code == ErrorCode::not_found) {
        return {};
    }
    if (bytes && bytes->size() > most) {
        tell(true, kNotUsed,
             file_ + ": it has more than the " + std::to_string(most >> 20U) +
                 " MiB for which there is room");
        return {};
    }
    auto documents = bytes ? definitions::read_kept(*bytes, cluster_) : bytes.error();
    if (!documents) {
        tell(true, kNotUsed, file_ + ": " + documents.error().message);
        return {};
    }
    return std::move(*documents);
}

void DocumentKeeper::tell_used(const KeptOutcome& outcome) const {
    if (!outcome.used.empty()) {
        tell(false, "quota documents that were kept are used", listed(outcome.used));
    }
    if (!outcome.not_used.empty()) {
        tell(true, kNotUsed, listed(outcome.not_used));
    }
}

void DocumentKeeper::start(std::function<bool()> are_good) {
    are_good_ = std::move(are_good);
    look_again();
}

std::uint64_t DocumentKeeper::fingerprint() const {
    std::uint64_t hash = 0;
    for (const definitions::SetStatus& set : store_.sets()) {
        hash = mix(hash ^ keyed_hash(set.set, HashKey{}));
        hash = mix(hash ^ set.content_hash ^ mix(set.generation.value_or(0)));
    }
    return hash;
}

void DocumentKeeper::look_again() {
    if (stopped_) {
        return;
    }
    look(net::now());
    timer_.expires_after(timing_.look);
    timer_.async_wait([this](const boost::system::error_code& failure) {
        if (!failure) {
            look_again();
        }
    });
}

void DocumentKeeper::look(Instant now) {
    if (writing_ || store_.loading() || !are_good_()) {
        return;
    }
    const std::uint64_t here = fingerprint();
    const bool settled = std::exchange(seen_, here) == here;
    if (here == saved_ || !settled || now < next_attempt_) {
        return;
    }
    writing_ = true;
    boost::asio::post(
        helper_, [this, here, file = file_, cluster = cluster_, documents = store_.documents()] {
            auto outcome = write_file(file, documents, cluster);
            boost::asio::post(control_, [this, here, outcome = std::move(outcome)] {
                if (!stopped_) {
                    on_written(outcome, here);
                }
            });
        });
}

void DocumentKeeper::on_written(const Result<void>& outcome, std::uint64_t what) {
    writing_ = false;
    if (outcome) {
        saved_ = what;
        retry_ = timing_.first_retry;
        if (!std::exchange(problem_, {}).empty()) {
            tell(false, "the quota documents are kept again", file_);
        }
        return;
    }
    next_attempt_ = net::now() + retry_;
    retry_ = std::min(2 * retry_, timing_.last_retry);
    if (std::exchange(problem_, outcome.error().message) != outcome.error().message) {
        tell(true, "the quota documents cannot be kept, everything else goes on", problem_);
    }
}

void DocumentKeeper::stop() {
    if (std::exchange(stopped_, true)) {
        return;
    }
    timer_.cancel();
    helper_.join();
    if (are_good_ && !store_.loading() && are_good_() && fingerprint() != saved_) {
        on_written(write_file(file_, store_.documents(), cluster_), fingerprint());
    }
}

}  // namespace weir::node
