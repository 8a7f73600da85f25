import { describe, expect, it } from 'vitest';
import { readNew } from '../src/notifications/request.js';

const SERVICES = "type = 'auth.service.create'";

describe('what is asked of a notification', () => {
  it.each([
    [{ on: 'type = ', to: 'a@b.example' }, 'on'],
    [{ on: 'type:web', to: 'a@b.example' }, 'on'],
    [{ on: SERVICES, to: 'nowhere' }, 'to'],
    [{ on: SERVICES, to: 'ftp://example.org/' }, 'to'],
    [{ on: SERVICES, to: 'http://127.0.0.1/' }, 'to'],
    [{ on: SERVICES, to: 'http://[::1]:8080/' }, 'to'],
    [{ on: SERVICES, to: 'http://169.254.169.254/latest/' }, 'to'],
    [{ to: 'a@b.example' }, 'on'],
    [{ on: SERVICES, to: 'a@b.example', after_seal: 1 }, 'after_seal'],
    [{ follows: 'audit', to: 'a@b.example' }, 'to'],
    [{ follows: 'audit', to: 'https://a.example/', on: SERVICES }, 'on'],
    [{ follows: 'audit', to: 'https://a.example/', retries: 1 }, 'retries'],
  ])('%j is refused by the name of its field', (fields, field) => {
    expect(() => readNew(fields as Parameters<typeof readNew>[0], false)).toThrow(
      expect.objectContaining({ code: 'invalid_field', details: expect.objectContaining({ field }) }),
    );
  });

  it('may be a private address where that is allowed', () => {
    expect(readNew({ on: SERVICES, to: 'http://127.0.0.1/', retries: 0 }, true)).toMatchObject({
      target: 'http://127.0.0.1/',
      policy: { retryStrategy: 'NONE', retryLimit: 0 },
    });
  });
});
