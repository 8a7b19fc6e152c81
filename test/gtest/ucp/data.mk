# SPDX-License-Identifier: BSD-3-Clause
# Tests of the data path.
TEST_UCP_DATA_SOURCES = %D%/data_pair.cpp %D%/data_pair.h %D%/data_basic.cpp %D%/data_failover.cpp \
	%D%/data_edges.cpp %D%/data_device.cpp %D%/data_ends.cpp %D%/data_memory.cpp %D%/data_fake.cpp \
	%D%/data_fake_pair.h %D%/data_model.cpp %D%/data_rdma.cpp %D%/data_rndv.cpp %D%/data_self.cpp %D%/data_striping.cpp \
	%D%/data_threads.cpp
