#pragma once
// Bugs that a build for fuzzing (WEIR_PLANT_BUGS) carries and that stay asleep until a fuzz target
// wakes one: CI demands that the target finds it. In every other build planted() is false when it
// is compiled, so nothing of it is left in a program. One enumerator for each guard that can be
// made to fail; a guard reads `if (wrong && !planted(Planted::its_name))`.
//
// Thread-safety: set once, before anything is parsed.

#include <cstdint>

namespace weir {

enum class Planted : std::uint8_t {
    none,
    clear_header,     // a datagram shorter than its clear header
    safe_index,       // a safe rate of a limit that the definition does not have
    entry_age,        // an age that no clock can hold
    request_version,  // a request line shorter than "HTTP/1.1"
    head_cut,         // a CR and its LF in two pieces
    chunk_trailer,    // a trailer's name longer than what is kept of it
    yaml_alias,       // an alias of something that is not a value
    other_name,       // the name of another quota in the body of a PUT
    frame_replay,     // a frame of the bulk stream that has come before
    snapshot_sum,     // a block of a snapshot whose sum does not fit
};

#ifdef WEIR_PLANT_BUGS
inline Planted planted_bug = Planted::none;
[[nodiscard]] inline bool planted(Planted bug) { return planted_bug == bug; }
#else
[[nodiscard]] constexpr bool planted(Planted) { return false; }
#endif

}  // namespace weir
