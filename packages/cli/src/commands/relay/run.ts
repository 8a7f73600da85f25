import { resolve } from 'node:path';
import { expectedQuantity, parseSize, processUser, systemClock } from '@muster/base';
import type { RelayOptions, RelayRun } from '@muster/fabric/relay';
import { type CertificatePair, certificateProblem } from '@muster/signing';
import { durationOf } from '../../duration.js';
import { MusterError } from '../../errors.js';
import { readAuthority, readText } from '../../settings.js';
import type { Call } from '../../shell.js';
import { signedLogins } from '../../signed-login.js';
import { toldToStop } from '../../stopping.js';

export interface RelayFlags {
  readonly upstream?: string;
  readonly listen?: readonly string[];
  readonly login?: string;
  readonly passcode?: string;
  readonly passcodeFile?: string;
  readonly key?: string;
  readonly anonymous?: boolean;
  readonly virtualHost?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly ca?: string;
  readonly insecure?: boolean;
  readonly workers?: string;
  readonly status?: string;
  readonly retry?: string;
  readonly sendTimeout?: string;
  readonly heartBeat?: string;
  readonly maxEvent?: string;
  readonly maxQueued?: string;
  readonly logLevel: string;
}

const MOST_WORKERS = 64;
const MOST_EVENT_BYTES = 1024 * 1024;
const MOST_QUEUED_BYTES = 1024 * 1024 * 1024;

export async function runRelay(call: Call<RelayFlags>): Promise<number> {
  const { createRelayLogger, runRelayProcess } = await import('@muster/fabric/relay');
  const { options, world } = call;
  const stopping = toldToStop(world);
  const run: RelayRun = {
    options: relayOptions(call),
    workers: wholeNumber('--workers', options.workers, MOST_WORKERS) ?? 1,
    status: options.status,
    env: world.env,
    stopping,
  };
  const logger = createRelayLogger(options.logLevel);
  return runRelayProcess(run, { clock: systemClock, log: logger, random: Math.random });
}

function relayOptions({ options, world }: Call<RelayFlags>): RelayOptions {
  const text = (file: string | undefined) => (file === undefined ? undefined : readText(resolve(world.cwd, file)));
  const [cert, key] = [text(options.tlsCert), text(options.tlsKey)];
  const ca = readAuthority(world, options.ca);
  const eventBytes = bytes('--max-event', options.maxEvent, MOST_EVENT_BYTES);
  const outboundBytes = bytes('--max-queued', options.maxQueued, MOST_QUEUED_BYTES);
  if ((cert === undefined) !== (key === undefined)) {
    throw new MusterError('usage', { reason: '--tls-cert and --tls-key go together' });
  }
  if (cert !== undefined && key !== undefined) checkCertificate(options, { cert, key });
  return {
    upstream: options.upstream,
    listen: options.listen ?? ['127.0.0.1:61613'],
    login: options.login,
    passcode: passcodeOf(options, world),
    anonymous: options.anonymous === true,
    insecure: options.insecure === true,
    ...(options.virtualHost !== undefined && { virtualHost: options.virtualHost }),
    ...(cert !== undefined && key !== undefined && { tls: { cert, key } }),
    ...(ca !== undefined && { ca }),
    ...(options.retry !== undefined && { retryMs: milliseconds('--retry', options.retry) }),
    ...(options.sendTimeout !== undefined && { sendMs: milliseconds('--send-timeout', options.sendTimeout) }),
    ...(options.heartBeat !== undefined && { heartBeatMs: milliseconds('--heart-beat', options.heartBeat) }),
    ...(eventBytes !== undefined && { eventBytes }),
    ...(outboundBytes !== undefined && { outboundBytes }),
  };
}

function checkCertificate({ tlsCert, tlsKey }: RelayFlags, pair: CertificatePair): void {
  const problem = certificateProblem(pair);
  if (problem === null) return;
  const [setting, path = ''] = problem.in === 'cert' ? ['--tls-cert', tlsCert] : ['--tls-key', tlsKey];
  throw new MusterError('invalid_certificate', { setting, path, reason: problem.reason, user: processUser() });
}

/** Of the flags one at most; then MUSTER_TOKEN. Undefined: there is none. */
function passcodeOf(options: RelayFlags, world: Call<RelayFlags>['world']): (() => string) | undefined {
  const { passcode, passcodeFile, key, login = '' } = options;
  const given = [passcode, passcodeFile, key].filter((flag) => flag !== undefined);
  if (given.length > 1) throw new MusterError('usage', { reason: 'give one of --passcode, --passcode-file and --key' });
  if (passcode !== undefined) return () => passcode;
  if (passcodeFile !== undefined) {
    const path = resolve(world.cwd, passcodeFile);
    readText(path);
    // Again at each attempt: tokens expire and are replaced.
    return () => readText(path).trim();
  }
  if (key !== undefined) {
    const path = resolve(world.cwd, key);
    return signedLogins(login, readText(path), path, () => world.now());
  }
  const token = world.env.MUSTER_TOKEN;
  return token === undefined || token === '' ? undefined : () => token;
}

function milliseconds(flag: string, text: string): number {
  const seconds = durationOf(flag, text);
  if (seconds <= 0) throw new MusterError('usage', { reason: `${flag}: '${text}' must be longer than nothing` });
  return seconds * 1000;
}

function bytes(flag: string, text: string | undefined, maximum: number): number | undefined {
  if (text === undefined) return undefined;
  const size = parseSize(text);
  if (size !== null && size >= 1 && size <= maximum) return size;
  const expected = expectedQuantity({ unit: 'bytes', minimum: 1, maximum });
  throw new MusterError('usage', { reason: `${flag}: expected ${expected}, got '${text}'` });
}

function wholeNumber(flag: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= 1 && number <= most) return number;
  throw new MusterError('usage', { reason: `${flag} must be a whole number from 1 to ${most}, got '${text}'` });
}
