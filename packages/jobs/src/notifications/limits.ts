/** Every bound of notifications of jobs; those of what is sent are the platform's. */
export const NOTIFICATION_LIMITS = {
  /** Subscriptions to one job. */
  subscriptions: 20,
  /** Also of those that are no more. */
  everSubscribed: 200,
  eventLength: 32,
} as const;
