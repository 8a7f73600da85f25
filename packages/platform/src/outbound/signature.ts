import { createHmac, hkdfSync } from 'node:crypto';

const BYTES = 32;

/** The key with which webhooks of an organization are signed. @param master Of the server. */
export function webhookKey(master: Uint8Array, orgId: string): Buffer {
  return Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), `muster webhooks ${orgId}`, BYTES));
}

/** As those get it who check signatures. */
export function webhookSecret(key: Uint8Array): string {
  return `whsec_${Buffer.from(key).toString('base64')}`;
}

/** The headers of Standard Webhooks. The id is that of the delivery: the same for every attempt. */
export function signatureHeaders(
  key: Uint8Array,
  id: string,
  now: number,
  body: string,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1000));
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}
