#include "node/snapshot_keeper.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "definitions/store.h"
#include "net/clock.h"

namespace weir::node {
namespace {

using definitions::SnapshotFault;
using definitions::SnapshotReader;

constexpr int kShareOfTime = 20;  // saving takes at most a twentieth of the time

std::string explain(SnapshotFault fault, const SnapshotReader& reader,
                    const definitions::SnapshotExpectation& expected) {
    switch (fault) {
        case SnapshotFault::foreign:
            return "it is no snapshot of weir; move it away, or let snapshot.file name another";
        case SnapshotFault::format:
            return "it is of another version's format";
        case SnapshotFault::truncated:
            return "it ends too early";
        case SnapshotFault::damaged:
            return "it is damaged";
        case SnapshotFault::cluster:
            return "it is of the cluster '" + reader.cluster() + "', this is '" + expected.cluster +
                   "'";
        case SnapshotFault::old:
            return "it was written " +
                   std::to_string(
                       std::chrono::duration_cast<std::chrono::hours>(reader.age()).count()) +
                   " hours ago, beyond snapshot.max_age: what was removed since then would come "
                   "back";
    }
    return "it cannot be used";
}

}  // namespace

SnapshotKeeper::SnapshotKeeper(boost::asio::io_context& control,
                               definitions::DefinitionStore& store, const KeptOfLimits& kept,
                               config::SnapshotSettings settings, std::string cluster, Tell tell,
                               SnapshotTiming timing)
    : control_(control),
      store_(store),
      counts_(kept.counts),
      levels_(kept.levels),
      settings_(std::move(settings)),
      cluster_(std::move(cluster)),
      tell_(std::move(tell)),
      timing_(timing),
      look_timer_(control),
      piece_timer_(control),
      retry_(timing.first_retry),
      helper_(1) {
    figures_.file = settings_.file;
    counts_.want();
}

SnapshotKeeper::~SnapshotKeeper() { helper_.join(); }

void SnapshotKeeper::tell(bool is_warning, std::string message, std::string reason) const {
    if (tell_) {
        tell_({is_warning, std::move(message), std::move(reason)});
    }
}

void SnapshotKeeper::tell_number(bool is_warning, std::string message, std::uint64_t number) const {
    if (number > 0) {
        tell(is_warning, std::move(message), std::to_string(number));
    }
}

bool SnapshotKeeper::changed() const { return saved_ != store_.overrides().root_hash(); }

admin::SnapshotFigures SnapshotKeeper::figures() const {
    admin::SnapshotFigures figures = figures_;
    figures.unsaved = changed();
    figures.unsaved_counts = saved_counts_ != counts_.news();
    figures.unsaved_levels = saved_levels_ != levels_.news();
    return figures;
}

// --- reading ------------------------------------------------------------------------------------

/// Reads the whole file. The result says why it must not be used; nothing if it may be.
std::optional<SnapshotKeeper::SnapshotRefusal> SnapshotKeeper::read_whole(
    const SnapshotInput& input, const definitions::SnapshotExpectation& expected,
    SnapshotReader& reader) {
    const auto read = input.read([&](ByteSpan piece) { return !reader.receive(piece); });
    if (!read) {
        return SnapshotRefusal{read.error().message, false, false};
    }
    const auto fault = reader.finish();
    if (!fault) {
        return std::nullopt;
    }
    return SnapshotRefusal{explain(*fault, reader, expected), *fault != SnapshotFault::foreign,
                           *fault == SnapshotFault::old};
}

void SnapshotKeeper::load(Instant now, Duration unix_now) {
    const auto input = SnapshotInput::open(settings_.file);
    if (!input && input.error().code == ErrorCode::not_found) {
        figures_.found = "none";
        return;
    }
    if (!input) {
        refuse({input.error().message, false, false});
        return;
    }
    const definitions::SnapshotExpectation expected{cluster_, now, unix_now, settings_.max_age};
    // What is read is kept here until the whole file is known to be good.
    std::vector<definitions::DefinitionEntry> entries;
    std::vector<std::vector<std::byte>> counts;
    std::vector<std::vector<std::byte>> levels;
    SnapshotReader reader(
        expected, [&](definitions::DefinitionEntry entry) { entries.push_back(std::move(entry)); },
        [&](ByteSpan block) { counts.emplace_back(block.begin(), block.end()); },
        [&](ByteSpan block) { levels.emplace_back(block.begin(), block.end()); });
    const auto refusal = read_whole(*input, expected, reader);
    if (!refusal || refusal->is_old) {
        take_counts(counts);
        take_levels(levels, now, unix_now);
    }
    if (refusal) {
        refuse(*refusal);
    } else {
        take(std::move(entries), reader.age(), now);
    }
}

void SnapshotKeeper::take_counts(const std::vector<std::vector<std::byte>>& blocks) {
    for (const std::vector<std::byte>& block : blocks) {
        counts_.read(block);
    }
    counts_.foretell();
    figures_.loaded_counts = counts_.taken();
    tell_number(false, "counts of windows taken from the snapshot", counts_.taken());
    tell_number(true, "the snapshot has counts that this version refuses", counts_.refused());
}

void SnapshotKeeper::take_levels(const std::vector<std::vector<std::byte>>& blocks, Instant now,
                                 Duration unix_now) {
    for (const std::vector<std::byte>& block : blocks) {
        levels_.read(block, now, unix_now);
    }
    levels_.foretell();
    figures_.loaded_levels = levels_.taken();
    tell_number(false, "long levels taken from the snapshot", levels_.taken());
    tell_number(true, "the snapshot has levels that this version refuses", levels_.refused());
}

void SnapshotKeeper::take(std::vector<definitions::DefinitionEntry> entries, Duration age,
                          Instant now) {
    figures_.found = "loaded";
    const std::size_t count = entries.size();
    const std::uint64_t refused = merge(std::move(entries), now);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
    tell(false, "overrides taken from the snapshot",
         std::to_string(figures_.loaded) + " of " + std::to_string(count) + ", written " +
             std::to_string(seconds) + " s ago");
    if (refused > 0) {
        tell(true, "the snapshot has overrides that this version refuses", std::to_string(refused));
    }
}

/// Merges the entries and returns how many were refused. They are sorted by name, because the store
/// then takes half of the time.
std::uint64_t SnapshotKeeper::merge(std::vector<definitions::DefinitionEntry> entries,
                                    Instant now) {
    std::sort(entries.begin(), entries.end(),
              [](const auto& one, const auto& other) { return one.name < other.name; });
    std::uint64_t refused = 0;
    for (definitions::DefinitionEntry& entry : entries) {
        const definitions::MergeOutcome outcome = store_.merge(std::move(entry), now);
        const bool taken = outcome == definitions::MergeOutcome::applied;
        figures_.loaded += taken ? 1 : 0;
        refused += taken || outcome == definitions::MergeOutcome::stale ? 0 : 1;
    }
    return refused;
}

void SnapshotKeeper::refuse(const SnapshotRefusal& refusal) {
    figures_.found = "refused";
    refused_is_there_ = true;
    std::string what = settings_.file + ": " + refusal.reason;
    if (refusal.set_aside_wanted) {
        const auto kept = set_aside(settings_.file);
        refused_is_there_ = !kept;
        what += kept ? "; kept as " + *kept : "; left in its place, " + kept.error().message;
    }
    tell(true,
         refusal.is_old
             ? "of the snapshot only counts and levels are used, overrides come from peers only"
             : "the snapshot is not used, overrides come from peers only",
         std::move(what));
}

// --- writing ------------------------------------------------------------------------------------

void SnapshotKeeper::start() { look_again(); }

void SnapshotKeeper::look_again() {
    if (stopped_) {
        return;
    }
    look(net::now());
    look_timer_.expires_after(timing_.look);
    look_timer_.async_wait([this](const boost::system::error_code& failure) {
        if (!failure) {
            look_again();
        }
    });
}

void SnapshotKeeper::look(Instant now) {
    if (writer_ != nullptr) {
        return;
    }
    if (!changed()) {
        changed_since_.reset();
    } else if (!changed_since_) {
        changed_since_ = now;
    }
    const bool settled = changed_since_ && now - *changed_since_ >= timing_.settle;
    const bool due = !last_success_ || now - *last_success_ >= timing_.refresh;
    const bool counted = saved_counts_ != counts_.news() || saved_levels_ != levels_.news();
    if ((settled || due || counted) && now >= next_attempt_) {
        begin(now);
    }
}

void SnapshotKeeper::begin(Instant now) {
    open_writer(now);
    next_piece();
}

void SnapshotKeeper::open_writer(Instant now) {
    began_ = now;
    saving_ = store_.overrides().root_hash();
    saving_counts_ = counts_.news();
    saving_levels_ = levels_.news();
    writer_ = std::make_unique<definitions::SnapshotWriter>(
        store_.overrides(), cluster_, now, net::unix_time(),
        [this, cursor = sync::KeptCounts::Cursor()](ByteWriter& block) mutable {
            return counts_.write(block, cursor);
        },
        [this, cursor = sync::KeptLevels::Cursor()](ByteWriter& block) mutable {
            return levels_.write(block, cursor, net::now(), net::unix_time());
        });
}

void SnapshotKeeper::next_piece() {
    boost::asio::post(helper_, [this, piece = writer_->next()] {
        auto outcome = write(piece);
        boost::asio::post(control_, [this, outcome = std::move(outcome), last = piece.empty()] {
            if (!stopped_) {
                on_written(outcome, last);
            }
        });
    });
}

/// Whether the file may be overwritten; a file that belongs to another program or person must not
/// be.
Result<void> SnapshotKeeper::may_write_over() {
    const std::string& path = settings_.file;
    refused_is_there_ = refused_is_there_ && is_taken(path);
    const auto input = SnapshotInput::open(path);
    if (!input && input.error().code == ErrorCode::not_found) {
        return {};
    }
    if (!input) {
        return error(ErrorCode::conflict, input.error().message + "; it is not written over");
    }
    SnapshotReader reader({});
    const auto read = input->read([&](ByteSpan piece) {
        static_cast<void>(reader.receive(piece));
        return false;
    });
    if (!read) {
        return error(ErrorCode::conflict, read.error().message + "; it is not written over");
    }
    if (reader.finish() == SnapshotFault::foreign) {
        return error(ErrorCode::conflict, path + " is no snapshot of weir and is not written over");
    }
    if (refused_is_there_) {
        return error(
            ErrorCode::conflict,
            path + " was refused and is still there: move it away, it is not written over");
    }
    return {};
}

Result<std::uint64_t> SnapshotKeeper::write(ByteSpan piece) {
    if (!file_) {
        if (auto allowed = may_write_over(); !allowed) {
            return allowed.error();
        }
        auto created = SnapshotFile::create(settings_.file);
        if (!created) {
            return created.error();
        }
        file_.emplace(std::move(*created));
    }
    if (piece.empty()) {
        auto size = file_->commit();
        file_.reset();
        return size;
    }
    if (auto appended = file_->append(piece); !appended) {
        file_.reset();
        return appended.error();
    }
    return std::uint64_t{0};
}

void SnapshotKeeper::on_written(const Result<std::uint64_t>& outcome, bool was_last) {
    if (!outcome) {
        fail(outcome.error().message, net::now());
    } else if (was_last) {
        succeed(*outcome, net::now());
    } else {
        piece_timer_.expires_after(timing_.between_pieces);
        piece_timer_.async_wait([this](const boost::system::error_code& failure) {
            if (!failure && !stopped_) {
                next_piece();
            }
        });
    }
}

void SnapshotKeeper::succeed(std::uint64_t bytes, Instant now) {
    figures_.bytes = bytes;
    figures_.overrides = writer_->entries();
    figures_.counts = writer_->counts();
    figures_.levels = writer_->levels();
    figures_.last_success_seconds = to_seconds(net::unix_time());
    ++figures_.saves;
    writer_.reset();
    saved_ = saving_;
    saved_counts_ = saving_counts_;
    saved_levels_ = saving_levels_;
    last_success_ = now;
    changed_since_.reset();
    retry_ = timing_.first_retry;
    next_attempt_ = now + std::max<Duration>(timing_.pause, (now - began_) * kShareOfTime);
    if (!std::exchange(figures_.problem, {}).empty()) {
        tell(false, "the snapshot is written again", settings_.file);
    }
}

/// Logs each new reason once, because saving is tried again and again.
void SnapshotKeeper::fail(const std::string& reason, Instant now) {
    ++figures_.failures;
    writer_.reset();
    next_attempt_ = now + retry_;
    retry_ = std::min(2 * retry_, timing_.last_retry);
    if (std::exchange(figures_.problem, reason) != reason) {
        tell(true, "the snapshot cannot be written, everything else goes on", reason);
    }
}

void SnapshotKeeper::stop() {
    if (std::exchange(stopped_, true)) {
        return;
    }
    look_timer_.cancel();
    piece_timer_.cancel();
    helper_.join();
    file_.reset();  // a file that was not completed
    if (changed() || saved_counts_ != counts_.news() || saved_levels_ != levels_.news()) {
        save_at_once();
    }
}

void SnapshotKeeper::save_at_once() {
    const Instant now = net::now();
    open_writer(now);
    for (;;) {
        const std::vector<std::byte> piece = writer_->next();
        const auto outcome = write(piece);
        if (!outcome) {
            fail(outcome.error().message, now);
            return;
        }
        if (piece.empty()) {
            succeed(*outcome, now);
            return;
        }
    }
}

}  // namespace weir::node
