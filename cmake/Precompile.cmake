# Precompiled headers, for the presets that set WEIR_PRECOMPILE. `dev` and `clang` do not set it: there every
# file is compiled by itself, and a missing #include is an error.
#
# weir_precompile(TARGET SET): the target's sources begin with the headers of the set:
#   core    the standard library
#   net     these, Asio and JSON; only for modules above `net`, so that no other uses Asio unnoticed
#   test    the standard library, doctest and RapidCheck
# A precompiled header must have been compiled with the same options as the files that use it. So there is one
# for each set, each optimisation level and each kind of code (position independent or not); it is made when
# the first target asks for it.
set(weir_core_headers
    <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <cstddef> <cstdint> <cstdio> <cstdlib>
    <cstring> <deque> <functional> <limits> <map> <memory> <mutex> <new> <optional> <set> <span> <sstream>
    <stdexcept> <string> <string_view> <thread> <tuple> <type_traits> <unordered_map> <utility> <variant>
    <vector> <boost/system/result.hpp>)
set(weir_net_headers ${weir_core_headers}
    <boost/asio/awaitable.hpp> <boost/asio/buffer.hpp> <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp>
    <boost/asio/ip/udp.hpp> <boost/asio/post.hpp> <boost/asio/steady_timer.hpp> <boost/asio/write.hpp>
    <nlohmann/json.hpp>)
set(weir_test_headers ${weir_core_headers} <doctest/doctest.h> <rapidcheck.h>)

# A precompiled header contains the name of the folder in which it was made, so its content would keep ccache
# from using what another checkout has compiled. If there is a file of the same name with ".sum" behind it,
# ccache compares that instead. Here it holds the checksum of the headers' text; ccache compares the
# compiler's options itself.
function(weir_sum_up holder)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${holder}.dir)
    set(header ${folder}/cmake_pch.hxx)
    set(sum ${header}${CMAKE_PCH_EXTENSION}.sum)
    add_custom_command(OUTPUT ${sum}
        COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -E -P -MD -MF ${holder}.d -MT ${sum} -x c++ ${header} -o ${sum}.text
        COMMAND sha256sum < ${sum}.text > ${sum}
        COMMAND ${CMAKE_COMMAND} -E rm ${sum}.text
        DEPENDS ${header} DEPFILE ${holder}.d VERBATIM)
    add_custom_target(${holder}_sum DEPENDS ${sum})
endfunction()

function(weir_precompile target set)
    if(NOT WEIR_PRECOMPILE)
        return()
    endif()
    get_target_property(level ${target} WEIR_LEVEL)
    get_target_property(position_independent ${target} POSITION_INDEPENDENT_CODE)
    set(holder weir_${set}_headers)
    if(level)
        string(APPEND holder "_${level}")
    endif()
    if(position_independent)
        string(APPEND holder "_shared")
    endif()
    if(NOT TARGET ${holder})
        set(source ${PROJECT_BINARY_DIR}/${holder}.cpp)
        file(CONFIGURE OUTPUT ${source} CONTENT "")
        add_library(${holder} OBJECT ${source})
        target_link_libraries(${holder} PRIVATE weir_compile_options)
        target_precompile_headers(${holder} PRIVATE ${weir_${set}_headers})
        foreach(property POSITION_INDEPENDENT_CODE CXX_VISIBILITY_PRESET VISIBILITY_INLINES_HIDDEN)
            get_target_property(value ${target} ${property})
            if(value)
                set_target_properties(${holder} PROPERTIES ${property} ${value})
            endif()
        endforeach()
        weir_compile_at(${holder} "${level}")
        weir_sum_up(${holder})
    endif()
    target_precompile_headers(${target} REUSE_FROM ${holder})
    add_dependencies(${target} ${holder}_sum)
endfunction()

# weir_compile_at(TARGET LEVEL): an optimisation level other than the build type's, such as -O0.
function(weir_compile_at target level)
    if(level)
        target_compile_options(${target} PRIVATE ${level})
        set_target_properties(${target} PROPERTIES WEIR_LEVEL ${level})
    endif()
endfunction()

if(WEIR_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # CMake would also include the header by its full path, which differs in other checkouts. The precompiled
    # form is enough.
    set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
    # With the time of day in it, each precompiled header would be different.
    target_compile_options(weir_compile_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()
