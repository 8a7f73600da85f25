import type { Random } from '../random.js';
import type { Process, Timeline } from '../timeline.js';

/** The way between one node of the tree and the one above it. */
export interface Link {
  readonly name: string;
  readonly latencyMs: readonly [least: number, most: number];
  /** Nothing passes: what is sent is held, as TCP repeats it, and vanishes with its connection. */
  cut: boolean;
  /** Added to the latency. */
  delayMs: number;
}

/** Where clients of the network live: what is slow about it does not end with its process. */
export interface Host {
  readonly name: string;
  process: Process | null;
  /** Bytes taken from a connection at a time, and how often; null: as fast as they come. */
  reading: { readonly bytes: number; readonly everyMs: number } | null;
}

export interface NetworkOptions {
  readonly timeline: Timeline;
  readonly random: Random;
  /** Bytes under way, or arrived and not read, of one direction of a connection. */
  readonly windowBytes: number;
  /** Share of writes that arrive in pieces. */
  readonly splits: number;
  /** Bytes are being read by their receiver. */
  readonly read: (host: Host, bytes: Uint8Array, from: Host) => void;
}
