/** Every limit of signing, by name. Bytes are bytes of UTF-8; times say their unit. */
export const SIGNING_LIMITS = {
  /** Clock difference accepted in signed requests; the difference must be below it (sheet §1.5). */
  requestSkewMs: 900_000,
  /** Clock difference accepted in signed logins to the event fabric; the difference must be below it. */
  loginSkewMs: 300_000,
  /** Pieces of a request signature: 40 hold an RSA key of 14,000 bits. */
  authorizationHeaders: 40,
  /** RSA keys of principals. */
  minKeyBits: 2048,
  /** Verification time grows with the square of it. */
  maxKeyBits: 8192,
  /** PEM text of a public key or certificate. */
  pemBytes: 16_384,
} as const;
