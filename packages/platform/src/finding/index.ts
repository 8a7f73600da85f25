export { type Asked, type Finder, type Found, firstSeen, named } from './finder.js';
export { peopleFinders } from './people.js';
export { findRoutes } from './routes.js';
