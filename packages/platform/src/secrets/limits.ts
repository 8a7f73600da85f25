/** Every bound of secrets. */
export const SECRET_LIMITS = {
  perOrganization: 1000,
  name: 100,
  /** Bytes. Shorter values would be masked where they are something else. */
  leastBytes: 8,
  mostBytes: 8192,
  holders: 100,
  /** Characters of a holder. */
  holder: 300,
  /** Of one push job. */
  perJob: 16,
} as const;

export const SECRET_NAME = '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$';
