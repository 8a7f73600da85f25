/** Every bound of calendars. */
export const CALENDAR_LIMITS = {
  perOrganization: 200,
  name: 255,
  description: 1000,
  /** Of one calendar. */
  entries: 50,
  /** Characters of an entry, and of why it is there. */
  text: 200,
  /** Longest window of an entry that comes again and again. */
  windowMs: 7 * 86_400_000,
  /** Calendars that one schedule or rule heeds. */
  heeded: 10,
  /** Windows that follow each other are looked through so far, when it is asked for their end. */
  joined: 64,
} as const;
