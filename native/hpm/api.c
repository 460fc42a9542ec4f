/* What programs call; C. It forwards to sections.c. Source: HPM Toolkit users guide 3.2.2,
 * section 3.7. */
#include "gnomon/libhpm.h"

#include "section_engine.h"

void hpmInit(int taskID, const char *progName)
{
	(void)taskID;
	hpm_init(progName);
}

void hpmTerminate(int taskID)
{
	(void)taskID;
	hpm_terminate("hpmTerminate");
}

void hpmStart(int instID, const char *label)
{
	hpm_start(HPM_CALL_START, instID, HPM_AUTO_PARENT, label, HPM_TO_ZERO, HPM_CALLED_FROM);
}

void hpmStartx(int instID, int par_ID, const char *label)
{
	hpm_start(HPM_CALL_STARTX, instID, par_ID, label, HPM_TO_ZERO, HPM_CALLED_FROM);
}

void hpmStop(int instID)
{
	hpm_stop(HPM_CALL_STOP, instID);
}

void hpmTstart(int instID, const char *label)
{
	hpm_start(HPM_CALL_TSTART, instID, HPM_AUTO_PARENT, label, HPM_TO_ZERO, HPM_CALLED_FROM);
}

void hpmTstartx(int instID, int par_ID, const char *label)
{
	hpm_start(HPM_CALL_TSTARTX, instID, par_ID, label, HPM_TO_ZERO, HPM_CALLED_FROM);
}

void hpmTstop(int instID)
{
	hpm_stop(HPM_CALL_TSTOP, instID);
}

void hpmInitOnce(const char *progName)
{
	hpm_init_once(progName);
}

void hpmTerminateOnce(void)
{
	hpm_terminate_once();
}

int hpmNewID(const char *file, int line)
{
	return hpm_new_id(hpm_engine_last(), "hpmNewID", file, line);
}

int hpmPlace(int instID, const char *file, int line)
{
	return hpm_tell_place(hpm_engine_last(), instID, file, line);
}

int hpmKeepsPlaces(void)
{
	const struct hpm_engine *engine = hpm_engine_last();

	return engine && engine->keeps_places;
}

void hpmCalledFrom(const char *stack)
{
	hpm_told = stack;
}

void hpmGetTimeAndCounters(int numCounters, double *time, long long *values)
{
	hpm_get(HPM_CALL_GET_TIME, numCounters > 0 ? numCounters : 0, time, values);
}

void hpmGetCounters(long long *values)
{
	hpm_get(HPM_CALL_GET, -1, NULL, values);
}
