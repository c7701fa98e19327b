#pragma once
// What the quota files of this sidecar say, set by set, beside what is in force. From it follows
// for which content this sidecar votes when the fleet decides about a set (file_votes.h).
//
// Thread-safety: none; it belongs to the control thread. Ownership: it shares the documents' bytes.
// Invariant: at most kMaximumFiles sets.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "definitions/generation.h"

namespace weir::definitions {

/// The document of a set that the files of this sidecar have.
struct SetFile {
    /// Nothing: the file gives none, so the set is automatic.
    std::optional<std::uint64_t> generation;
    std::uint64_t content = 0;
    std::shared_ptr<const std::vector<std::byte>> bytes;
    /// It was refused here, for its place in the tree or for want of memory.
    bool refused = false;
};

class SetFiles {
  public:
    static constexpr std::size_t kMaximumFiles = 64;

    void put(std::string_view set, SetFile file);
    void erase(std::string_view set) { files_.erase(std::string(set)); }
    /// The set's document was refused, and this content must not be voted for.
    void note_refused(std::string_view set);
    /// The files cannot be read or have errors, or they are good again.
    void note_bad(bool bad);
    [[nodiscard]] const SetFile* find(std::string_view set) const;
    /// Whether there is anything to vote about.
    [[nodiscard]] bool any() const { return bad_ || !files_.empty(); }

    /// The content for which this sidecar votes, where this generation is in force, or kForInForce;
    /// nothing if it configures no file of the set. A file that is bad or missing votes for what is
    /// in force, and so does a numbered one while numbers decide.
    [[nodiscard]] std::optional<std::uint64_t> vote(std::string_view set,
                                                    std::uint64_t generation) const;

  private:
    std::map<std::string, SetFile, std::less<>> files_;
    bool bad_ = false;
    bool read_once_ = false;  // so that it is known which sets the files are about
};

}  // namespace weir::definitions
