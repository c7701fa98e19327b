#include <cstdio>
#include <exception>

#include "app/command_line.h"

int main(int count, char** arguments) {
    // Exceptions end here: they stand for what cannot be gone on with at start-up.
    try {
        return weir::app::main_with(count, arguments);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "weir: %s\n", failure.what());
        return 1;
    }
}
