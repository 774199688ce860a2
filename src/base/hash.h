/* base/hash.h — a 64-bit digest (FNV-1a) by which ranks find out that they hold different settings.
 *
 * Against accidents, not against attackers. Numbers go in byte by byte, lowest first, and texts
 * with their length, so that equal inputs give equal digests in every process and ("ab","c")
 * differs from ("a","bc"). */
#ifndef CS_BASE_HASH_H
#define CS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CS_HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t
cs_hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
	const unsigned char *byte = data;
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static inline uint64_t
cs_hash_number(uint64_t hash, uint64_t number)
{
	unsigned char bytes[8];
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(number >> 8 * i);
	return cs_hash_bytes(hash, bytes, sizeof bytes);
}

#define CS_HASH_GOLDEN UINT64_C(0x9e3779b97f4a7c15)
/* Splitmix64 (Steele, Lea, Flood 2014): numbers that differ in any bit give words that differ in
 * half of them. FNV-1a's of neighbours are in the order of the numbers as often as not. */
static inline uint64_t
cs_hash_mix(uint64_t word)
{
	word += CS_HASH_GOLDEN;
	word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
	return word ^ (word >> 31);
}

/* NULL is allowed, and is not the empty text. */
static inline uint64_t
cs_hash_text(uint64_t hash, const char *text)
{
	if (!text)
		return cs_hash_number(hash, UINT64_MAX);
	size_t length = strlen(text);
	return cs_hash_bytes(cs_hash_number(hash, length), text, length);
}

#endif
