import type { Json } from '@muster/wire';

/** A filter, read: what a document must fulfil. */
export type Condition =
  | { readonly kind: 'all'; readonly of: readonly Condition[] }
  | { readonly kind: 'any'; readonly of: readonly Condition[] }
  | { readonly kind: 'none'; readonly of: readonly Condition[] }
  | { readonly kind: 'field'; readonly path: readonly string[]; readonly tests: readonly Test[] };

export type Test =
  | { readonly op: 'eq' | 'ne'; readonly value: Json }
  | { readonly op: 'gt' | 'gte' | 'lt' | 'lte'; readonly value: Json }
  | { readonly op: 'in' | 'nin'; readonly values: readonly Json[] }
  | { readonly op: 'exists'; readonly value: boolean }
  | { readonly op: 'not'; readonly tests: readonly Test[] };

/** A document, or a value in one. */
export type Document = { readonly [name: string]: Json };
