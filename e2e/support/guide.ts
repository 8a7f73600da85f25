import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from './until.js';

/**
 * How the code blocks of a page are marked, after the three backquotes:
 *
 * | block | what a reader does with it, and the test |
 * |---|---|
 * | `sh` | types it; it ends with exit code 0. Variables and the directory are kept for the next block |
 * | `sh exit-1` | the same, but the work may fail, as the page says: commands may have the exit code 1 |
 * | `sh until-ctrl-c` | types it in a terminal of its own, and presses Ctrl-C at the end of the page. Of several lines that all begin with `muster` each is ended before the next |
 * | `console` | types what follows `$ `; what comes out looks like the lines below it |
 * | `text` | reads it: the last command that goes on until Ctrl-C has printed something that looks like this |
 * | `sh no-run REASON` | cannot do it here |
 */
export interface Block {
  /** Of its first line of code. */
  readonly line: number;
  /** The info string. */
  readonly info: string;
  readonly text: string;
}

const FENCE = /^( *)```(.*)\n([\s\S]*?)^ *```/gm;

export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(FENCE)].map((match) => {
    const [, indent = '', info = '', text = ''] = match;
    const line = markdown.slice(0, match.index).split('\n').length + 1;
    return { line, info: info.trim(), text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '').trimEnd() };
  });
}

/** Each `$ command` of a transcript with the lines that it shows below. */
export function commandsOf(transcript: string): { readonly command: string; readonly shown: readonly string[] }[] {
  return transcript
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...shown] = part.trimEnd().split('\n');
      return { command, shown };
    });
}

/** A command that goes on until Ctrl-C; of several lines that are commands of their own, each. */
export function endlessCommandsOf(text: string): string[] {
  const lines = text.split('\n');
  return lines.every((line) => /^(npx )?muster /.test(line)) ? lines : [text];
}

/** Of a task, or of a job. */
const ID = /\b(?:[0-9a-f]{24}|[0-9a-f]{32})\b/g;

const STATUSES = /\b(new|voting|ready|running|complete|succeeded|failed|aborted|crashed|nacked|serving|connecting)\b/g;

/** A line without what differs from one run to the next: ids, times, numbers, statuses, how many blanks. */
export function shapeOf(line: string): string {
  return line
    .replace(ID, 'ID')
    .replace(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\dZ?/g, 'TIME')
    .replace(/\d+(\.\d+)?/g, 'N')
    .replace(/\bN[smhd]( N[smhd])?\b/g, 'DURATION')
    .replace(STATUSES, 'STATUS')
    .replace(/\b(node|time)s\b/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Lines that a program printed and that look like none of those that were shown. */
export function unlike(printed: string, shown: readonly string[]): string[] {
  const shapes = new Set(shown.map(shapeOf));
  return printed.split('\n').filter((line) => line.trim() !== '' && !shapes.has(shapeOf(line)));
}

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Endless {
  readonly script: string;
  readonly pid: number;
  readonly exited: Promise<number | null>;
  readonly ended: () => boolean;
  readonly printed: () => string;
}

/** A terminal of somebody who follows a guide: variables and the working directory last from one block to the next. */
export class Terminal {
  readonly #dir: string;
  readonly #env: NodeJS.ProcessEnv;
  /** Texts of the guide that stand for others here: its ports, and the ids that it shows. */
  readonly #instead: Map<string, string>;
  #runs = 0;
  readonly #endless: Endless[] = [];
  #last: () => string = () => '';

  /** `instead`: what to put for texts of the guide. */
  constructor(dir: string, env: NodeJS.ProcessEnv, instead: ReadonlyMap<string, string> = new Map()) {
    mkdirSync(dir, { recursive: true });
    this.#dir = dir;
    this.#env = env;
    this.#instead = new Map(instead);
    writeFileSync(this.#state, `cd '${dir}'\n`);
  }

  get #state(): string {
    return join(this.#dir, '.terminal');
  }

  /** What the last command that goes on until Ctrl-C has printed. */
  get printed(): string {
    return this.#last();
  }

  /** `mostCode`: the highest exit code that a command may have. */
  async run(script: string, mostCode = 0): Promise<Run> {
    const { child, printed } = this.#start(script, mostCode);
    const [code] = (await once(child, 'exit')) as [number | null];
    const run = { code, stdout: printed('out'), stderr: printed('err') };
    return run;
  }

  /** Types a command, runs it, and takes the ids that it prints for those that the guide shows. */
  async follow(command: string, shown: readonly string[]): Promise<Run> {
    const run = await this.run(command, 1);
    for (const line of run.stdout.split('\n')) {
      const like = shown.find((one) => shapeOf(one) === shapeOf(line));
      const ids = line.match(ID) ?? [];
      for (const [index, id] of (like?.match(ID) ?? []).entries()) {
        this.#instead.set(id, ids[index] ?? id);
      }
    }
    return run;
  }

  /** Runs a command until `ctrlC`; resolves when it has printed something, as only then it is there. */
  async begin(script: string): Promise<void> {
    const { child, printed } = this.#start(script, 0);
    let code: number | null | undefined;
    const exited = once(child, 'exit').then(([exit, signal]: (number | string | null)[]) => {
      // `npx` does not take Ctrl-C itself, and so ends by it.
      code = signal === 'SIGINT' ? 0 : (exit as number | null);
      return code;
    });
    const all = () => `${printed('out')}${printed('err')}`;
    this.#endless.push({ script, pid: child.pid ?? 0, exited, ended: () => code !== undefined, printed: all });
    this.#last = all;
    await until(`${script} prints something`, () => {
      if (code !== undefined) throw new Error(`${script} ended with exit code ${code}: ${all()}`);
      return all() !== '';
    });
  }

  /** Ends the last command that goes on. False: there is none. @throws Error when it does not end well */
  async ctrlC(): Promise<boolean> {
    const endless = this.#endless.pop();
    if (endless === undefined) return false;
    // A later block of the page may have ended it: the reader's durable subscription was deleted, for instance.
    if (endless.ended()) return true;
    process.kill(-endless.pid, 'SIGINT');
    const code = await endless.exited;
    if (code === 0 || code === 130) return true;
    throw new Error(`${endless.script} ends with exit code ${code} by Ctrl-C: ${endless.printed()}`);
  }

  #start(script: string, mostCode: number) {
    let typed = script;
    for (const [text, other] of this.#instead) typed = typed.replaceAll(text, other);
    const name = `.run${this.#runs++}`;
    const file = (stream: 'out' | 'err') => join(this.#dir, `${name}.${stream}`);
    const [out, err] = [openSync(file('out'), 'w'), openSync(file('err'), 'w')];
    // Every variable is exported, so that the next block has it.
    const lines = [
      `. '${this.#state}'`,
      `trap '{ export -p; printf "cd %q\\n" "$PWD"; } > ${this.#state}' EXIT`,
      'set -auo pipefail',
      `trap 'code=$?; [ $code -le ${mostCode} ] || exit $code' ERR`,
      typed,
    ];
    const child = spawn('bash', ['-c', lines.join('\n')], {
      cwd: this.#dir,
      env: this.#env,
      detached: true,
      // A process that is left in the background keeps what it writes to; pipes would seem to go on.
      stdio: ['ignore', out, err],
    });
    closeSync(out);
    closeSync(err);
    return { child, printed: (stream: 'out' | 'err') => readFileSync(file(stream), 'utf8') };
  }
}
