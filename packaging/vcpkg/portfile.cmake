vcpkg_download_distfile(ARCHIVE
    URLS "@URL@"
    FILENAME "tally-@VERSION@.tar.gz"
    SHA512 @SHA512@
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

if(VCPKG_LIBRARY_LINKAGE STREQUAL "dynamic")
    set(TALLY_INSTALL shared)
else()
    set(TALLY_INSTALL static)
endif()
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DTALLY_BUILD_CLI=OFF
        -DTALLY_BUILD_TESTS=OFF
        -DTALLY_INSTALL=${TALLY_INSTALL}
        -DTALLY_VULKAN=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tally)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
