# weir_compile_options: every target of this project links it privately, and it is never exported. All options
# with which the project's sources are compiled and linked come from here: warnings, sanitizers and
# definitions.
add_library(weir_compile_options INTERFACE)
target_compile_options(weir_compile_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
    -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wformat=2 -Wnull-dereference
    -fno-omit-frame-pointer)
target_compile_definitions(weir_compile_options INTERFACE
    BOOST_ASIO_NO_DEPRECATED BOOST_BEAST_USE_STD_STRING_VIEW)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports false null dereferences and overlapping copies (its bug 105651, string
    # concatenation) through inlined library code at -O2.
    target_compile_options(weir_compile_options INTERFACE -Wno-null-dereference -Wno-restrict)
endif()
if(WEIR_WARNINGS_AS_ERRORS)
    target_compile_options(weir_compile_options INTERFACE -Werror)
endif()
if(WEIR_SANITIZE OR WEIR_FUZZ)
    # Whatever the build type says: little optimisation and few debug symbols, because these builds would take
    # twice as long otherwise (decision 0121), and assertions. A target with a level of its own keeps it.
    target_compile_options(weir_compile_options INTERFACE
        $<$<NOT:$<BOOL:$<TARGET_PROPERTY:WEIR_LEVEL>>>:-O1> -g1 -UNDEBUG)
endif()
if(WEIR_SANITIZE)
    target_compile_options(weir_compile_options INTERFACE
        -fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(weir_compile_options INTERFACE -fsanitize=${WEIR_SANITIZE})
endif()
if(WEIR_FUZZ)
    target_compile_options(weir_compile_options INTERFACE
        -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
    target_link_options(weir_compile_options INTERFACE -fsanitize=address,undefined)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND (WEIR_FUZZ OR WEIR_SANITIZE MATCHES "undefined"))
    # clang 14 cannot assemble coroutines with this check ("difference across sections").
    target_compile_options(weir_compile_options INTERFACE -fno-sanitize=function)
endif()
if(WEIR_PLANT_BUGS)
    if(NOT WEIR_FUZZ)
        message(FATAL_ERROR "WEIR_PLANT_BUGS is for fuzz targets: set WEIR_FUZZ as well")
    endif()
    target_compile_definitions(weir_compile_options INTERFACE WEIR_PLANT_BUGS)
endif()
