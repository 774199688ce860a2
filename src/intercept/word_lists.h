/* intercept/word_lists.h — parameters and arguments of functions of 1 to 14 words, for forwarders:
 * PARAMS_n, WORDS_n. */
#ifndef CS_INTERCEPT_WORD_LISTS_H
#define CS_INTERCEPT_WORD_LISTS_H

#define PARAMS_1 long a1
#define PARAMS_2 PARAMS_1, long a2
#define PARAMS_3 PARAMS_2, long a3
#define PARAMS_4 PARAMS_3, long a4
#define PARAMS_5 PARAMS_4, long a5
#define PARAMS_6 PARAMS_5, long a6
#define PARAMS_7 PARAMS_6, long a7
#define PARAMS_8 PARAMS_7, long a8
#define PARAMS_9 PARAMS_8, long a9
#define PARAMS_10 PARAMS_9, long a10
#define PARAMS_11 PARAMS_10, long a11
#define PARAMS_12 PARAMS_11, long a12
#define PARAMS_13 PARAMS_12, long a13
#define PARAMS_14 PARAMS_13, long a14
#define WORDS_1 a1
#define WORDS_2 WORDS_1, a2
#define WORDS_3 WORDS_2, a3
#define WORDS_4 WORDS_3, a4
#define WORDS_5 WORDS_4, a5
#define WORDS_6 WORDS_5, a6
#define WORDS_7 WORDS_6, a7
#define WORDS_8 WORDS_7, a8
#define WORDS_9 WORDS_8, a9
#define WORDS_10 WORDS_9, a10
#define WORDS_11 WORDS_10, a11
#define WORDS_12 WORDS_11, a12
#define WORDS_13 WORDS_12, a13
#define WORDS_14 WORDS_13, a14

#endif
