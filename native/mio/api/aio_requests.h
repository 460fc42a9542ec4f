/* Asynchronous requests that the program has begun and not waited for. */
#ifndef GNOMON_MIO_AIO_REQUESTS_H
#define GNOMON_MIO_AIO_REQUESTS_H

/* In a child that was forked, which has none of them. */
void gn_mio_aio_forked(void);

#endif
