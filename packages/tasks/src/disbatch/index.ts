export { Balancer } from './balance/balancer.js';
export type { Dialect } from './dialect.js';
export { createDisbatchApp } from './http/app.js';
export { DisbatchListener } from './http/listener.js';
export { organizationRoutes } from './http/organization-routes.js';
export type { DisbatchDeps, DisbatchSettings } from './interface.js';
export { disbatchRoutes } from './routes/index.js';
