/** The kit for tests of plugins: `tryPlugin` runs one on a task as a node does. */
export { runKit } from './run.js';
export type { Trial, TriedPlugin, TriedTask } from './trial.js';
export { tryPlugin } from './try-plugin.js';
