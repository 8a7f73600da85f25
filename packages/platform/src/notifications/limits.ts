import { OUTBOUND_LIMITS } from '../outbound/limits.js';

/** Every bound of notifications. */
export const NOTIFICATION_LIMITS = {
  perOrganization: 100,
  name: 255,
  /** Characters. */
  selector: 4096,
  target: OUTBOUND_LIMITS.urlLength,
  /** Deliveries of one notification that wait; further events are counted, and not told. */
  waiting: 1000,
  /** How long what was delivered or given up is kept. */
  keepMs: 30 * 86_400_000,
  /** Longest pause between two attempts to bring the audit. */
  trailPauseMs: 600_000,
  /** Deliveries in one answer. */
  page: 250,
} as const;
