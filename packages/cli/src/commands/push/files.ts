import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { notRunnable, SCRIPT_HEAD_BYTES } from '@muster/base';
import { signScript } from '@muster/signing';
import { type Command, Option } from 'commander';
import type { Job } from '../../api.js';
import { MusterError } from '../../errors.js';
import { pathOfFile, readingOf } from '../../files.js';
import { MAX_SCRIPT_BYTES } from '../../limits.js';
import { type Call, collect } from '../../shell.js';
import { joinWords } from '../../words.js';
import { bringFile, type LocalFile } from './bring.js';
import { checkPlace, saveFetched } from './fetched.js';
import type { Luggage } from './launch.js';

/** Flags of `push start` that are about files. */
export interface FileOptions {
  readonly script?: string;
  readonly upload?: readonly string[];
  readonly fetch?: string;
  readonly to?: string;
  readonly detach?: boolean;
}

/** Those that take files to the nodes. @param script How its arguments are given. */
export function addBroughtFlags(command: Command, script: string): Command {
  return command
    .option('--script <file>', `run this file in the place of a command, with ${script}`)
    .option(
      '--upload <file:dest>',
      'put this file at DEST of every node before the command starts; may be repeated',
      collect,
    );
}

export function addFileFlags(command: Command): Command {
  addBroughtFlags(command, 'what follows -- as its arguments').addOption(
    new Option('--fetch <path>', 'collect this file of every node, in the place of a command').conflicts([
      'detach',
      'script',
      'upload',
    ]),
  );
  return addPlaceFlag(command, 'with --fetch');
}

/** @param when Fetched files there are. */
export function addPlaceFlag(command: Command, when: string): Command {
  return command.option(
    '--to <directory>',
    `${when}: where the files go, each in a directory of its node (default: ./JOB)`,
  );
}

/** What a job takes along by its flags; null: nothing, it is a command alone. @throws MusterError `usage` */
export function luggageFor(call: Call<FileOptions>, words: readonly string[]): Luggage | null {
  const { options } = call;
  const uploads = (options.upload ?? []).map(readUpload);
  if (options.to !== undefined && options.fetch === undefined) {
    throw new MusterError('usage', { reason: '--to needs --fetch' });
  }
  if (options.fetch !== undefined) {
    if (words.length > 0) throw new MusterError('usage', { reason: '--fetch takes no command' });
    return fetching(call, options.fetch);
  }
  if (options.script === undefined && uploads.length === 0) return null;
  const bringUploads = async () => {
    const brought = [];
    for (const { file, dest } of uploads)
      brought.push({ ...(await bringFile(call, resolve(call.world.cwd, file))), dest });
    return uploads.length === 0 ? {} : { uploads: brought };
  };
  const { script } = options;
  if (script !== undefined) {
    const path = pathOfFile('--script', call.world.cwd, script);
    checkScript(script, path);
    const bring = async () => ({
      script: signed(call, { ...(await bringFile(call, path)), name: basename(path), args: words }),
      ...(await bringUploads()),
    });
    return { what: joinWords([basename(path), ...words]), asks: { script: true, uploads: uploads.length > 0 }, bring };
  }
  if (words.length > 0) {
    const command = joinWords(words);
    return {
      what: command,
      asks: { command, uploads: true },
      bring: async () => ({ command, ...(await bringUploads()) }),
    };
  }
  const what = `upload to ${uploads.map(({ dest }) => dest).join(', ')}`;
  return { what, asks: { uploads: true }, bring: bringUploads };
}

/** What every node would refuse. @throws MusterError `usage` */
function checkScript(script: string, path: string): void {
  const stats = readingOf(path, () => statSync(path));
  if (!stats.isFile()) throw new MusterError('usage', { reason: `${script} is not an ordinary file` });
  if (stats.size > MAX_SCRIPT_BYTES) {
    throw new MusterError('usage', {
      reason: `${script} has ${stats.size} bytes; a script has at most ${MAX_SCRIPT_BYTES}`,
    });
  }
  const why = notRunnable(readingOf(path, () => headOf(path)));
  if (why !== null) throw new MusterError('usage', { reason: `--script ${script} ${why}` });
}

function headOf(path: string): Uint8Array {
  const head = Buffer.alloc(SCRIPT_HEAD_BYTES);
  const file = openSync(path, 'r');
  try {
    return head.subarray(0, readSync(file, head, 0, head.length, 0));
  } finally {
    closeSync(file);
  }
}

/**
 * What an earlier job took along, which the server still has; null: nothing.
 * @param other A command in the place of what it ran, or of its fetch; its uploads go along with that, too.
 * @throws MusterError `usage`
 */
export function luggageOf(
  call: Call<Pick<FileOptions, 'to' | 'detach'>>,
  earlier: Job,
  other: string | null,
): Luggage | null {
  const { command, script, uploads, fetch } = earlier;
  if (other === null && fetch !== undefined) {
    if (call.options.detach === true) {
      throw new MusterError('usage', {
        reason: `job ${earlier.id} fetched ${fetch}, and --detach does not wait for the files: leave it out`,
      });
    }
    return fetching(call, fetch);
  }
  if (call.options.to !== undefined) {
    throw new MusterError('usage', {
      reason: `--to is where fetched files go, and ${other === null ? `job ${earlier.id} fetched none` : 'another command fetches none'}`,
    });
  }
  const sent = other === null ? script : undefined;
  if (sent === undefined && uploads === undefined) return null;
  const alone = sent !== undefined || (other === null && command.startsWith('upload:'));
  const what = other ?? command;
  const body = {
    ...(alone ? {} : { command: what }),
    ...(sent === undefined ? {} : { script: sent }),
    ...(uploads === undefined ? {} : { uploads }),
  };
  const asks = { ...(alone ? {} : { command: what }), script: sent !== undefined, uploads: uploads !== undefined };
  return { what, asks, bring: async () => body };
}

/** What is said of the files that an earlier job put on its nodes. */
export function uploadsText({ uploads = [] }: Job): string {
  return uploads.map(({ dest }) => `its --upload ${dest}`).join(' ');
}

/** @throws MusterError `nowhere_to_write` */
function fetching(call: Call<Pick<FileOptions, 'to'>>, path: string): Luggage {
  checkPlace(call);
  return {
    what: `fetch ${path}`,
    asks: { fetch: true },
    bring: async () => ({ fetch: path, capture_output: true }),
    ended: (job) => saveFetched(call, job, basename(path)),
  };
}

/** Whoever has a key signs; nodes may ask for that. */
function signed(
  call: Call<object>,
  { sha256, size, name, args }: LocalFile & { name: string; args: readonly string[] },
) {
  const { credentials, org } = call.settings;
  const script = { sha256, size, name, args };
  return credentials.kind === 'key'
    ? { ...script, signature: signScript({ org, sha256, args }, credentials.privateKey) }
    : script;
}

/** `FILE:DEST`; a DEST that ends with a slash is a directory. */
function readUpload(text: string): { readonly file: string; readonly dest: string } {
  const colon = text.lastIndexOf(':/');
  if (colon < 1)
    throw new MusterError('usage', { reason: `--upload takes FILE:DEST with an absolute DEST, not '${text}'` });
  const file = text.slice(0, colon);
  const dest = text.slice(colon + 1);
  return { file, dest: dest.endsWith('/') ? dest + basename(file) : dest };
}
