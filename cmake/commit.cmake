# Writes OUTPUT, a C source with the commit that is built, for figures that name it; touched only when it changed.
#   cmake -DSOURCE=<folder> -DOUTPUT=<file> -P commit.cmake
cmake_minimum_required(VERSION 3.21) # the policies of that version: run with -P, the script has none of its own
set(commit unknown)
find_program(git git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE} describe --always --tags --dirty OUTPUT_VARIABLE described
                  ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
  if(status EQUAL 0 AND described)
    set(commit ${described})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "const char bench_commit[] = \"@commit@\";\n" @ONLY)
