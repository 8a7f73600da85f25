import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@muster/base';
import { CgroupsUnusable } from '../../execution/cgroup.js';
import { openCommandGroups } from '../../execution/command-groups.js';
import { systemProcesses } from '../../execution/system-processes.js';
import { PLUGIN_LOG_BYTES, PLUGIN_LOG_LINES } from '../../limits.js';
import { takePidFile } from '../../pid-file.js';
import { HOST_FILES, hostMark } from '../host-files.js';
import type { HostSpec } from '../protocol.js';
import type { TaskRunner } from './attempt.js';
import { Modules } from './modules.js';
import { Programs } from './programs.js';
import { TaskHost } from './task-host.js';

/** A host process: `main.js DIRECTORY`, where its specification is, and its socket will be. */
const [, , directory = '.'] = process.argv;
const spec = JSON.parse(readFileSync(join(directory, HOST_FILES.spec), 'utf8')) as HostSpec;
process.title = spec.module === null ? 'muster-tasks' : `muster-worker ${spec.module.plugin}`;

const clock = systemClock;
let host: TaskHost | null = null;

/** What plugins say past their tasks: no more than some lines a second, so that the agent's log stays readable. */
let lines = 0;
let second = 0;
function log(text: string): void {
  const now = Math.floor(clock.monotonic() / 1000);
  if (now !== second) [second, lines] = [now, 0];
  lines += 1;
  if (lines <= PLUGIN_LOG_LINES) host?.log('debug', text.slice(0, PLUGIN_LOG_BYTES));
}

async function begin(): Promise<void> {
  await takePidFile(join(directory, HOST_FILES.pid));
  const runner = spec.module === null ? await programs() : modules(spec.module);
  const exit = (code: number): void => {
    runner.leave();
    leave(code);
  };
  host = new TaskHost({ clock, socket: join(directory, HOST_FILES.socket), exit }, runner);
  await host.listen();
}

function leave(code: number): void {
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch {
    // One that runs as another user may remove what is in it only; the rest is the agent's to remove.
  }
  process.exit(code);
}

async function programs(): Promise<TaskRunner> {
  const limited = await openCommandGroups({ dataDir: directory, limits: undefined, logger: SILENT }).then(
    systemProcesses,
    (error: unknown) => {
      if (error instanceof CgroupsUnusable) return error.message;
      throw error;
    },
  );
  const { node, workDir } = spec;
  const processes = systemProcesses(null);
  return new Programs({ clock, node, workDir, mark: hostMark(directory), processes, limited, log });
}

const SILENT = { debug: log, info: log, warn: log, error: log };

function modules(module: NonNullable<HostSpec['module']>): TaskRunner {
  const runner = new Modules(module, {
    clock,
    node: spec.node,
    memory: () => process.memoryUsage.rss(),
    retire: (reason) => host?.retire(reason),
  });
  process.on('uncaughtException', (error) => {
    log(`an error that the plugin did not catch: ${error instanceof Error ? (error.stack ?? error.message) : error}`);
    runner.crash(error);
  });
  for (const stream of [process.stdout, process.stderr]) {
    // Nobody reads them; what a plugin prints is for its author.
    stream.write = ((text: string | Uint8Array) => {
      log(typeof text === 'string' ? text : Buffer.from(text).toString('utf8'));
      return true;
    }) as typeof stream.write;
  }
  return runner;
}

// A terminal or a service manager that ends the agent means the agent.
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);
void begin();
