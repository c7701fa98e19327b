# cpack in a build folder makes the Debian package: the component `program`, below /usr, with settings in /etc.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weir)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The developers of weir <weir@localhost>")
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};weir;program;/")
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(packaging ${PROJECT_SOURCE_DIR}/packaging/debian)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "reverse proxy that holds a fleet to its rate limits
weir runs beside each copy of an HTTP service and refuses what exceeds
a tree of quotas with 429. All sidecars of a fleet share their counts by
gossip.")
# Which packages have the libraries is found out; passwd has what makes the user where systemd is not, and tzdata
# the time zones.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS passwd tzdata)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${packaging}/conffiles ${packaging}/postinst ${packaging}/prerm ${packaging}/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
include(CPack)
