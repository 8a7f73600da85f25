import type { OutputLoadOptions } from './output-load.js';
import type { TaskLoadOptions } from './task-load.js';

/** Between the load generator and the child processes that hold its nodes. */

/** Nodes that configure themselves as agents do, with a signed request each. */
export interface ConfiguredBatch {
  readonly kind: 'configured';
  readonly server: string;
  readonly org: string;
  readonly names: readonly string[];
  /** PEM, shared by all simulated nodes. */
  readonly privateKey: string;
  /** Configuration requests of this process in flight at once. */
  readonly parallel: number;
  /** Absent: they take no tasks. */
  readonly tasks?: TaskLoadOptions;
  /** Absent: their commands write nothing. */
  readonly output?: OutputLoadOptions;
}

/** Nodes that are told where to connect; for measurements without a Muster server. */
export interface AssignedBatch {
  readonly kind: 'assigned';
  readonly org: string;
  readonly address: string;
  readonly curveServerKey: string;
  readonly nodes: readonly { readonly name: string /** Base64. */; readonly sessionKey: string }[];
}

export type BatchOrder =
  | ConfiguredBatch
  | AssignedBatch
  /** A prepared batch connects. */
  | { readonly kind: 'connect' };

export type BatchReport =
  /** Keys are made and requests signed: what costs the generator more than the server is done. */
  | { readonly kind: 'prepared' }
  /** Every node has its sockets and has sent its first messages. */
  | { readonly kind: 'connected'; readonly nodes: number }
  | { readonly kind: 'failed'; readonly reason: string };
