import { durationOf, formatDuration } from '../../duration.js';
import { MusterError } from '../../errors.js';

/** Flags that become headers of the fabric protocol: refused in the words of the command line, before it connects. */

/** `--at`: milliseconds since the epoch. @throws MusterError `usage` */
export async function atOf(text: string, nowMs: number): Promise<number> {
  if (text.startsWith('+')) return Math.round(nowMs + durationOf('--at', text.slice(1)) * 1000);
  const { parseTime } = await import('@muster/fabric/client');
  const atMs = parseTime(text);
  if (atMs !== null && atMs >= nowMs) return atMs;
  if (atMs !== null) {
    const ago = formatDuration((nowMs - atMs) / 1000);
    throw new MusterError('usage', {
      reason: `--at ${text} is in the past, by ${ago}: leave it out to publish now, or name a time to come`,
    });
  }
  throw wrong('--at', text, '+10m, or a time with its zone such as 2026-11-20T12:00:00Z');
}

/** `--from` @throws MusterError `usage` */
export async function checkFrom(text: string): Promise<void> {
  const { parseFrom } = await import('@muster/fabric/client');
  if (parseFrom(text) !== null) return;
  throw wrong('--from', text, 'first, a position, -10s, -30m, -1h, -2d, or a time such as 2026-11-20T12:00:00Z');
}

/** `--durable` @throws MusterError `usage` */
export async function checkDurable(text: string): Promise<void> {
  const { isDurableName } = await import('@muster/fabric/client');
  if (!isDurableName(text)) throw wrong('--durable', text, '1 to 128 of A-Z a-z 0-9 _ . -');
}

function wrong(flag: string, text: string, expected: string): MusterError {
  return new MusterError('usage', { reason: `${flag} must be ${expected}, got '${text}'` });
}
