import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MusterError } from '@muster/base';
import fc from 'fast-check';
import { Check } from 'typebox/value';
import { afterAll, expect, test } from 'vitest';
import { type ConfigSources, describeConfig, loadConfig, ServerConfigSchema } from '../src/config/index.js';

const directory = mkdtempSync(join(tmpdir(), 'muster-config-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const rows = describeConfig();
const leaf = fc.oneof(
  fc.jsonValue(),
  fc.string(),
  fc.integer(),
  fc.double(),
  fc.constantFrom(
    '0.0.0.0:80',
    'tcp://*:0',
    'true',
    '127.0.0.1:1',
    '[::]:9',
    'postgres://a:b@c/d',
    '',
    '15',
    '7d',
    '5ms',
    '1GiB',
  ),
);
const paths = fc.constantFrom(...rows.map((row) => row.path), 'nothing', 'http.nothing', 'http', '__proto__.x');

const tree = fc.array(fc.tuple(paths, leaf), { maxLength: 6 }).map((entries) => {
  const root: Record<string, unknown> = {};
  for (const [path, value] of entries) {
    const [name = '', key] = path.split('.');
    if (key === undefined) root[name] = value;
    else {
      const group = Object.hasOwn(root, name) ? root[name] : undefined;
      const next = typeof group === 'object' && group !== null ? { ...group, [key]: value } : { [key]: value };
      Object.defineProperty(root, name, { value: next, enumerable: true, configurable: true, writable: true });
    }
  }
  return root;
});

function onlyKnownErrors(sources: ConfigSources): void {
  try {
    expect(Check(ServerConfigSchema, loadConfig(sources))).toBe(true);
  } catch (error) {
    if (!(error instanceof MusterError)) throw error;
    expect(['invalid_configuration', 'insecure_listen', 'insecure_stomp']).toContain(error.code);
    expect(error.message).not.toMatch(/\p{Cc}/u);
  }
}

test('any map in a file is either a configuration or refused as one', () => {
  const file = join(directory, 'map.json');
  fc.assert(
    fc.property(tree, (content) => {
      writeFileSync(file, JSON.stringify(content));
      onlyKnownErrors({ file, env: {}, flags: {} });
    }),
    { numRuns: 300 },
  );
});

test('any text in a file is either a configuration or refused as one', () => {
  const file = join(directory, 'text.yaml');
  const yaml = fc.array(
    fc.constantFrom(
      'a',
      'http',
      ':',
      ' ',
      '\n',
      '- ',
      '{',
      '}',
      '[',
      ']',
      '&a',
      '*a',
      '!!x',
      '<<',
      '"',
      '#',
      '|',
      '?',
      '1',
      '~',
    ),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        yaml.map((parts) => parts.join('')),
      ),
      (content) => {
        writeFileSync(file, content);
        try {
          loadConfig({ file, env: {}, flags: {} });
        } catch (error) {
          if (!(error instanceof MusterError) || error.code !== 'invalid_configuration') throw error;
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('any environment and any flags are either a configuration or refused as one', () => {
  const variable = fc.oneof(
    fc.constantFrom(...rows.map((row) => row.env)),
    fc.string().map((text) => `MUSTER_${text}`),
    fc.string(),
  );
  const flag = fc.oneof(fc.constantFrom(...rows.map((row) => row.flag)), fc.string());
  // Objects as JSON: not every one of them can become a text by itself.
  const text = fc.oneof(
    fc.string(),
    leaf.map((value) => (typeof value === 'object' ? JSON.stringify(value) : String(value))),
  );
  fc.assert(
    fc.property(
      fc.dictionary(variable, text, { maxKeys: 5 }),
      fc.dictionary(flag, fc.oneof(text, leaf), { maxKeys: 5 }),
      (env, flags) => onlyKnownErrors({ env, flags }),
    ),
    // Found once: an object that cannot become a text.
    { numRuns: 500, examples: [[{}, { '--heartbeat-offline-threshold': { toString: false } }]] },
  );
});
