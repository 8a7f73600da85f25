export { type ClusterMember, startClusterMember } from './cluster/start.js';
export { LAYERS } from './layers.js';
export { type RunningServer, startServer } from './server.js';
