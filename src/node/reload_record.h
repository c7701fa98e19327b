#pragma once
// The record of all reloads of configuration: how many there were, which errors there are now, and
// whether they have been reported. It reads no file and no clock. For the control thread only; the
// host owns it.
//
// Invariants: there are no more failures than reloads. `figures()` reports success only if
// settings, quotas and every OwnFile had no errors when they were last read.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "admin/sources.h"
#include "base/instant.h"
#include "node/reloader.h"

namespace weir::node {

/// A file that is read again independently of settings and quotas: errors in it do not affect them,
/// nor the other way round.
enum class OwnFile { gossip_keys, admin_token };

class ReloadRecord {
  public:
    ReloadRecord(std::string settings_file, std::uint64_t settings_hash);

    /// Notes the first reading, at start.
    void start(Duration unix_now);
    void settings_taken_over(std::uint64_t settings_hash);
    /// Notes that everything that was read had no errors. False if only quotas were read and the
    /// settings had errors when they were last read: then those errors stay.
    [[nodiscard]] bool succeed(Duration unix_now);
    /// Errors of quotas alone stand beside those of the settings.
    void fail(Reload what, std::vector<std::string> errors);
    /// Whether these errors of a reading have been reported already.
    [[nodiscard]] bool told(Reload what, const std::vector<std::string>& errors) const;

    /// Notes that the file was read again and its content is in use; `changed` says whether the
    /// content is new.
    void file_is_good(OwnFile file, bool changed);
    void file_is_bad(OwnFile file, std::string problem);
    /// Why the file could not be read the last time; empty if it could.
    [[nodiscard]] std::string problem(OwnFile file) const;

    /// Whether the settings had errors when they were last read, or the quotas that were read with
    /// them.
    [[nodiscard]] bool settings_bad() const { return !settings_errors_.empty(); }
    /// The errors of settings and quotas when they were last read.
    [[nodiscard]] std::vector<std::string> errors() const;
    /// The figures, with the problems of every OwnFile, but without quota sets.
    [[nodiscard]] admin::ConfigFigures figures() const;

  private:
    admin::ConfigFigures figures_;  ///< without errors
    /// Until settings are taken over: why they were not when they were last read.
    std::vector<std::string> settings_errors_;
    std::vector<std::string> quota_errors_;  ///< of quotas that were read alone
    std::map<OwnFile, std::string> problems_;
};

}  // namespace weir::node
