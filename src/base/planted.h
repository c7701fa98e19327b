#pragma once
// Planted bugs, which show that the fuzz targets find bugs. A build for fuzzing (WEIR_PLANT_BUGS)
// can switch off one of the guards below; CI does so for each of them and demands that a fuzz
// target notices. In every other build planted() is constantly false, so the compiler leaves
// nothing of it in a program. A guard reads `if (wrong && !planted(Planted::its_name))`; each
// enumerator names what its guard keeps out.
//
// Thread-safety: planted_bug is set once, before anything is parsed, and only read after that. It
// lives as long as the program.

#include <cstdint>

namespace weir {

enum class Planted : std::uint8_t {
    none,
    clear_header,     // a datagram shorter than its unencrypted header
    safe_index,       // a safe rate of a limit that the definition does not have
    entry_age,        // an age of an entry that is above the longest one allowed
    request_version,  // a request line shorter than "HTTP/1.1"
    head_cut,         // a CR that has come without the LF behind it
    name_blank,       // a blank in the name of a field
    chunk_trailer,    // a trailer's name longer than the room for it
    yaml_alias,       // an alias of an anchor that does not exist
    other_name,       // the name of another quota in the body of a change
    frame_replay,     // a frame of a definition stream out of its order, such as a repeated one
    snapshot_sum,     // a block of a snapshot with a wrong checksum
};

#ifdef WEIR_PLANT_BUGS
inline Planted planted_bug = Planted::none;
[[nodiscard]] inline bool planted(Planted bug) { return planted_bug == bug; }
#else
[[nodiscard]] constexpr bool planted(Planted) { return false; }
#endif

}  // namespace weir
