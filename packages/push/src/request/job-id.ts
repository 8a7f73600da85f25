const RANDOM_BYTES = 10;
const JOB_ID = /^[0-9a-f]{32}$/;

export function isJobId(text: string): boolean {
  return JOB_ID.test(text);
}

const DIGITS = /^[0-9a-f]{4,32}$/;

/** What the ids begin with that somebody means by these digits; null when they are no digits, or too few. */
export function idsBeginning(orgId: string, digits: string): string | null {
  if (!DIGITS.test(digits)) return null;
  const common = orgId.slice(-12);
  // What all ids of the organization have in common tells nothing, and may be left out.
  return digits.startsWith(common) || common.startsWith(digits) ? digits : common + digits;
}

/** The last 12 digits of the organization's id, then 20 random ones (sheet §7.5). */
export function newJobId(orgId: string, random: (bytes: number) => Uint8Array): string {
  return orgId.slice(-12) + Buffer.from(random(RANDOM_BYTES)).toString('hex');
}
