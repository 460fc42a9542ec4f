/*
 * A stand-in for NVIDIA's libnvidia-ml.so.1, with recorded answers of two GPUs: a new one that
 * tells everything (GPU 0) and one of Kepler's time (GPU 1), which has no energy counter, no NVLink
 * and no ECC. NVML_STAND_IN says what fails: "init=N" with that nvmlReturn_t, "gpus=N" for another
 * number of GPUs, "lost" for a GPU that is lost once it has been initialised.
 *
 * Source: NVML API Reference Guide; the structures are those of nvml.h.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SUCCESS = 0,
	UNINITIALIZED = 1,
	INVALID_ARGUMENT = 2,
	NOT_SUPPORTED = 3,
	GPU_IS_LOST = 15,
};

struct utilization {
	unsigned int gpu;
	unsigned int memory;
};

struct memory {
	unsigned long long total;
	unsigned long long free;
	unsigned long long used;
};

struct violation {
	unsigned long long reference;
	unsigned long long violation;
};

union value {
	double d;
	unsigned long long ull;
};

struct field {
	uint32_t id;
	uint32_t scope;
	int64_t timestamp;
	int64_t latency;
	int type;
	int result;
	union value value;
};

struct gpu {
	unsigned int number;
	const char *name;
	const char *uuid;
	int is_old;
	unsigned int asked;
};

static struct gpu gpus[] = {
	{0, "NVIDIA H100 80GB HBM3", "GPU-5f6a0b1c-0001-0002-0003-000000000001", 0, 0},
	{1, "Tesla K80", "GPU-5f6a0b1c-0001-0002-0003-000000000002", 1, 0},
};

/* As a driver may: what one process has initialised is not so in its child. */
static pid_t initialised_by;

static long told(const char *key, long otherwise)
{
	const char *what = getenv("NVML_STAND_IN");
	const char *at = what ? strstr(what, key) : NULL;

	return at ? strtol(at + strlen(key), NULL, 10) : otherwise;
}

static int check(const struct gpu *gpu)
{
	const char *what = getenv("NVML_STAND_IN");

	if (initialised_by != getpid())
		return UNINITIALIZED;
	if (gpu && what && strstr(what, "lost"))
		return GPU_IS_LOST;
	return SUCCESS;
}

int nvmlInitWithFlags(unsigned int flags)
{
	const int result = (int)told("init=", SUCCESS);

	(void)flags;
	if (result == SUCCESS)
		initialised_by = getpid();
	return result;
}

int nvmlShutdown(void)
{
	return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
	*count = (unsigned int)told("gpus=", 2);
	return check(NULL);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, struct gpu **gpu)
{
	if (index >= sizeof(gpus) / sizeof(gpus[0]))
		return INVALID_ARGUMENT;
	*gpu = &gpus[index];
	return check(NULL);
}

int nvmlDeviceGetName(const struct gpu *gpu, char *name, unsigned int length)
{
	snprintf(name, length, "%s", gpu->name);
	return check(NULL);
}

int nvmlDeviceGetUUID(const struct gpu *gpu, char *uuid, unsigned int length)
{
	snprintf(uuid, length, "%s", gpu->uuid);
	return check(NULL);
}

/* 2.5 J more each time it is asked. */
int nvmlDeviceGetTotalEnergyConsumption(struct gpu *gpu, unsigned long long *millijoules)
{
	if (gpu->is_old)
		return NOT_SUPPORTED;
	*millijoules = 1000000ull + 2500ull * gpu->asked++;
	return check(gpu);
}

int nvmlDeviceGetPowerUsage(const struct gpu *gpu, unsigned int *milliwatts)
{
	*milliwatts = gpu->is_old ? 60000 : 312500;
	return check(gpu);
}

int nvmlDeviceGetUtilizationRates(const struct gpu *gpu, struct utilization *rates)
{
	rates->gpu = gpu->is_old ? 0 : 87;
	rates->memory = gpu->is_old ? 0 : 41;
	return check(gpu);
}

/* 1, 2, 3, then 1 GiB and so on: the peak is 3. */
int nvmlDeviceGetMemoryInfo(struct gpu *gpu, struct memory *memory)
{
	memory->total = 80ull << 30;
	memory->used = (1ull + gpu->asked++ % 3) << 30;
	memory->free = memory->total - memory->used;
	return check(gpu);
}

int nvmlDeviceGetClockInfo(const struct gpu *gpu, int type, unsigned int *mhz)
{
	*mhz = type == 2 ? 2619 : 1980;
	return check(gpu);
}

int nvmlDeviceGetTemperature(const struct gpu *gpu, int sensor, unsigned int *celsius)
{
	(void)sensor;
	*celsius = 55;
	return check(gpu);
}

int nvmlDeviceGetPcieThroughput(const struct gpu *gpu, int counter, unsigned int *kilobytes)
{
	usleep(20000);
	*kilobytes = counter == 0 ? 1500 : 2500;
	return gpu->is_old ? NOT_SUPPORTED : check(gpu);
}

int nvmlDeviceGetTotalEccErrors(const struct gpu *gpu, int type, int counter,
				unsigned long long *count)
{
	(void)counter;
	*count = type == 0 ? 7 : 0;
	return gpu->is_old ? NOT_SUPPORTED : check(gpu);
}

int nvmlDeviceGetFieldValues(struct gpu *gpu, int n, struct field *values)
{
	for (int i = 0; i < n; i++) {
		values[i].type = 3;
		values[i].result = gpu->is_old || values[i].scope != UINT32_MAX ? NOT_SUPPORTED : 0;
		values[i].value.ull = 100ull * ++gpu->asked;
	}
	return check(gpu);
}

/* nvmlDeviceGetViolationStatus is left out, as in a driver that is too old to have it. */
