export { createApp, createHttpServer } from './app.js';
export { baseUrl } from './base-url.js';
export { parseJson, readBody } from './body.js';
export { HTTP_LIMITS } from './limits.js';
export { listen } from './listen.js';
export type { App } from './route.js';
export type { SeatLimits } from './seats.js';
export { type EventStream, EventStreams } from './sse.js';
