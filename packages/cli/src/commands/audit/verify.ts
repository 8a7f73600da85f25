import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ChainReader, keysAround, normalizePublicKey } from '@muster/signing';
import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { readingOf } from '../../files.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { count } from '../queue/settings.js';
import { type Chain, chainOfFile, chainOfServer, type OfServer } from './chain.js';

interface VerifyOptions extends OfServer {
  readonly publicKey?: string;
  readonly head?: string;
  readonly knownForged: number;
}

/** With these a chain is read until where it breaks. */
const BROKEN: ReadonlySet<string> = new Set(['audit_broken', 'audit_cut']);
/** Of entries that are forged. */
const MOST_NAMED = 10;
const HASH = /^[0-9a-f]{64}$/;

export function addVerify(parent: Command, shell: Shell): void {
  const command = clientCommand(parent, {
    usage: 'verify [file]',
    summary: 'whether the audit is as it was sealed: of the server, or of a file that `audit export` wrote',
    examples: [
      'muster audit verify',
      'muster audit verify audit.jsonl --public-key server.pub',
      'muster audit verify --of-server',
      'muster audit verify --head 9f2c…64 hex digits that an earlier verify printed',
    ],
  });
  command
    .option('--public-key <file>', 'PEM of the server’s key, so that no other key is believed')
    .option('--head <hash>', 'of an earlier time: it must be part of the chain, or its end was cut off or replaced')
    .option(
      '--known-forged <n>',
      'so many forged entries have been looked into: only more of them fail',
      count('--known-forged', 0),
      0,
    )
    .option('--of-server', 'of what concerns the whole server, and no one organization (server administrators)');
  does<VerifyOptions>(command, shell, async (call) => {
    const { out, world, options } = call;
    const chain = await chainOf(call);
    const path = options.publicKey;
    const pem =
      path === undefined ? chain.publicKey : readingOf(path, () => readFileSync(resolve(world.cwd, path), 'utf8'));
    const key = normalizePublicKey(pem);
    const reader = new ChainReader(keysAround(key.pem, chain.serverKeys), chain.organizationId);
    if (options.head !== undefined && !HASH.test(options.head))
      throw new MusterError('usage', {
        reason: `--head takes the 64 hex digits that verify prints, and not '${options.head}'`,
      });
    const forged: number[] = [];
    const told = (broken: MusterError | null) => {
      const { number: seals, hash: head } = reader.head;
      const { seal = null, reason } = broken?.details ?? {};
      const how = broken === null ? null : { seal, reason };
      out.document({ entries: reader.entries, forged: forged.length, seals, head, key: key.fingerprint, broken: how });
    };
    try {
      await readAll(chain, reader, options.head, forged);
    } catch (error) {
      if (error instanceof MusterError && BROKEN.has(error.code)) told(error);
      throw error;
    }
    told(null);
    const { number: seals, hash: head } = reader.head;
    out.line(sealedText(reader.entries, seals));
    out.fields([
      ['Head', head],
      ['Key', key.fingerprint],
    ]);
    if (options.head === undefined)
      out.note(
        call.args.length > 0
          ? 'Whether the audit goes on after this head a file cannot tell: `muster audit verify --head HASH` asks the server.'
          : 'Keep the head elsewhere: with --head it tells later whether the end was cut off.',
      );
    if (forged.length > options.knownForged)
      throw new MusterError('audit_forged', {
        count: forged.length,
        ids: `${forged.slice(0, MOST_NAMED).join(', ')}${forged.length > MOST_NAMED ? ', …' : ''}`,
        before: Math.max(0, (forged[0] ?? 1) - 1),
      });
  });
}

function sealedText(entries: number, seals: number): string {
  const count = entries === 1 ? '1 entry' : `${entries} entries`;
  const sealed = seals === 1 ? '1 seal' : `${seals} seals`;
  return `${count} in ${sealed} ${entries === 1 ? 'is as it was' : 'are as they were'} sealed.`;
}

/**
 * @param forged Ids of such entries are added to it.
 * @throws MusterError `audit_broken`, `audit_cut`
 */
async function readAll(chain: Chain, reader: ChainReader, head: string | undefined, forged: number[]): Promise<void> {
  let found = head === undefined;
  for await (const { seal, entries } of chain.sealed) {
    reader.take(seal, entries);
    forged.push(...entries.flatMap(forgedId));
    found ||= seal.hash === head;
  }
  const { number: last } = reader.head;
  if (last < chain.known)
    throw new MusterError('audit_broken', {
      seal: last + 1,
      reason: `the server knows of seal ${chain.known}, and there is none after ${last}: the end was deleted`,
    });
  if (!found)
    throw new MusterError('audit_broken', {
      seal: last + 1,
      reason: `no seal has the hash ${head}: the end was cut off, or replaced`,
    });
}

function chainOf(call: Call<VerifyOptions>): Promise<Chain> {
  const [file] = call.args;
  if (file === undefined) return chainOfServer(call);
  if (call.options.ofServer !== true) return chainOfFile(call, file);
  throw new MusterError('usage', {
    reason: '--of-server is for what the server has: a file says itself whose audit it is',
  });
}

/** @param entry As it was sealed: JSON. @returns its id where it is forged */
function forgedId(entry: string): number[] {
  const { id, outcome } = JSON.parse(entry) as { readonly id: number; readonly outcome: unknown };
  return outcome === 'forged' ? [id] : [];
}
