import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takePidFile } from '../src/pid-file.js';
import { scratch } from './support/agent.js';

let place: Awaited<ReturnType<typeof scratch>>;
beforeEach(async () => {
  place = await scratch();
});
afterEach(() => place.dispose());

describe('a file that names its process', () => {
  it('is taken once', async () => {
    const path = join(place.dir, 'agent.pid');
    const lock = await takePidFile(path);
    expect(await takePidFile(path)).toBeNull();
    await lock?.release();
    expect(await takePidFile(path)).not.toBeNull();
  });
  it('left by a process that is gone is replaced, also when its number is in use again', async () => {
    const path = join(place.dir, 'agent.pid');
    const child = execFile('true');
    await new Promise((resolve) => child.once('exit', resolve));
    await writeFile(path, `${child.pid} 12345\n`);
    expect(await takePidFile(path)).not.toBeNull();
    await writeFile(path, `${process.pid} 1\n`);
    expect(await takePidFile(path)).not.toBeNull();
  });
  it('left by a zombie is replaced', async () => {
    // The inner process ends once its parent has become a program that collects no children.
    const go = join(place.dir, 'go');
    const script = `until [ -e ${go} ]; do sleep 0.02; done & echo $!; exec sleep 60`;
    const parent = execFile('sh', ['-c', script]);
    const pid = await new Promise<number>((resolve) => parent.stdout?.once('data', (data) => resolve(Number(data))));
    const stat = () => readFile(`/proc/${pid}/stat`, 'latin1');
    const name = () => readFile(`/proc/${parent.pid}/comm`, 'latin1');
    await expect.poll(name).toBe('sleep\n');
    await writeFile(go, '');
    await expect.poll(stat).toContain(') Z ');
    const start = (await stat()).split(') ')[1]?.split(' ')[19];
    const path = join(place.dir, 'agent.pid');
    await writeFile(path, `${pid} ${start}\n`);
    expect(await takePidFile(path)).not.toBeNull();
    parent.kill('SIGKILL');
  });
});
