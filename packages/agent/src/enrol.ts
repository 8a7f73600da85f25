import { createPrivateKey, createPublicKey } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { generateKeyPair, MusterError, normalizePublicKey } from '@muster/wire';
import type { Logger } from 'pino';
import { organizationUrl } from './configuration-request.js';
import { readIfThere, writeDurably } from './durable.js';
import { errorText, http } from './http.js';

export interface Enrolment {
  readonly server: URL;
  readonly org: string;
  readonly name: string;
  readonly token: string;
  readonly dataDir: string;
  readonly ca: string | null;
}

/** The node's private key inside its data directory. */
export function ownKeyFile(dataDir: string): string {
  return join(dataDir, 'client.pem');
}

/**
 * Registers this node with a key of its own making. The key is on disk before the request leaves, and the server takes
 * the same key for the same name again, so an attempt that broke off anywhere may be repeated.
 * Throws `server_unreachable`, or `enrolment_refused` with the server's own words.
 */
export async function enrol(enrolment: Enrolment, logger: Logger): Promise<void> {
  const { dataDir, org, name, token } = enrolment;
  const keyFile = ownKeyFile(dataDir);
  const done = join(dataDir, 'enrolled');
  const existing = await readIfThere(keyFile);
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const privateKey = existing ?? (await generateKeyPair()).privateKey;
  if (existing === null) await writeDurably(keyFile, privateKey);
  const publicKey = createPublicKey(createPrivateKey(privateKey)).export({ type: 'spki', format: 'pem' }).toString();
  // Which key, for whom: a key that was replaced since, or another name, has not enrolled.
  const mark = `${org} ${name} ${normalizePublicKey(publicKey).fingerprint}\n`;
  if ((await readIfThere(done)) === mark) {
    logger.info({ key: keyFile }, 'already enrolled; the enrolment token is ignored');
    return;
  }

  const answer = await http({
    url: organizationUrl(enrolment.server, org, 'enroll'),
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ token, name, public_key: publicKey }),
    ca: enrolment.ca,
  });
  if (answer.status !== 200 && answer.status !== 201) {
    throw new MusterError('enrolment_refused', { status: answer.status, reason: errorText(answer) });
  }
  await writeDurably(done, mark);
  logger.info({ org, node: name, key: keyFile }, 'enrolled');
}
