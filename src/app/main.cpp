#include <cstdio>
#include <exception>

#include "app/command_line.h"

int main(int count, char** arguments) {
    // Exceptions end here. They are thrown at start-up for errors after which the program cannot go
    // on.
    try {
        return weir::app::main_with(count, arguments);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "weir: %s\n", failure.what());
        return 1;
    }
}
