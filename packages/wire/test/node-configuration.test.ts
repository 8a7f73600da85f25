import { MusterError } from '@muster/base';
import { expect, it } from 'vitest';
import { parseNodeConfiguration } from '../src/node-configuration.js';

const good = {
  type: 'config',
  host: 'push.example.com',
  push_jobs: {
    heartbeat: {
      out_addr: 'tcp://push.example.com:10000',
      command_addr: 'tcp://push.example.com:10001',
      interval: 0.5,
      offline_threshold: 3,
      online_threshold: 2,
    },
    command_addr: 'tcp://push.example.com:10001',
  },
  node: 'node1',
  organization: 'acme',
  public_key: '-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n\n',
  curve_public_key: '0'.repeat(40),
  encoded_session_key: { method: 'hmac_sha256', key: 'AAAA' },
  lifetime: 3600,
  max_message_skew: 300,
  max_body_size: 65536,
  incarnation_id: 'e0d96969-db1a-4df5-aabd-a029de131ca3',
  output_limit: 10485760,
};

it('the answer of a server is read, unknown fields left out', () => {
  expect(parseNodeConfiguration({ ...good, more: 1 })).toEqual(good);
});

it('the CURVE key may be absent, on the sockets of spec 1.0', () => {
  const { curve_public_key: _, ...plain } = good;
  expect(parseNodeConfiguration(plain)).toEqual(plain);
});

function refused(change: (copy: Record<string, unknown> & typeof good) => void): string {
  const copy = structuredClone(good) as Record<string, unknown> & typeof good;
  change(copy);
  try {
    parseNodeConfiguration(copy);
  } catch (error) {
    if (error instanceof MusterError && error.code === 'invalid_field') return String(error.details.field);
    throw error;
  }
  return 'accepted';
}

it.each(Object.keys(good).filter((field) => field !== 'curve_public_key'))('%s is needed', (field) => {
  expect(refused((copy) => delete (copy as Record<string, unknown>)[field])).toContain(
    field === 'type' ? 'type' : field,
  );
});

it.each<[string, (copy: typeof good) => void]>([
  ['push_jobs.heartbeat.interval', (copy) => (copy.push_jobs.heartbeat.interval = 0)],
  ['push_jobs.heartbeat.offline_threshold', (copy) => (copy.push_jobs.heartbeat.offline_threshold = 1.5)],
  ['push_jobs.heartbeat.out_addr', (copy) => (copy.push_jobs.heartbeat.out_addr = '')],
  ['push_jobs.command_addr', (copy) => (copy.push_jobs.command_addr = 'x'.repeat(1025))],
  ['encoded_session_key.method', (copy) => (copy.encoded_session_key.method = 'none')],
  ['curve_public_key', (copy) => (copy.curve_public_key = 'short')],
  ['lifetime', (copy) => (copy.lifetime = Number.POSITIVE_INFINITY)],
  ['lifetime', (copy) => (copy.lifetime = Number.NaN)],
  ['max_body_size', (copy) => (copy.max_body_size = 0)],
])('a bad %s is refused by its path', (path, change) => {
  expect(refused(change)).toBe(path);
});

it.each([null, undefined, 'text', 5, [], {}])('%j is no configuration', (json) => {
  expect(() => parseNodeConfiguration(json)).toThrow(MusterError);
});
