import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

async function script(kind: string): Promise<string> {
  const world = testWorld();
  expect(await run(['completion', kind], world)).toBe(0);
  return world.out();
}

/** What bash offers after these words. */
async function offered(...words: string[]): Promise<string[]> {
  const ask = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _muster; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const text = execFileSync('bash', ['-c', `${await script('bash')}\n${ask}`]).toString();
  return text.split('\n').filter((line) => line !== '');
}

test('bash completes commands', async () => {
  expect(await offered('muster', 'pu')).toEqual(['push']);
});

test('bash completes subcommands, also after a flag', async () => {
  expect(await offered('muster', '--json', 'push', 'st')).toEqual(['start', 'status']);
});

test('bash completes flags of the command in question', async () => {
  expect(await offered('muster', 'push', 'start', 'role:web', '--qu')).toEqual(['--quorum']);
});

test('bash completes the flags of the server, which come from its schema', async () => {
  expect(await offered('muster', 'server', '--data-')).toEqual(['--data-dir']);
});

test.each(['zsh', 'fish'])('%s gets a script that knows every command', async (kind) => {
  const text = await script(kind);
  for (const word of ['push', 'start', 'node-group', 'quorum']) expect(text).toContain(word);
});
