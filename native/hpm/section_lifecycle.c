/* From hpmInit to hpmTerminate, in this process and in those that it forks. */
#include <errno.h>

#include "aggregate.h"
#include "bare_ticks.h"
#include "section_engine.h"

void hpm_terminate_once(void)
{
	struct hpm_process *process = hpm_process_page;
	struct hpm_engine *engine = process ? process->engine : NULL;

	if (engine && engine->state == HPM_RUNNING) {
		hpm_shorten_wait();
		hpm_terminate("exit");
	} else if (engine && engine->state == HPM_ENDING && !hpm_finalize_exit()) {
		hpm_raw_remove(&engine->file);
	}
}

void hpm_init(const char *program)
{
	const int before = errno;
	struct hpm_process *here = hpm_process_begin(hpm_terminate_once);

	if (!here) {
		hpm_error(NULL, HPM_NO_MEMORY, "hpmInit: nothing is measured; free some memory");
	} else if (here->engine) {
		const int is_over = here->engine->state != HPM_RUNNING;

		hpm_error(NULL, is_over ? HPM_TERMINATED : HPM_TWICE,
			  is_over ? "hpmInit: the output has been written; call hpmInit and "
				    "hpmTerminate once in a program"
				  : "hpmInit: the first call holds; call it once");
	} else {
		hpm_engine_begin(here, program);
	}
	errno = before;
}

void hpm_init_once(const char *program)
{
	if (!hpm_engine_last())
		hpm_init(program);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void close_all(struct hpm_engine *engine)
{
	const int held = hpm_mutex_hold(&engine->mutex);

	if (engine->rotation)
		gn_rotation_stop(engine->rotation);
	engine->rotation = NULL;
	engine->layout.rotates = 0;
	hpm_lock(&engine->process);
	hpm_context_close(engine, &engine->process);
	hpm_unlock(&engine->process);
	for (struct hpm_thread *thread = engine->threads; thread; thread = thread->next) {
		hpm_lock(&thread->context);
		hpm_context_close(engine, &thread->context);
		hpm_unlock(&thread->context);
	}
	hpm_mutex_release(&engine->mutex, held);
}

/* The rate of the counter over the whole run; returns the run's seconds. */
static double measure_hz(const struct hpm_engine *engine)
{
	const double seconds = (double)(gn_clock_ns() - engine->init_ns) / 1e9;
	const double ticks = (double)(gn_bare_ticks(hpm_uses_counter) - engine->init_ticks);

	/* Shorter than that, reading both clocks takes too much of the time. */
	if (hpm_uses_counter && seconds > 0.1 && ticks > 0)
		engine->file.raw.header->ticks_hz = ticks / seconds;
	return seconds;
}

void hpm_terminate(const char *caller)
{
	const int before = errno;
	struct hpm_process *here = hpm_process_page;
	struct hpm_engine *engine = here ? here->engine : NULL;
	int running = HPM_RUNNING;
	double rusage[HPM_RAW_RUSAGE];
	double stopped, wall_s;

	if (hpm_self && hpm_self->engine == engine && engine && hpm_self->is_busy) {
		hpm_error(NULL, HPM_IN_SIGNAL,
			  "%s: its signal came in the middle of another call of libhpm, nothing is "
			  "written; `gnomon repair` %s",
			  caller, engine->file.path);
		errno = before;
		return;
	}
	if (!engine) {
		/* A child that started no section has nothing to write. */
		if (!hpm_engine_last())
			hpm_no_engine(caller, 0);
		errno = before;
		return;
	}
	if (!atomic_compare_exchange_strong(&engine->state, &running, HPM_ENDING)) {
		hpm_error(NULL, HPM_TERMINATED, "%s: the output has been written; call it once",
			  caller);
		errno = before;
		return;
	}
	hpm_stop_all(engine);
	hpm_rusage(rusage);
	wall_s = measure_hz(engine);
	stopped = (double)hpm_epoch_ns() / 1e9;
	close_all(engine);
	if (!hpm_finalize(&engine->file.raw, &engine->settings, rusage, stopped, wall_s,
			  engine->notes))
		hpm_raw_remove(&engine->file);
	else
		hpm_error(NULL, HPM_NOT_WRITTEN,
			  engine->file.path[0] ? "%s holds what was measured; make room, then "
						 "`gnomon repair` it"
					       : "%swhat was measured is lost; set HPM_OUTPUT_NAME "
						 "to a writable directory with free space",
			  engine->file.path);
	engine->state = HPM_ENDED;
	errno = before;
}
