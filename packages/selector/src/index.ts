export { type Attributes, compile, type Predicate } from './compile.js';
export { SelectorError } from './error.js';
export type * from './expression.js';
export { LIMITS as SELECTOR_LIMITS } from './limits.js';
export { type ParseOptions, parseSelector } from './parser.js';
export { print } from './print.js';
