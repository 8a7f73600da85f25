import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from './cluster.js';
import { type Block, blocksOf, commandsOf, endlessCommandsOf, Terminal, unlike } from './guide.js';
import { freePorts } from './ports.js';
import { killMarked, MARKER } from './started-process.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs/guide')).map((name) => `docs/guide/${name}`)];

/** Those that everybody reads first. */
export const FIRST_PAGES: readonly string[] = ['README.md', 'docs/guide/quick-start.md'];
export const LATER_PAGES: readonly string[] = PAGES.filter((page) => !FIRST_PAGES.includes(page));

interface Reader {
  readonly terminal: Terminal;
  readonly leave: () => Promise<void>;
}

/** Pages that begin with nothing but this checkout; they start their servers and agents themselves. */
const FROM_NOTHING = [
  'docs/guide/quick-start.md',
  'docs/guide/events.md',
  'docs/guide/plugins.md',
  'docs/guide/tasks.md',
  'docs/guide/jobs.md',
];

/** Ports that the guides name: of the server, and of relays. */
const PORTS = ['8080', '10000', '10001', '61613', '61623', '61633', '61643', '61653'];

/** `muster` in PATH, and `npx muster` in the directory, as in the checkout. */
function install(dir: string): string {
  const bin = join(dir, 'bin');
  mkdirSync(bin);
  symlinkSync(join(ROOT, 'packages/cli/bin/muster.js'), join(bin, 'muster'));
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  return `${bin}:${process.env.PATH}`;
}

async function fromNothing(): Promise<Reader> {
  const dir = mkdtempSync(join(tmpdir(), 'muster-guide-'));
  const marker = randomBytes(8).toString('hex');
  const ports = await freePorts(PORTS.length);
  const [http, heartbeat, command, stomp] = ports;
  const env = {
    PATH: install(dir),
    HOME: dir,
    [MARKER]: marker,
    MUSTER_HTTP_LISTEN: `127.0.0.1:${http}`,
    MUSTER_HEARTBEAT_LISTEN: `tcp://127.0.0.1:${heartbeat}`,
    MUSTER_COMMAND_LISTEN: `tcp://127.0.0.1:${command}`,
    MUSTER_STOMP_LISTEN: `127.0.0.1:${stomp}`,
  };
  const instead = new Map(PORTS.map((port, index) => [port, String(ports[index])]));
  const terminal = new Terminal(dir, env, instead);
  const leave = async () => {
    while (await terminal.ctrlC());
    killMarked(marker, dir);
    rmSync(dir, { recursive: true, force: true });
  };
  return { terminal, leave };
}

/** Where the quick start ends: a server and three agents. On `foo` the patches do not apply. */
async function startFleet(): Promise<Cluster> {
  const cluster = await Cluster.start();
  const commands = { 'chef-client': 'true', 'uname -a': 'uname -a' };
  const labels = { role: 'my_role', env: 'prod' };
  const tasks = { plugins: { checksum: { program: '/usr/bin/sha256sum', args: ['--', '{file}'] } } };
  const app = appOf(cluster);
  mkdirSync(app);
  const files = { allow_scripts: true, allow_upload: [`${app}/**`], allow_fetch: [`${app}/**`] };
  await cluster.startAgents({
    bar: { commands, labels, tasks },
    foo: { commands: { ...commands, 'chef-client': 'false' }, labels },
    web1: { commands, allow_any: true, ...files, labels: { role: 'web', env: 'prod' } },
    web2: { commands, allow_any: true, ...files, labels: { role: 'web', env: 'test' } },
  });
  return cluster;
}

const appOf = ({ dir }: Cluster) => join(dir, 'app');

/** Pages that take nodes away, and groups. */
const ALONE = ['docs/guide/operating.md'];

/** One for all other pages that begin with it: who reads several has done what those before say. */
let fleet: Promise<Cluster> | undefined;

async function withFleet(page: string): Promise<Reader> {
  const alone = ALONE.includes(page);
  const started = alone ? startFleet() : (fleet ?? startFleet());
  if (!alone) fleet = started;
  const cluster = await started;
  const dir = join(cluster.dir, 'readers', page.replaceAll('/', '-'));
  mkdirSync(dir, { recursive: true });
  const env = { ...cluster.environment, PATH: install(dir), HOME: dir };
  const instead = new Map([
    ['61613', String(cluster.ports[3])],
    ['/srv/app', appOf(cluster)],
  ]);
  const terminal = new Terminal(dir, env, instead);
  const leave = async () => {
    while (await terminal.ctrlC());
    if (alone) await cluster.stop();
  };
  return { terminal, leave };
}

/** What a block is for. */
function kindOf({ info }: Block): string {
  return info.split(/\s+/, 2).join(' ').trim();
}

const RUN = ['sh', 'sh exit-1', 'sh until-ctrl-c', 'console', 'text'];

const pages = PAGES.map((page) => ({ page, blocks: blocksOf(readFileSync(join(ROOT, page), 'utf8')) })).map(
  ({ page, blocks }) => ({ page, blocks, run: blocks.filter((block) => RUN.includes(kindOf(block))) }),
);

/** Tests that whoever follows one of these pages, block by block, gets what it says. How blocks are marked: `guide.ts`. */
export function testThatPagesWork(names: readonly string[]): void {
  afterAll(async () => (await fleet)?.stop());

  describe.each(pages.filter(({ page, run }) => names.includes(page) && run.length > 0))('$page', ({ page, run }) => {
    let reader: Reader;
    beforeAll(async () => {
      reader = await (FROM_NOTHING.includes(page) ? fromNothing() : withFleet(page));
    }, 120_000);
    afterAll(() => reader.leave());

    test.each(run)('line $line does what it says', { timeout: 120_000 }, async (block) => {
      const { terminal } = reader;
      switch (kindOf(block)) {
        case 'sh':
        case 'sh exit-1': {
          const most = block.info === 'sh' ? 0 : 1;
          const { code, stdout, stderr } = await terminal.run(block.text, most);
          expect(code, `${block.text}\n${stdout}${stderr}`).toBeLessThanOrEqual(most);
          return;
        }
        case 'sh until-ctrl-c':
          for (const [index, command] of endlessCommandsOf(block.text).entries()) {
            if (index > 0) await terminal.ctrlC();
            await terminal.begin(command);
          }
          return;
        case 'console':
          for (const { command, shown } of commandsOf(block.text)) {
            const { code, stdout, stderr } = await terminal.follow(command, shown);
            // Work that fails on some nodes, as shown, has the exit code 1.
            expect([0, 1], `${command}\n${stdout}${stderr}`).toContain(code);
            expect(stdout, stderr).not.toBe('');
            // An ellipsis: this is how it begins.
            const seen = shown.at(-1) === '…' ? stdout.split('\n', 1).join() : stdout;
            expect(unlike(seen, shown), `${command} shows\n${shown.join('\n')}`).toEqual([]);
          }
          return;
        default:
          await expect.poll(() => unlike(block.text, terminal.printed.split('\n'))).toEqual([]);
      }
    });
  });
}

export function testThatCommandsAreMarked(): void {
  test.each(pages)('in $page every command is run, or is marked with why not', ({ blocks }) => {
    const commands = blocks.filter(
      ({ info, text }) => /^(sh|bash|shell|console)\b/.test(info) || /^(\$ |npx |muster )/m.test(text),
    );
    const odd = commands.filter((block) => !RUN.includes(kindOf(block)) && !/^sh no-run \S+ \S+/.test(block.info));
    expect(odd).toEqual([]);
  });
}
