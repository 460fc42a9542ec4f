/*
 * Totals from samples. Source: the paper on PAPI that proposes them (Dongarra et al., 2003,
 * section 4): the sum of what the samples stand for needs no read of a counter.
 */
#include <math.h>

#include "error_text.h"

/* Two sides of a normal distribution leave out 5 %. */
#define DEVIATIONS 1.96
/* Of a share that no sample fell into: 95 of 100 times it is below 3 samples. */
#define NONE_SEEN 3.0

int gn_estimate_part(const struct gn_estimate *total, uint64_t samples, struct gn_estimate *part)
{
	double share, deviation;

	if (!total || !part || samples > total->samples)
		return gn_fail(GN_EINVAL,
			       "estimate of a part: %llu samples are more than all, or there is no "
			       "total; give the estimate of the whole",
			       (unsigned long long)samples);
	*part = *total;
	part->samples = samples;
	part->value = (double)samples * total->weight;
	share = total->samples ? (double)samples / (double)total->samples : 0;
	deviation = sqrt((double)samples * (1 - share));
	part->error =
		total->weight * (share > 0 && share < 1 ? DEVIATIONS * deviation + 0.5 : NONE_SEEN);
	return GN_OK;
}
