import type { Command } from 'commander';
import { pathOf } from '../client.js';
import { duration } from '../duration.js';
import { MusterError } from '../errors.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { agreed, tellDone } from './resource.js';

export interface ServerKey {
  readonly fingerprint: string;
  readonly since: string | null;
  readonly next: {
    readonly fingerprint: string;
    readonly takes_over_at: string;
    readonly agents: { readonly up: number; readonly told: number };
  } | null;
  readonly previous: readonly {
    readonly fingerprint: string;
    readonly replaced_at: string;
    readonly revoked: boolean;
  }[];
}

interface RotateFlags {
  readonly overlap?: number;
  readonly revoke?: boolean;
  readonly yes?: boolean;
}

const ROTATION = pathOf('server-key', 'rotation');

/** The key by which agents know their server. */
export function addServerKey(program: Command, shell: Shell): void {
  const key = subcommand(program, {
    usage: 'server-key',
    summary: 'the key by which agents know the server, and its replacement (server administrators)',
    examples: ['muster server-key status', 'muster server-key rotate'],
  });
  const status = clientCommand(key, {
    usage: 'status',
    summary: 'the key, the one that is to replace it, and how many agents know of that',
    examples: ['muster server-key status', 'muster server-key status --json | jq -r .public_key > server.pub'],
  });
  does<object>(status, shell, async (call) => show(call, await call.client.get<ServerKey>(pathOf('server-key'))));
  const rotate = clientCommand(key, {
    usage: 'rotate',
    summary: 'announce the next key, which agents take besides the present one until it takes over',
    examples: [
      'muster server-key rotate',
      'muster server-key rotate --overlap 30d',
      'muster server-key rotate --revoke   # somebody else may have the key: replace it now',
      'muster server-key rotate --revoke --yes',
    ],
  });
  rotate
    .option(
      '--overlap <duration>',
      'until the next key takes over; 7d unless given, at least as long as agents keep their configuration',
      duration('--overlap'),
    )
    .option('--revoke', 'the present key is no secret any more: a new one takes its place at once')
    .option('-y, --yes', 'with --revoke: do not ask');
  does<RotateFlags>(rotate, shell, async (call) => {
    const { overlap, revoke } = call.options;
    if (revoke === true && overlap !== undefined)
      throw new MusterError('usage', { reason: '--revoke replaces the key at once, without --overlap' });
    if (revoke === true)
      await agreed(call, "replace the server's key now? This cannot be taken back, and every agent asks anew");
    const body = revoke === true ? { revoke } : { ...(overlap !== undefined && { overlap: Math.ceil(overlap) }) };
    await show(call, await call.client.post<ServerKey>(ROTATION, body));
    if (revoke === true)
      call.out.note('every agent asks for its configuration again, and takes the new key; see docs/guide/operating.md');
  });
  const cancel = clientCommand(key, {
    usage: 'cancel',
    summary: 'take the announcement back: the present key stays',
    examples: ['muster server-key cancel'],
  });
  does<object>(cancel, shell, async (call) => {
    const document = await call.client.delete<ServerKey>(ROTATION);
    tellDone(call, { document, line: `the server's key stays ${document.fingerprint}` });
  });
}

async function show({ out }: Call<object>, key: ServerKey): Promise<void> {
  const { fingerprint, since, next, previous } = key;
  out.document(key);
  out.fields([
    ['Key', fingerprint],
    ['Since', since === null ? 'the first start' : timeText(since)],
    ['Next', next === null ? 'none announced' : next.fingerprint],
    ...(next === null
      ? []
      : ([
          ['Takes over', timeText(next.takes_over_at)],
          [
            'Know of it',
            `${next.agents.told} of ${next.agents.up} agents that are up; each asks within command.config_lifetime, those that are away when they come back`,
          ],
        ] as [string, string][])),
    ...previous.map(({ fingerprint: old, replaced_at, revoked }): [string, string] => [
      revoked ? 'Revoked' : 'Replaced',
      `${old}, ${timeText(replaced_at)}`,
    ]),
  ]);
}
