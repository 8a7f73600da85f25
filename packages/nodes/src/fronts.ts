// For servers that follow; apart, as a server that leads, or is alone, needs none of it.
export { advertised } from './configuration.js';
export { NodeFront } from './fronts/front.js';
