/** A submission queue, and which requests go to it (sheet §4). */
export interface JobQueue {
  /** null: nobody has defined it; it is there by itself, as default queues are. */
  readonly uuid: string | null;
  readonly orgId: string;
  /** Whole: `aloe.jobq.TENANT.submit.SUFFIX`. */
  readonly name: string;
  /** Those with a higher number are asked first. */
  readonly priority: number;
  readonly filter: string;
  /** Milliseconds since the epoch; null as `uuid`. */
  readonly created: number | null;
  readonly lastUpdated: number | null;
}

/** What a definition says, once it was checked. */
export interface QueueDefinition extends Pick<JobQueue, 'name' | 'priority' | 'filter'> {
  /** It is only changed if this is when it was changed last. */
  readonly ifUpdated?: number;
}

export const DEFAULT_SUFFIX = 'DefaultQueue';
/** Of default queues, and of no other. */
export const DEFAULT_PRIORITY = 1;
/** Always true. */
export const DEFAULT_FILTER = 'tenantId IS NOT NULL';
