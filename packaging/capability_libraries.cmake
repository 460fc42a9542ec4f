# The libraries that measured programs load: src/gnomon/NAME/native/*.c of each capability becomes
# libgnomon_NAME.so, beside the capability's Python modules.
add_custom_target(capability-libraries)
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/gnomon/*/native/*.c)
set(folders "")
foreach(source ${sources})
  cmake_path(GET source PARENT_PATH folder)
  list(APPEND folders ${folder})
endforeach()
list(REMOVE_DUPLICATES folders)
foreach(folder ${folders})
  cmake_path(GET folder PARENT_PATH capability)
  cmake_path(GET capability FILENAME name)
  set(own ${sources})
  list(FILTER own INCLUDE REGEX "/src/gnomon/${name}/native/")
  add_library(gnomon-in-program-${name} MODULE ${own})
  # What the program is to call in the place of its own functions is seen; helpers are static.
  set_target_properties(gnomon-in-program-${name} PROPERTIES OUTPUT_NAME gnomon_${name}
                                                  C_VISIBILITY_PRESET default)
  target_link_libraries(gnomon-in-program-${name} PRIVATE gnomon-runtime)
  if(TARGET gnomon-generated-${name})
    get_target_property(headers gnomon-generated-${name} FOLDERS_OF_HEADERS)
    target_include_directories(gnomon-in-program-${name} PRIVATE ${headers})
    add_dependencies(gnomon-in-program-${name} gnomon-generated-${name})
  endif()
  # Each has a runtime of its own, and the end of a process still comes to it.
  target_link_options(gnomon-in-program-${name} PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,nodelete
                                             -Wl,--no-undefined)
  install(TARGETS gnomon-in-program-${name} LIBRARY DESTINATION gnomon/${name} COMPONENT capabilities)
  add_dependencies(capability-libraries gnomon-in-program-${name})
endforeach()

# Wrappers of the MPIs that are here, so that nothing has to be compiled at a user's for these.
set(compilers "")
foreach(name mpicc.openmpi mpicc.mpich mpicc)
  find_program(found NAMES ${name} NO_CACHE)
  if(found AND (compilers STREQUAL "" OR NOT name STREQUAL "mpicc"))
    list(APPEND compilers ${found})
  endif()
  unset(found)
endforeach()
if(compilers)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
  set(compiler ${PROJECT_SOURCE_DIR}/packaging/compile_mpi_wrappers.py)
  file(GLOB inputs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/gnomon/mpi/*.py
       ${PROJECT_SOURCE_DIR}/src/gnomon/mpi/*.h ${PROJECT_SOURCE_DIR}/src/gnomon/mpi/*.toml
       ${PROJECT_SOURCE_DIR}/src/gnomon/mpi/native/entry_points.c ${PROJECT_SOURCE_DIR}/native/mpi/*.h)
  add_custom_command(
    OUTPUT mpi-wrappers/stamp
    COMMAND Python::Interpreter -B ${compiler} mpi-wrappers $<TARGET_FILE:gnomon-mpi>
            $<TARGET_FILE:gnomon-runtime> $<TARGET_FILE:gnomon-core> -- ${compilers}
    COMMAND ${CMAKE_COMMAND} -E touch mpi-wrappers/stamp
    DEPENDS ${compiler} ${inputs} gnomon-mpi gnomon-runtime gnomon-core
    VERBATIM)
  add_custom_target(mpi-wrappers ALL DEPENDS mpi-wrappers/stamp)
  install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mpi-wrappers/ DESTINATION gnomon/mpi/wrappers
          FILES_MATCHING PATTERN "*.so")

  # What programs may be linked with instead (src/gnomon/mpi/trace_library.py).
  set(compiler ${PROJECT_SOURCE_DIR}/packaging/compile_mpi_trace.py)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/native/mpi/trace/*.h)
  add_custom_command(
    OUTPUT mpitrace/stamp
    COMMAND Python::Interpreter -B ${compiler} mpitrace $<TARGET_FILE:gnomon-mpitrace>
            $<TARGET_FILE:gnomon-mpi> $<TARGET_FILE:gnomon-runtime> $<TARGET_FILE:gnomon-core> --
            ${compilers}
    COMMAND ${CMAKE_COMMAND} -E touch mpitrace/stamp
    DEPENDS ${compiler} ${inputs} ${headers} gnomon-mpitrace gnomon-mpi gnomon-runtime gnomon-core
    VERBATIM)
  add_custom_target(mpitrace ALL DEPENDS mpitrace/stamp)
  install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mpitrace/ DESTINATION gnomon/lib/mpitrace
          PATTERN "stamp" EXCLUDE)
endif()
