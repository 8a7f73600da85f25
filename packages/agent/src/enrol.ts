import { createPrivateKey } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@muster/base';
import { generateKeyPair, normalizePublicKey, publicHalf } from '@muster/signing';
import type { Logger } from 'pino';
import { readIfThere, writeDurably } from './durable.js';
import { MusterError } from './errors.js';
import { organizationUrl, requestConfiguration } from './link/configuration-request.js';
import { errorText, http } from './link/http.js';
import { zeromqSockets } from './link/sockets.js';

export interface Enrolment {
  readonly server: URL;
  readonly org: string;
  readonly name: string;
  readonly token: string;
  readonly dataDir: string;
  readonly ca: string | null;
}

export interface EnrolSurroundings {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The node's private key inside its data directory. */
export function ownKeyFile(dataDir: string): string {
  return join(dataDir, 'client.pem');
}

/**
 * Registers this node with a key of its own making. The key is on disk before the request leaves, and the server takes
 * the same key for the same name again, so an attempt that broke off anywhere may be repeated. A node that has enrolled
 * keeps its key, unless the server does not know it by that and its name is free: then it was removed, and enrols with
 * a new one.
 * Throws `server_unreachable`, or `enrolment_refused` with the server's own words.
 */
export async function enrol(enrolment: Enrolment, around: EnrolSurroundings): Promise<void> {
  const { dataDir, org, name } = enrolment;
  const { logger } = around;
  const keyFile = ownKeyFile(dataDir);
  const privateKey = await keyIn(keyFile);
  const done = join(dataDir, 'enrolled');
  if ((await readIfThere(done)) !== markOf(enrolment, privateKey)) {
    await register(enrolment, privateKey);
    await writeDurably(done, markOf(enrolment, privateKey));
    logger.info({ org, node: name, key: keyFile }, 'enrolled');
    return;
  }
  const next = `${keyFile}.next`;
  const ignored = () => logger.info({ key: keyFile }, 'already enrolled; the enrolment token is ignored');
  if ((await askStanding(enrolment, privateKey, around)) !== 'refused') return ignored();
  const old = `${keyFile}.old`;
  const nextKey = await keyIn(next);
  try {
    await register(enrolment, nextKey);
  } catch (error) {
    // The name has another key, which is not our next one either: nobody removed the node.
    if (!(error instanceof MusterError) || error.details.status !== TAKEN) throw error;
    await rm(next);
    return ignored();
  }
  // In this order: whatever breaks off, the next start finds a key that the server knows, or registers it again.
  await writeDurably(old, privateKey);
  await rename(next, keyFile);
  await writeDurably(done, markOf(enrolment, nextKey));
  logger.warn(
    { org, node: name, key: keyFile, old },
    'the server did not know this node; enrolled again with a new key',
  );
}

/** The key in this file, which is made when it is missing. */
async function keyIn(file: string): Promise<string> {
  const existing = await readIfThere(file);
  if (existing !== null) return existing;
  const { privateKey } = await generateKeyPair();
  await writeDurably(file, privateKey);
  return privateKey;
}

/** Which key has enrolled, for whom: a key that was replaced since, or another name, has not. */
function markOf({ org, name }: Enrolment, privateKey: string): string {
  return `${org} ${name} ${normalizePublicKey(publicHalf(privateKey)).fingerprint}\n`;
}

async function register({ server, org, name, token, ca }: Enrolment, privateKey: string): Promise<void> {
  const answer = await http({
    url: organizationUrl(server, org, 'enroll'),
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ token, name, public_key: publicHalf(privateKey) }),
    ca,
  });
  if (answer.status === 200 || answer.status === 201) return;
  throw new MusterError('enrolment_refused', { status: answer.status, reason: errorText(answer) });
}

/** Status of the refusal of a name that somebody has. */
const TAKEN = 409;

/**
 * What the server has of this node: it does not say whether there is no such node or whether that has another key. Only its own words count: a refusal without its code comes from something before
 * it, and one because of the clock says nothing about the key.
 */
async function askStanding(
  { server, org, name, ca }: Enrolment,
  privateKey: string,
  { clock }: EnrolSurroundings,
): Promise<'known' | 'refused' | 'unclear'> {
  const identity = { server, org, name, ca, key: createPrivateKey(privateKey) };
  try {
    await requestConfiguration(
      identity,
      { curvePublicKey: zeromqSockets.curveKeys().publicKey, knownKey: null },
      clock.now(),
    );
    return 'known';
  } catch (error) {
    const code = error instanceof MusterError && error.code === 'configuration_refused' ? error.details.code : null;
    return code === 'unknown_principal' ? 'refused' : 'unclear';
  }
}
