import { type RequestOptions, request } from 'node:http';
import type { RelayStatus } from '@muster/fabric/relay';
import { MusterError } from '../../errors.js';

const ANSWER_MS = 5000;
const MOST_BYTES = 1024 * 1024;

/** What a relay tells of itself. `place`: a URL, HOST:PORT, or the path of its socket. @throws `relay_unreachable` */
export async function askRelay(place: string): Promise<RelayStatus> {
  try {
    return JSON.parse(await get(place)) as RelayStatus;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new MusterError('relay_unreachable', { place, reason }, { cause: error });
  }
}

function get(place: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ ...targetOf(place), timeout: ANSWER_MS }, (answer) => {
      const parts: Buffer[] = [];
      let size = 0;
      answer.on('data', (part: Buffer) => {
        size += part.length;
        parts.push(part);
        if (size > MOST_BYTES) asked.destroy(new Error('its answer is too long'));
      });
      answer.on('error', reject);
      answer.on('end', () => {
        const text = Buffer.concat(parts).toString('utf8');
        if (answer.statusCode === 200) resolve(text);
        else reject(new Error(`it answered ${answer.statusCode}: ${text.trim()}`));
      });
    });
    asked.on('timeout', () => asked.destroy(new Error(`no answer within ${ANSWER_MS / 1000} s`)));
    asked.on('error', reject);
    asked.end();
  });
}

function targetOf(place: string): RequestOptions {
  if (place.startsWith('/')) return { socketPath: place, path: '/status' };
  const { hostname, port } = new URL(place.includes('://') ? place : `http://${place}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 80 : port, path: '/status' };
}
