/* base/cpu.h — what differs from processor to processor. */
#ifndef CS_BASE_CPU_H
#define CS_BASE_CPU_H

/* Bytes that travel between caches as one. Data of two writers lies CS_CACHE_LINE bytes apart, else
 * the stores of one would take the line from the other (false sharing). A constant of the build
 * (-DCS_CACHE_LINE=256, say), since all processes of a node must agree on the layout; a larger
 * value than the machine's costs memory only. Arm: 64 mostly, but 128 on Apple's and others, and
 * 256 on A64FX. */
#ifndef CS_CACHE_LINE
#if defined(__aarch64__) || defined(__powerpc64__)
#define CS_CACHE_LINE 128
#elif defined(__s390x__)
#define CS_CACHE_LINE 256
#else
#define CS_CACHE_LINE 64
#endif
#endif
/* Words that are polled while others are written: two lines on x86, whose prefetcher takes lines in
 * pairs. */
#define CS_APART (CS_CACHE_LINE < 128 ? 128 : CS_CACHE_LINE)

/* Between two looks at a word that another core is to write: leaves the core's other thread more of
 * it, and takes less power. Arm's `yield` does nothing on most cores; `isb` takes about as long as
 * x86's `pause`. */
static inline void
cs_cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" : : : "memory");
#elif defined(__powerpc__)
	__asm__ volatile("or 27,27,27" : : : "memory");
#elif defined(__riscv)
	/* pause, which older assemblers do not know */
	__asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010" : : : "memory");
#else
	__asm__ volatile("" : : : "memory");
#endif
}

#endif
