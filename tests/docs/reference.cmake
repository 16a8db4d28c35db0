# Makes the API reference; a warning is an error (WARN_AS_ERROR in the Doxyfile).
#   cmake -DDOXYGEN=doxygen -DSOURCE=. -DOUTPUT=folder -P reference.cmake
if(NOT DOXYGEN)
  message("SKIPPED: doxygen is not installed")
  return()
endif()
file(MAKE_DIRECTORY ${OUTPUT})
file(READ ${SOURCE}/docs/Doxyfile settings)
file(WRITE ${OUTPUT}/Doxyfile "${settings}\nOUTPUT_DIRECTORY = ${OUTPUT}\n")
execute_process(COMMAND ${DOXYGEN} ${OUTPUT}/Doxyfile WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE status
                ERROR_VARIABLE messages OUTPUT_VARIABLE messages)
if(NOT status EQUAL 0 OR messages MATCHES "warning:")
  message(FATAL_ERROR "doxygen: ${messages}")
endif()
if(NOT EXISTS ${OUTPUT}/html/classtutti_1_1Communicator.html)
  message(FATAL_ERROR "doxygen made no page for tutti::Communicator")
endif()
