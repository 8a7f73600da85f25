import type { Command } from 'commander';
import { type KeyChoice, withPublicKey } from '../key-files.js';
import { type Call, clientCommand, does, type Shell } from '../shell.js';
import { timeText } from '../summary.js';

export interface Key {
  readonly fingerprint: string;
  readonly created_at: string;
}

/** Whose keys a group of commands changes. */
export interface KeyOwner {
  /** As in `give a user one more key`. */
  readonly kind: 'user' | 'node' | 'service';
  /** For the examples. */
  readonly name: string;
  readonly path: (call: Call<object>, name: string, ...more: string[]) => string;
}

/** `keys`, `add-key` and `rm-key`: the same for whatever has keys. */
export function addKeyCommands(parent: Command, shell: Shell, { kind, name: example, path }: KeyOwner): void {
  const list = clientCommand(parent, {
    usage: 'keys <name>',
    summary: `the keys of a ${kind}`,
    examples: [`muster ${kind} keys ${example}`],
  });
  does<object>(list, shell, async (call) => {
    const [name = ''] = call.args;
    const keys = await call.client.get<Key[]>(path(call, name, 'keys'));
    call.out.document(keys);
    call.out.table(
      ['Fingerprint', 'Since'],
      keys.map(({ fingerprint, created_at }) => [fingerprint, timeText(created_at)]),
    );
  });

  const add = clientCommand(parent, {
    usage: 'add-key <name>',
    summary: `give a ${kind} one more key`,
    examples: [
      `muster ${kind} add-key ${example} --public-key new.pub`,
      `muster ${kind} add-key ${example} --key-out new.pem`,
    ],
  });
  add
    .option('--public-key <file>', 'PEM file with the public key')
    .option('--key-out <file>', 'make a key pair and write the private key here');
  does<KeyChoice>(add, shell, async (call) => {
    const [name = ''] = call.args;
    const key = await withPublicKey(call.world, call.options, (publicKey) =>
      call.client.post<Key>(path(call, name, 'keys'), { public_key: publicKey }),
    );
    call.out.document(key);
    call.out.line(`added key ${key.fingerprint} to ${name}`);
  });

  const remove = clientCommand(parent, {
    usage: 'rm-key <name> <fingerprint>',
    summary: `take a key away from a ${kind}; the last one stays`,
    examples: [`muster ${kind} rm-key ${example} 3f0c…`],
  });
  does<object>(remove, shell, async (call) => {
    const [name = '', fingerprint = ''] = call.args;
    await call.client.delete(path(call, name, 'keys', fingerprint));
    call.out.document({ name, fingerprint, deleted: true });
    call.out.line(`removed key ${fingerprint} from ${name}`);
  });
}
