import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseAgentConfig } from '../../src/index.js';

/** What guide and examples tell people to write into `agent.yaml`. */

const ROOT = join(import.meta.dirname, '../../../..');
const GUIDE = readFileSync(join(ROOT, 'docs/guide/plugins.md'), 'utf8');
const EXAMPLES = readdirSync(join(ROOT, 'examples/plugins'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.(sh|py|pm|ts)$/.test(file))
  .map((file) => readFileSync(join(ROOT, 'examples/plugins', file), 'utf8'));

const ofGuide = [...GUIDE.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = '']) => text);
/** In a comment: what follows `agent.yaml:` and begins with `tasks:`, up to the first line that is indented no more. */
const ofExamples = EXAMPLES.map((source) => {
  const lines = source.split('\n').map((line) => line.replace(/^(#| \*)/, ''));
  const begin = lines.findIndex((line) => line.trim() === 'tasks:');
  const end = lines.findIndex((line, index) => index > begin && !/^ {3}/.test(line));
  return lines.slice(begin, end).join('\n');
});

it.each([...ofGuide, ...ofExamples])('an agent takes what is written to configure a plugin: %s', (text) => {
  expect(Object.keys(parseAgentConfig(parse(text)).tasks?.plugins ?? {})).toHaveLength(1);
});

it('guide and examples configure plugins', () => {
  expect([ofGuide.length, ofExamples.length]).toEqual([2, 5]);
});
