# `cmake --install build [--prefix DIR]`: program, shared library, headers, pkg-config file, Python module.
include(GNUInstallDirs)
set(python_dir lib/python3/dist-packages)
find_program(FIRN_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(FIRN_PYTHON)
    execute_process(COMMAND ${FIRN_PYTHON} -c
        "import sysconfig; path = sysconfig.get_path('purelib'); print(path[path.rindex('/lib') + 1:], end='')"
        OUTPUT_VARIABLE python_dir)
endif()
set(FIRN_PYTHON_DIR ${python_dir} CACHE STRING "Where the Python module goes, from the prefix")

install(TARGETS firn RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS firn_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/firn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
install(DIRECTORY python/firn DESTINATION ${FIRN_PYTHON_DIR} FILES_MATCHING PATTERN *.py)
# The module reads its declarations from the headers, and takes those that it came with.
install(DIRECTORY include/firn/ DESTINATION ${FIRN_PYTHON_DIR}/firn/include FILES_MATCHING PATTERN *.h)
# Written when the prefix is known, which --prefix may change.
install(CODE "
    set(PROJECT_VERSION ${PROJECT_VERSION})
    set(CMAKE_INSTALL_LIBDIR ${CMAKE_INSTALL_LIBDIR})
    set(CMAKE_INSTALL_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
    get_filename_component(CMAKE_INSTALL_PREFIX \"\${CMAKE_INSTALL_PREFIX}\" ABSOLUTE)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/firn.pc.in ${CMAKE_BINARY_DIR}/generated/firn.pc @ONLY)")
install(FILES ${CMAKE_BINARY_DIR}/generated/firn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
