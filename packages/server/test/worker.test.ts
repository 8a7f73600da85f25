import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';

/** What a process loads that runs layers without listening anywhere, as a worker does. */

/** Names of the packages that are in memory once `specifier` is imported by a process of its own. */
function loadedBy(specifier: string): readonly string[] {
  const resolved = createRequire(import.meta.url).resolve(specifier);
  const script = `
    import { createRequire } from 'node:module';
    await import(process.argv[1]);
    const { cache } = createRequire(process.argv[1]);
    process.stdout.write(JSON.stringify(Object.keys(cache)));
  `;
  const files: string[] = JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '--eval', script, resolved], { encoding: 'utf8' }),
  );
  return files.flatMap((file) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []);
}

test('the layers load neither HTTP nor ZeroMQ', () => {
  const loaded = loadedBy('@muster/server/compose');
  // The look is a real one: these are there.
  expect(loaded).toContain('better-sqlite3');
  for (const absent of ['fastify', '@fastify/swagger', 'zeromq', 'sodium-native']) {
    expect(loaded).not.toContain(absent);
  }
});

test('the server itself loads them', () => {
  const loaded = loadedBy('@muster/server');
  for (const present of ['fastify', 'sodium-native']) expect(loaded).toContain(present);
});
