export { keyFilesIn } from './key-files.js';
export { RotatingServerKey } from './rotating-key.js';
export { ServerKeyRotation } from './rotation.js';
export { serverKeyRoutes } from './routes.js';
