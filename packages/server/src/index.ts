export { LAYERS } from './layers.js';
export { type RunningServer, startServer } from './server.js';
