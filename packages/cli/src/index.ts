/** What other packages and the documentation generator use of the CLI. */
export { Client, RefusedError } from './client.js';
export { jsonReference } from './json/reference.js';
export { answersOfRoutes, operations as operationsOfCommands, PRINTED, schemaOf } from './json/schema.js';
export type { JsonSchema } from './json/shapes.js';
export { manPages } from './man-pages.js';
export { createProgram } from './program.js';
export { commandReference } from './reference.js';
export { run } from './run.js';
export { loadSettings, type Settings } from './settings.js';
export { processWorld, type Sink, type World } from './world.js';
