/* The beginning and end of libmio in a process. */
#ifndef GNOMON_MIO_API_LIFE_H
#define GNOMON_MIO_API_LIFE_H

/* Once, before the first file is opened. */
void gn_mio_api_begin(void);

#endif
