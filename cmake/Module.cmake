# Modules through which no request passes, and whose compile time is mostly spent on optimising templates of
# libraries. Builds with a sanitizer do not optimise them.
set(weir_around_requests config admin node embed app)

# weir_unite(TARGET): with WEIR_UNITY all sources of the target are compiled as one, because most of a source's
# compile time goes to the headers of libraries. So two sources of a target cannot have private functions or
# constants of the same name. Presets without it compile each source by itself, which shows a missing
# #include.
function(weir_unite target)
    if(WEIR_UNITY)
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
        # g++ takes every source but the one that includes them all for a header, and warns of private types in it.
        target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    endif()
endfunction()

# weir_module(NAME SOURCES ... DEPS ...): one static library weir_NAME with the alias weir::NAME.
# DEPS are the modules of lower layers and the libraries that the module's headers need; PRIVATE_DEPS are
# those that only its sources need.
function(weir_module name)
    cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
    add_library(weir_${name} STATIC ${ARG_SOURCES})
    add_library(weir::${name} ALIAS weir_${name})
    # Compiled as one, g++ inlines otherwise: a request would take 3 % more instructions in the limiter.
    if(WEIR_SANITIZE OR WEIR_FUZZ OR NOT name STREQUAL "limiter")
        weir_unite(weir_${name})
    endif()
    target_include_directories(weir_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    # The programs and libweir.so use the same objects. Symbols are hidden and cannot be replaced, so that the
    # code is as fast as an executable's.
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

# weir_test(NAME [LABEL unit|sim|integration|meta] SOURCES ... DEPS ... [APART ...] [OPTIMISED] [COST ...]): one
# doctest program NAME, a CTest test with the label (default: unit). The target LABEL_tests builds all programs of
# a label, so that nobody has to keep a list of them. Except in a debug build, which optimises nothing, the
# sources of a test are compiled with -O0, because most tests take longer to compile than to run; OPTIMISED is
# for the others. What they test is optimised. APART names the sources that weir_unite() leaves alone, because
# their fixtures have names that others have as well. COST is for tests of many seconds: CTest begins with the
# largest, so that none of them runs alone at the end.
function(weir_test name)
    cmake_parse_arguments(ARG "OPTIMISED" "LABEL;TIMEOUT;COST" "SOURCES;DEPS;APART" ${ARGN})
    if(NOT ARG_LABEL)
        set(ARG_LABEL unit)
    endif()
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 600)  # ends a test that hangs; how long one takes says how busy the machine is
    endif()
    if(WEIR_SANITIZE)
        math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")
    endif()
    add_executable(${name} ${ARG_SOURCES})
    weir_unite(${name})
    set_source_files_properties(${ARG_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_link_libraries(${name} PRIVATE ${ARG_DEPS} weir_test_main weir_compile_options)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    if(NOT ARG_OPTIMISED)
        weir_compile_at(${name} -O0)
    endif()
    weir_precompile(${name} test)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
    if(ARG_COST)
        set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
    endif()
    if(NOT TARGET ${ARG_LABEL}_tests)
        add_custom_target(${ARG_LABEL}_tests)
    endif()
    add_dependencies(${ARG_LABEL}_tests ${name})
endfunction()

# weir_reads_project(SOURCE): this source of a test gets the project's folder as WEIR_SOURCE_DIR. It alone:
# what is compiled with the path of one checkout is not found in the compiler cache by another.
function(weir_reads_project source)
    set_source_files_properties(${source} PROPERTIES
        COMPILE_DEFINITIONS "WEIR_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
endfunction()
