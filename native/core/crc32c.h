/* CRC-32C (Castagnoli), as iSCSI and ext4 have it. */
#ifndef GNOMON_CORE_CRC32C_H
#define GNOMON_CORE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* That of what `crc` is the checksum of (0: of nothing), with these bytes behind it. */
uint32_t gn_crc32c(uint32_t crc, const void *bytes, size_t size);

/* The same without the processor's instruction, for processors that have none. */
uint32_t gn_crc32c_by_table(uint32_t crc, const void *bytes, size_t size);

#endif
