/* examples/fft.h — Fourier transforms of lines whose lengths are powers of two. */
#ifndef EXAMPLES_FFT_H
#define EXAMPLES_FFT_H

#include <complex.h>
#include <math.h>

typedef double complex number;

/* Fills roots[longest] with the roots of unity. */
static inline void
fft_roots(number *roots, int longest)
{
	for (int i = 0; i < longest; i++)
		roots[i] = cos(2 * M_PI * i / longest) - sin(2 * M_PI * i / longest) * I;
}

/* In place: bits are reversed first, then radix 2. n divides `longest`; direction 1, or -1: back,
 * without the division. */
static inline void
fft_line(number *line, int n, int direction, const number *roots, int longest)
{
	for (int i = 1, j = 0; i < n; i++) {
		int bit = n >> 1;
		for (; j & bit; bit >>= 1)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			number swapped = line[i];
			line[i] = line[j];
			line[j] = swapped;
		}
	}
	for (int half = 1; half < n; half *= 2) {
		int stride = longest / (2 * half);
		for (int begin = 0; begin < n; begin += 2 * half)
			for (int k = 0; k < half; k++) {
				number root = roots[k * stride];
				if (direction < 0)
					root = conj(root);
				number even = line[begin + k];
				number odd = root * line[begin + k + half];
				line[begin + k] = even + odd;
				line[begin + k + half] = even - odd;
			}
	}
}

#endif
