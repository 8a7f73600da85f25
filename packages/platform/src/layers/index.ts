// What the package adds to the types of the store: its tables.
import '../schema/tables.js';

export { type LayerDeclaration, together } from './declaration.js';
export { type Base, type Layer, Layers } from './layer.js';
export { platformLayer } from './platform-layer.js';
