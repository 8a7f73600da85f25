import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ChainReader, keysAround, normalizePublicKey } from '@muster/signing';
import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { readingOf } from '../../files.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { type Chain, chainOfFile, chainOfServer, type OfServer } from './chain.js';

interface VerifyOptions extends OfServer {
  readonly publicKey?: string;
  readonly head?: string;
}

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
    let found = options.head === undefined;
    let forged = 0;
    for await (const { seal, entries } of chain.sealed) {
      reader.take(seal, entries);
      forged += entries.filter(isForged).length;
      found ||= seal.hash === options.head;
    }
    const { number: seals, hash: head } = reader.head;
    if (!found)
      throw new MusterError('audit_broken', {
        seal: seals + 1,
        reason: `no seal has the hash ${options.head}: the end was cut off, or replaced`,
      });
    out.document({ entries: reader.entries, forged, seals, head, key: key.fingerprint });
    out.line(`${reader.entries} entries in ${seals} seals are as they were sealed.`);
    if (forged > 0)
      out.line(
        `Of them ${forged} ${forged === 1 ? 'was' : 'were'} written, or changed before it was sealed, by none of the servers: outcome forged.`,
      );
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

/** @param entry As it was sealed: JSON. */
function isForged(entry: string): boolean {
  return (JSON.parse(entry) as { readonly outcome?: unknown }).outcome === 'forged';
}
