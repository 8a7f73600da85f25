import type { TypeRules } from '../../event/access.js';
import { FABRIC_LIMITS } from '../../limits.js';
import type { HeartBeatTimes } from '../../protocol/heart-beat.js';
import { type Frame, frame } from '../../stomp/frame.js';
import type { RawFrame } from '../../stomp/raw-frame.js';
import { readRules } from '../logins/login-answers.js';

export interface HandshakeOptions {
  /** Header `host` of CONNECT; brokers with virtual hosts look at it. */
  readonly host: string;
  readonly login: string;
  /** Asked for at each attempt, as a signed login is good once. */
  readonly passcode: () => string;
  /** Upstream must know this login as a relay's. */
  readonly relay: boolean;
  /** Upstream is not Muster. */
  readonly foreign: boolean;
  /** Offered both ways. */
  readonly heartBeatMs: number;
  /** For how long we wait for a receipt of an event (F4). */
  readonly sendMs: number;
}

/** What upstream has agreed to. */
export interface UpstreamAgreement {
  readonly heartBeat: HeartBeatTimes;
  /** Largest event that it takes, as far as it says. */
  readonly maxEventBytes: number;
  /** What this login may follow, as far as it says. */
  readonly follow: TypeRules | null;
}

/** What only Muster understands. */
const extensions = (sendMs: number) =>
  [
    // What one client does wrong must not end the connection for all others.
    ['refusals', 'message'],
    // An upstream that has stood still for longer must not read what we have given up by then.
    ['send-timeout', String(sendMs)],
  ] as const;

export function connectFrame(options: HandshakeOptions): Frame {
  const { foreign, heartBeatMs, host, login, passcode, relay, sendMs } = options;
  return frame('CONNECT', [
    ['accept-version', '1.2'],
    ['host', host],
    ['login', login],
    ['passcode', passcode()],
    ['heart-beat', `${heartBeatMs},${heartBeatMs}`],
    ...(foreign ? [] : extensions(sendMs)),
    // Clients of a relay are told so at their own logins; here they speak as this login, and are told at once, too.
    ...(foreign || relay ? [] : [['rights', 'follow'] as const]),
  ]);
}

/** Reads CONNECTED. @returns a text that says why a relay cannot work with this upstream, or what was agreed. */
export function readConnected(
  raw: RawFrame,
  { heartBeatMs, login, relay }: HandshakeOptions,
): UpstreamAgreement | string {
  const version = raw.header('version') ?? '1.0';
  if (version !== '1.2') return `it speaks STOMP ${version}, a relay needs 1.2`;
  if (relay && raw.header('relay') !== 'true') return `'${login}' may not act as a relay`;
  const [theirs = 0, wanted = 0] = (raw.header('heart-beat') ?? '0,0').split(',').map(Number);
  const both = (other: number) => (heartBeatMs > 0 && other > 0 ? Math.max(heartBeatMs, other) : 0);
  return {
    heartBeat: { sendMs: both(wanted), patienceMs: FABRIC_LIMITS.missedIntervals * both(theirs) },
    maxEventBytes: Number(raw.header('max-event') ?? Number.POSITIVE_INFINITY),
    follow: readRules(raw.header('follow') ?? ''),
  };
}
