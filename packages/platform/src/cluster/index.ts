export { Election, type Fence } from './election.js';
export { CLUSTER_LIMITS } from './limits.js';
export { clusterMigrations } from './migrations.js';
export { LINKS, PassingOn } from './passing-on.js';
export { type ClusterRouteDeps, clusterRoutes } from './routes.js';
export { type ClusterServer, ClusterServers, type Leader, type OwnServer } from './servers.js';
export { checkSharedKey, sharedKeyFiles } from './shared-files.js';
export { type Sender, VOUCHED_HEADER, Vouching } from './vouching.js';
export { askOthers } from './witnesses.js';
