/* What programs call; C. Source: HPM Toolkit users guide 3.2.2, section 3.7. */
#include "gnomon/libhpm.h"

#include "engine.h"

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
	hpm_start("hpmStart", HPM_PROCESS, instID, HPM_AUTO_PARENT, label, HPM_TO_ZERO);
}

void hpmStartx(int instID, int par_ID, const char *label)
{
	hpm_start("hpmStartx", HPM_PROCESS, instID, par_ID, label, HPM_TO_ZERO);
}

void hpmStop(int instID)
{
	hpm_stop("hpmStop", HPM_PROCESS, instID);
}

void hpmTstart(int instID, const char *label)
{
	hpm_start("hpmTstart", HPM_THREAD, instID, HPM_AUTO_PARENT, label, HPM_TO_ZERO);
}

void hpmTstartx(int instID, int par_ID, const char *label)
{
	hpm_start("hpmTstartx", HPM_THREAD, instID, par_ID, label, HPM_TO_ZERO);
}

void hpmTstop(int instID)
{
	hpm_stop("hpmTstop", HPM_THREAD, instID);
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
	return hpm_new_id("hpmNewID", file, line);
}

void hpmGetTimeAndCounters(int numCounters, double *time, long long *values)
{
	hpm_get("hpmGetTimeAndCounters", numCounters > 0 ? numCounters : 0, time, values);
}

void hpmGetCounters(long long *values)
{
	hpm_get("hpmGetCounters", -1, NULL, values);
}
