# Writes the source revision to a header, at each build and only if it has changed:
# cmake -DSOURCE=… -DHEADER=… -DREVISION=… -P revision.cmake
# REVISION is what the builder says; `unknown` asks git.
if(REVISION STREQUAL "unknown")
    execute_process(COMMAND git -C "${SOURCE}" rev-parse --short=12 HEAD
                    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE code)
    if(code EQUAL 0)
        set(REVISION "${found}")
    endif()
endif()
set(text "#define WEIR_REVISION \"${REVISION}\"\n")
if(EXISTS "${HEADER}")
    file(READ "${HEADER}" before)
endif()
if(NOT "${before}" STREQUAL "${text}")
    file(WRITE "${HEADER}" "${text}")
endif()
