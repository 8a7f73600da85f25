export { type RunningServer, startServer } from './server.js';
