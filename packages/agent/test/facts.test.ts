import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { collectFacts, sameFacts } from '../src/facts.js';

describe('facts', () => {
  it('name the machine', () => {
    expect(collectFacts()).toMatchObject({
      hostname: expect.stringMatching(/^[^.]+$/),
      fqdn: expect.any(String),
      ip: expect.stringMatching(/[.:]/),
      os: expect.any(String),
      arch: process.arch,
      kernel: expect.any(String),
      cpus: expect.any(Number),
      memory: expect.any(Number),
      uptime: expect.any(Number),
      agent_version: expect.any(String),
    });
  });
  it('say the version that the command line says and releases have', () => {
    const description = readFileSync(new URL('../../cli/package.json', import.meta.url), 'utf8');
    expect(collectFacts().agent_version).toBe((JSON.parse(description) as { version: string }).version);
  });
  it('that only grew older are the same', () => {
    const facts = collectFacts();
    expect(sameFacts(facts, { ...facts, uptime: 0 })).toBe(true);
    expect(sameFacts(facts, { ...facts, cpus: 1000 })).toBe(false);
  });
});
