#pragma once
// `weir key`: makes gossip keys and leads a key file through a rotation. What it prints are the
// keys' ids, never a key. A file is replaced whole or not at all.

#include <string>

namespace weir::app {

struct KeyCommand {
    enum class Action {
        create,  // a new key in a new file
        add,     // a second key, accepted and not yet used
        swap,    // the second one seals from now on
        drop,    // the second one goes
        show,    // only the ids
    };
    std::string file;
    Action action = Action::create;
    bool force = false;  // create: replace what is there
};

/// The exit code: 0, or 1 with the reason on standard error.
[[nodiscard]] int make_key(const KeyCommand& command);

}  // namespace weir::app
