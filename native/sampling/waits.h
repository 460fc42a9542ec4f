/*
 * Where threads wait: from the kernel's records of their switches, with the stack at which they
 * left the CPU where that is known. A wait begins when a thread leaves its CPU, or is created, and
 * ends when it runs again. Waits without a stack are added up by thread and duration.
 */
#ifndef GNOMON_SAMPLING_WAITS_H
#define GNOMON_SAMPLING_WAITS_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "kernel_chains.h"
#include "processes.h"
#include "sample_file.h"

/* What a thread was doing, as the kernel's list of system calls has it; 0 where it is not known. */
enum gn_wait_call {
	GN_CALL_UNKNOWN,
	GN_CALL_OTHER,
	GN_CALL_FUTEX,
	GN_CALL_SLEEP,
	GN_CALL_POLL,
	GN_CALL_READ,
	GN_CALL_WRITE,
	GN_CALL_CHILD, /* wait4 */
	GN_CALL_SYNC,
	GN_CALL_NONE, /* no call: a page fault */
};

/* What is read or written, in the upper half of a call's byte. */
enum gn_wait_file {
	GN_FILE_UNKNOWN = 0,
	GN_FILE_PIPE = 1 << 4,
	GN_FILE_SOCKET = 2 << 4,
	GN_FILE_TERMINAL = 3 << 4,
	GN_FILE_OTHER = 4 << 4,
};

/* What /proc told of a thread that waits, between two times at which it was the same. */
struct gn_wait_look {
	uint64_t from_ns, until_ns; /* 0: there was no look */
	uint64_t subject;	    /* address of a futex */
	int32_t holder;		    /* what a mutex there says of its owner */
	uint8_t call;		    /* enum gn_wait_call and gn_wait_file */
};

struct gn_thread_waits {
	uint64_t begin_ns; /* of the thread, or of the measurement */
	uint64_t out_ns;   /* since when it waits; 0: it runs */
	uint64_t woken_ns; /* since when it could run; 0: that is not known */
	struct gn_sample_sample sample;
	struct gn_wait_kernel {
		uint8_t is_apart;  /* the kernel's part of the stack is not in the sample */
		uint64_t argument; /* of the system call that the sample ends with, if it does */
		uint32_t n;
		uint64_t address[GN_KERNEL_CHAIN_MAX];
	} kernel;
	uint8_t has_sample;
	uint8_t is_runnable;  /* it left the CPU, or was created, ready to run */
	uint8_t is_known;     /* whether it runs or waits was told at least once */
	uint8_t is_interrupt; /* what woke it */
	int32_t waker;	      /* its tid, 0: that is not known */
	struct gn_wait_look look;
	struct gn_thread *next_out, **link_out;	  /* those that wait and were not looked at */
	struct gn_thread *next_rest, **link_rest; /* those with waits that are not yet written */
	struct gn_wait_rest {
		uint64_t ns;
		uint32_t n;
	} rest[2][GN_WAIT_DURATIONS];
};

struct gn_waits {
	struct gn_sample_file *out;
	uint32_t *n_written; /* samples in the file */
	uint64_t since_ns; /* from when threads that run already are measured; 0: there are none */
	struct gn_thread *out_first, *rest_first;
	uint64_t rest_told_ns;		 /* when those were last written */
	uint64_t n;			 /* waits */
	uint64_t n_samples, n_signalled; /* stacks that were taken when threads left */
	uint64_t held_ns;
	uint32_t n_held; /* waits that are held back: of most short programs nothing is written */
	uint8_t is_released;
	struct gn_held_wait *held;
};

int gn_waits_begin(struct gn_waits *waits, struct gn_sample_file *out, uint32_t *n_written,
		   uint64_t since_ns);
void gn_waits_end(struct gn_waits *waits);

/* A thread that was created, or executes the program, at a time. */
void gn_waits_create(struct gn_waits *waits, struct gn_thread *thread, uint64_t time_ns,
		     int is_runnable);

/* A thread that was there before: until something is told of it, it is taken to wait. */
void gn_waits_suppose(struct gn_waits *waits, struct gn_thread *thread);

/* The stack of a thread that is about to leave its CPU; the kernel's part may come apart. */
void gn_waits_sample(struct gn_waits *waits, struct gn_thread *thread,
		     const struct gn_sample_sample *sample);
void gn_waits_kernel(struct gn_waits *waits, struct gn_thread *thread, uint64_t time_ns,
		     const uint64_t *address, uint64_t n);
void gn_waits_leave(struct gn_waits *waits, struct gn_thread *thread, uint64_t time_ns,
		    int is_runnable);
void gn_waits_wake(struct gn_thread *thread, uint64_t time_ns, int32_t waker, int is_interrupt);
/* It runs again. The thread has a number. */
void gn_waits_return(struct gn_waits *waits, struct gn_thread *thread, uint64_t time_ns);

/* A thread that waits and was not looked at yet, NULL: there is none more. */
struct gn_thread *gn_waits_next(struct gn_waits *waits);
/* What the look told; `sample` NULL: no stack. */
void gn_waits_look(struct gn_thread *thread, const struct gn_wait_look *look,
		   const struct gn_sample_sample *sample);

/* The thread ends, with what is left of it. It has a number. */
void gn_waits_exit(struct gn_waits *waits, struct gn_thread *thread, uint64_t time_ns);

/* Writes what is added up, of the threads of the last second; `is_end`: all of it. */
void gn_waits_tell(struct gn_waits *waits, uint64_t now_ns, int is_end);

/* Other samples are written, so that nothing has to be held back. */
void gn_waits_release(struct gn_waits *waits);

/* Before the thread is freed. */
void gn_waits_forget(struct gn_thread *thread);

#endif
