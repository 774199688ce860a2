/* shm/segment.h: whose memory is attached, which descriptors stay open, and that each page is asked for whatever signals come. */
#include "unit.h"

#include "shm/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define KIB ((size_t)1 << 10)
#define BYTES (5000 * KIB)

static size_t asked[64][2]; /* of posix_fallocate, where it went well */
static int asked_count, refusals;

/* libc's is not asked: this one stops with EINTR as often as told, as Linux before 6.11 does where a signal is pending. */
int
posix_fallocate(int fd, off_t from, off_t bytes)
{
	if (refusals) {
		refusals--;
		return EINTR;
	}
	assert_true(asked_count < 64);
	asked[asked_count][0] = (size_t)from;
	asked[asked_count++][1] = (size_t)bytes;
	return 0;
}

static struct cs_segment
made(void)
{
	struct cs_segment segment = { .fd = -1 };
	assert_int_equal(cs_segment_create(&segment, BYTES, CS_SHM_AUTO), CS_OK);
	asked_count = 0;
	return segment;
}

/* The pieces are one after another, and all there is. */
static void
expect_asked(size_t from, size_t bytes)
{
	size_t at = from;
	for (int i = 0; i < asked_count; i++) {
		assert_int_equal(asked[i][0], at);
		at += asked[i][1];
	}
	assert_int_equal(at, from + bytes);
}

static void
pages_are_asked_for_again_where_a_signal_came(void **state)
{
	struct cs_segment segment = made();
	for (int times = 0; times < 12; times += 3) {
		asked_count = 0;
		refusals = times;
		assert_int_equal(cs_segment_commit(&segment, 4 * KIB, 100 * KIB), CS_OK);
		expect_asked(4 * KIB, 100 * KIB);
		assert_int_equal(refusals, 0);
	}
	asked_count = 0;
	assert_int_equal(cs_segment_commit(&segment, 0, BYTES), CS_OK);
	expect_asked(0, BYTES);
	cs_segment_close(&segment);
}

static void
memory_of_another_segment_is_not_attached(void **state)
{
	struct cs_segment segment = made(), other = { .fd = -1 };
	struct cs_segment_ticket ticket = segment.ticket;
	assert_int_equal(cs_segment_attach(&other, &ticket), CS_OK);
	((char *)other.base)[CS_SEGMENT_HEADER] = 7;
	assert_int_equal(((char *)segment.base)[CS_SEGMENT_HEADER], 7);
	cs_segment_close(&other);
	ticket.nonce[1] ^= 1;
	assert_int_not_equal(cs_segment_attach(&other, &ticket), CS_OK);
	ticket = segment.ticket;
	ticket.bytes += 4 * KIB;
	assert_int_not_equal(cs_segment_attach(&other, &ticket), CS_OK);
	assert_null(other.base);
	cs_segment_close(&segment);
}

/* The lowest one that is free. */
static int
next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static void
sealed_segments_have_no_descriptor(void **state)
{
	int before = next_descriptor();
	struct cs_segment segment = made(), other = { .fd = -1 };
	struct cs_segment_ticket wrong = segment.ticket;
	wrong.nonce[0] ^= 1;
	assert_int_not_equal(cs_segment_attach(&other, &wrong), CS_OK);
	wrong.bytes *= 2;
	assert_int_not_equal(cs_segment_attach(&other, &wrong), CS_OK);
	assert_int_equal(cs_segment_attach(&other, &segment.ticket), CS_OK);
	cs_segment_seal(&segment);
	cs_segment_seal(&other);
	assert_int_equal(next_descriptor(), before);
	((char *)segment.base)[CS_SEGMENT_HEADER] = 7; /* and still are memory */
	assert_int_equal(((char *)other.base)[CS_SEGMENT_HEADER], 7);
	cs_segment_close(&segment);
	cs_segment_close(&other);
	cs_segment_close(&other);
	assert_int_equal(next_descriptor(), before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_asked_for_again_where_a_signal_came),
		cmocka_unit_test(memory_of_another_segment_is_not_attached),
		cmocka_unit_test(sealed_segments_have_no_descriptor),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
