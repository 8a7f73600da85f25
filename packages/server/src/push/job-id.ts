const RANDOM_BYTES = 10;
const JOB_ID = /^[0-9a-f]{32}$/;

export function isJobId(text: string): boolean {
  return JOB_ID.test(text);
}

/** The last 12 digits of the organization's id, then 20 random ones (sheet §7.5). */
export function newJobId(orgId: string, random: (bytes: number) => Uint8Array): string {
  return orgId.slice(-12) + Buffer.from(random(RANDOM_BYTES)).toString('hex');
}
