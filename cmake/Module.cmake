# What no request passes through, and what is large for its libraries' templates: a sanitizer's build
# does not optimise it, which is most of its compile time.
set(weir_around_requests config admin node embed app)

# weir_module(NAME SOURCES ... DEPS ...): one static library weir_NAME with the alias weir::NAME.
# DEPS are the modules of lower layers and the libraries that the public headers need;
# PRIVATE_DEPS those that only the sources need.
function(weir_module name)
    cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
    add_library(weir_${name} STATIC ${ARG_SOURCES})
    add_library(weir::${name} ALIAS weir_${name})
    target_include_directories(weir_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    # One set of objects for the programs and for libweir.so: with symbols that are hidden and that
    # nobody may replace, the code is what an executable's would be.
    set_target_properties(weir_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
                          CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_compile_options(weir_${name} PRIVATE -fno-semantic-interposition)
    target_link_libraries(weir_${name} PUBLIC ${ARG_DEPS}
                          PRIVATE ${ARG_PRIVATE_DEPS} $<BUILD_INTERFACE:weir_compile_options>)
    if(WEIR_SANITIZE AND name IN_LIST weir_around_requests)
        weir_compile_at(weir_${name} -O0)
    endif()
    if(name STREQUAL "net" OR "weir::net" IN_LIST ARG_DEPS)
        weir_precompile(weir_${name} net)
    else()
        weir_precompile(weir_${name} core)
    endif()
endfunction()

# weir_test(NAME [LABEL unit|sim|integration|meta] SOURCES ... DEPS ... [OPTIMISED]): one doctest program
# NAME, a CTest test with the label (default: unit). The target LABEL_tests builds all programs of
# a label, so that no list of them has to be kept. Under a sanitizer the sources of a test are not
# optimised, for most take longer to compile than to run; OPTIMISED is for those that do not.
function(weir_test name)
    cmake_parse_arguments(ARG "OPTIMISED" "LABEL;TIMEOUT" "SOURCES;DEPS" ${ARGN})
    if(NOT ARG_LABEL)
        set(ARG_LABEL unit)
    endif()
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 120)
    endif()
    if(WEIR_SANITIZE)
        math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")
    endif()
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE ${ARG_DEPS} weir_test_main weir_compile_options)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    if(WEIR_SANITIZE AND NOT ARG_OPTIMISED)
        weir_compile_at(${name} -O0)
    endif()
    weir_precompile(${name} test)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
    if(NOT TARGET ${ARG_LABEL}_tests)
        add_custom_target(${ARG_LABEL}_tests)
    endif()
    add_dependencies(${ARG_LABEL}_tests ${name})
endfunction()
