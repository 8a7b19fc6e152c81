#SPDX - License - Identifier : BSD - 3 - Clause
#The socket by which ufx_info looks into a process.
UCP_DEBUG_SOURCES = % D % / debug_socket.cpp % D % / debug_socket.h
