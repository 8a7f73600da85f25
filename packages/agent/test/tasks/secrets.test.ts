import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratch } from '../support/agent.js';
import { endHosts, TaskNode } from '../support/task-node.js';

/** What plugins of tasks are given of secrets, with real host processes. */

const VALUE = 'correct-horse-battery';
let place: Awaited<ReturnType<typeof scratch>>;
let node: TaskNode | null;
beforeEach(async () => {
  place = await scratch();
  node = null;
});
afterEach(async () => {
  node?.vanish();
  await endHosts(join(place.dir, 'tasks'));
  await place.dispose();
});

const sh = (script: string) => ({ program: '/bin/sh', args: ['-c', script] });
/** With its result, or before it when the machine was slow. */
function written(at: TaskNode, id: string, stream: 'stderr' | 'stdout' = 'stdout'): string {
  const end = at.news.find((news) => news.id === id && news.event === 'finished');
  const text = end?.event === 'finished' ? end.result[stream] : null;
  return text ?? at.outputOf(id, stream);
}

const work = () => readdir(join(place.dir, 'tasks', 'work'), { recursive: true });

async function start(plugins: Record<string, unknown>): Promise<TaskNode> {
  const secrets = { password: VALUE };
  node = await TaskNode.start(join(place.dir, 'tasks'), { max: 4, plugins }, { grace: 1, secrets });
  return node;
}

describe('a task with secrets', () => {
  it('finds them as files of its user alone, which go with it, and what it writes shows ***', async () => {
    const script = [
      'cd "$MUSTER_SECRETS"; ls; stat -c %a . password; wc -c < password',
      'cat password; printf "%s" " $(cut -c1-7 password)"; sleep 0.1; cut -c8- password; cat password >&2; exit 3',
    ].join('\n');
    const at = await start({ p: sh(script) });
    at.assign('a', 'p', {}, { secrets: ['password'] });
    await at.heard('a', 'finished');
    expect(written(at, 'a')).toBe(`password\n700\n600\n${VALUE.length}\n*** ***\n`);
    expect(written(at, 'a', 'stderr')).toBe('***');
    expect(JSON.stringify(at.news) + [...at.output.values()].join()).not.toContain(VALUE);
    await expect.poll(async () => (await work()).filter((name) => name.includes('secret'))).toEqual([]);
  });

  it('has none when another had some before in the same place', async () => {
    const at = await start({ p: sh('echo "[$MUSTER_SECRETS]"; ls -A') });
    at.assign('a', 'p', {}, { secrets: ['password'] });
    await at.heard('a', 'finished');
    at.assign('b', 'p');
    await at.heard('b', 'finished');
    expect(written(at, 'b')).toBe('[]\nparams.json\n');
  });

  it('of a module has them in the task; what it logs, tells and fails with shows ***', async () => {
    const module = join(place.dir, 'plugin.mjs');
    await writeFile(
      module,
      `export async function run(task, { log, progress }) {
        log('has ' + task.secrets.password + ' of ' + Object.keys(task.secrets));
        progress(0.5, task.secrets.password);
        await new Promise((resolve) => setTimeout(resolve, 50));
        throw new Error('cannot use ' + task.secrets.password);
      }`,
    );
    const at = await start({ p: { module } });
    at.assign('a', 'p', {}, { secrets: ['password'] });
    const result = await at.result('a');
    expect(result).toMatchObject({ status: 2, reason: 'Error: cannot use ***' });
    expect(written(at, 'a')).toBe('has *** of password\n');
    expect((await at.heard('a', 'progress')).text).toBe('***');
    expect(JSON.stringify(at.news) + [...at.output.values()].join()).not.toContain(VALUE);
  });
});
