import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadAgentConfig, parseAgentConfig } from '../src/config.js';
import { LABELS } from '../src/limits.js';
import { scratch } from './support/agent.js';

let place: Awaited<ReturnType<typeof scratch>>;
beforeEach(async () => {
  place = await scratch();
});
afterEach(() => place.dispose());

describe('configuration file', () => {
  const load = async (text: string) => {
    const file = join(place.dir, 'agent.yaml');
    await writeFile(file, text);
    return loadAgentConfig(file);
  };

  it('is JSON or YAML, with defaults filled in', async () => {
    expect(await load('{"commands": {"hello": "echo hello"}}')).toMatchObject({
      commands: { hello: 'echo hello' },
      allow_any: false,
    });
    expect(await load('labels:\n  env: prod\n  weight: 3\n')).toMatchObject({
      labels: { env: 'prod', weight: 3 },
      grace: 5,
    });
    expect(await load('')).toMatchObject({ commands: {} });
  });
  it('an unknown key is an error that names it', async () => {
    await expect(load('comands: {}')).rejects.toThrow("unknown key 'comands'");
  });
  it('a wrong value is an error with its path', async () => {
    await expect(load('grace: soon')).rejects.toThrow(/grace/);
    await expect(load('labels: {a: [1]}')).rejects.toThrow(/labels/);
    await expect(load('[1]')).rejects.toThrow(/object/);
    await expect(load('a: [')).rejects.toThrow(/configuration/);
    await expect(load('a: b: c\n')).rejects.toThrow(/: Nested [^\n]+ column 4$/);
    await expect(loadAgentConfig(join(place.dir, 'none'))).rejects.toThrow(/ENOENT/);
  });
  it('a place of files that is none is told with what it may be', async () => {
    const said = /allow_fetch\.1: expected a whole path, as \/etc\/motd: that file; \/srv\/app\/\*: .*all below it/;
    await expect(load('allow_fetch: ["/etc/motd", "/etc/host*"]')).rejects.toThrow(said);
  });
  it('durations may have a unit; numbers are seconds', async () => {
    const config = await load('grace: 500ms\nfile_dir_expiry: 7d');
    expect([config.grace, config.file_dir_expiry]).toEqual([0.5, 604_800]);
    expect((await load('grace: 20')).grace).toBe(20);
  });
  it('a duration that cannot be is told with its key and what it may be', async () => {
    const forms = '(such as 500ms, 30s, 10m, 2h or 7d, or a number of seconds)';
    await expect(load('grace: soon')).rejects.toThrow(
      `grace: expected a duration from 0s to 365d ${forms}, got 'soon'`,
    );
    await expect(load('file_dir_expiry: 50ms')).rejects.toThrow(
      `file_dir_expiry: expected a duration from 100ms to 365d ${forms}, got '50ms'`,
    );
    await expect(load('grace: [5s]')).rejects.toThrow(`365d ${forms}, got a value of type object`);
    await expect(load('grace: -1')).rejects.toThrow('got -1');
  });
  it('limits of commands are sizes and numbers, told with their key', async () => {
    const { limits } = await load('limits: { memory: 512MiB, cpu: 1.5, pids: 100 }');
    expect(limits).toEqual({ memory: 2 ** 29, cpu: 1.5, pids: 100 });
    await expect(load('limits: { memory: much }')).rejects.toThrow(
      /limits\.memory: expected a size from 1MiB .+ 'much'/,
    );
    await expect(load('limits: { cpu: 0 }')).rejects.toThrow(/limits\.cpu/);
    await expect(load('limits: { pids: 0 }')).rejects.toThrow(/limits\.pids/);
  });
  it('has a limit on labels', () => {
    const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`l${n}`, n]));
    expect(() => parseAgentConfig({ labels: labels(LABELS) })).not.toThrow();
    expect(() => parseAgentConfig({ labels: labels(LABELS + 1) })).toThrow(/labels/);
  });
});
