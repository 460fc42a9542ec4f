/*
 * By the processor's instruction, eight bytes in three cycles, where it has one: x86 with SSE 4.2,
 * Arm with CRC32. Elsewhere by tables, eight bytes at a time.
 * Source: M. E. Kounavis, F. L. Berry, A Systematic Approach to Building High Performance
 * Software-based CRC Generators, 2005.
 */
#include "crc32c.h"

#include <endian.h>
#include <stdatomic.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* of CRC-32C, with its bits in reverse order */

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#define HAS_INSTRUCTION_CODE 1
#define TARGET __attribute__((target("sse4.2")))
#define STEP_8(crc, word) ((uint32_t)_mm_crc32_u64(crc, word))
#define STEP_1(crc, byte) _mm_crc32_u8(crc, byte)

/*
 * Not by __builtin_cpu_supports(): it has every program that loads the library ask for all that the
 * processor can do, before main; in a virtual machine that takes 0.1 ms.
 */
static int has_instruction(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_2;
}
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#define HAS_INSTRUCTION_CODE 1
#define TARGET __attribute__((target("+crc")))
#define STEP_8(crc, word) __crc32cd(crc, word)
#define STEP_1(crc, byte) __crc32cb(crc, byte)

#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif

static int has_instruction(void)
{
	return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}
#endif

#ifdef HAS_INSTRUCTION_CODE
TARGET static uint32_t by_instruction(uint32_t crc, const unsigned char *from, size_t size)
{
	uint64_t word;

	for (; size >= sizeof(word); from += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		crc = STEP_8(crc, word);
	}
	while (size--)
		crc = STEP_1(crc, *from++);
	return crc;
}
#endif

static uint32_t one_byte(uint32_t crc, unsigned char byte)
{
	crc ^= byte;
	for (int bit = 0; bit < 8; bit++)
		crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
	return crc;
}

/* [k][byte]: what a byte with k more behind it does. Whoever comes while it is filled does without.
 */
static uint32_t table[8][256];
static _Atomic int table_state; /* 0; 1: somebody fills it; 2: it is there */

static int has_table(void)
{
	int none = 0;

	if (atomic_load_explicit(&table_state, memory_order_acquire) == 2)
		return 1;
	if (!atomic_compare_exchange_strong(&table_state, &none, 1))
		return 0;
	for (unsigned int byte = 0; byte < 256; byte++)
		table[0][byte] = one_byte(0, (unsigned char)byte);
	for (int k = 1; k < 8; k++)
		for (unsigned int byte = 0; byte < 256; byte++)
			table[k][byte] =
				table[k - 1][byte] >> 8 ^ table[0][table[k - 1][byte] & 255];
	atomic_store_explicit(&table_state, 2, memory_order_release);
	return 1;
}

uint32_t gn_crc32c_by_table(uint32_t crc, const void *bytes, size_t size)
{
	const unsigned char *from = bytes;
	uint32_t low, high;

	crc = ~crc;
	if (has_table())
		for (; size >= 8; from += 8, size -= 8) {
			memcpy(&low, from, sizeof(low));
			memcpy(&high, from + 4, sizeof(high));
			low = le32toh(low) ^ crc;
			high = le32toh(high);
			crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^
			      table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
			      table[3][high & 255] ^ table[2][high >> 8 & 255] ^
			      table[1][high >> 16 & 255] ^ table[0][high >> 24];
		}
	while (size--)
		crc = one_byte(crc, *from++);
	return ~crc;
}

uint32_t gn_crc32c(uint32_t crc, const void *bytes, size_t size)
{
#ifdef HAS_INSTRUCTION_CODE
	static _Atomic int is_there; /* 0: not known; 1: yes; 2: no */
	int state = atomic_load_explicit(&is_there, memory_order_relaxed);

	if (!state) {
		state = has_instruction() ? 1 : 2;
		atomic_store_explicit(&is_there, state, memory_order_relaxed);
	}
	if (state == 1)
		return ~by_instruction(~crc, bytes, size);
#endif
	return gn_crc32c_by_table(crc, bytes, size);
}
