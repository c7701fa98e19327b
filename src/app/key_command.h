#pragma once
// `weir key` makes gossip keys and leads a key file through a rotation. It prints the ids of keys
// and never a key. It replaces a file as a whole or not at all. One call for each process, on its
// only thread; it keeps nothing.

#include <string>

namespace weir::app {

struct KeyCommand {
    enum class Action {
        create,  // makes a new file with a new key
        add,     // adds a second key, which is accepted but does not seal yet
        swap,    // lets the second key seal from now on
        drop,    // removes the second key
        show,    // prints the ids only
    };
    std::string file;
    Action action = Action::create;
    bool force = false;  // create: replace an existing file
};

/// Returns the exit code: 0, or 1 with the reason on standard error.
[[nodiscard]] int make_key(const KeyCommand& command);

}  // namespace weir::app
