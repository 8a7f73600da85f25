import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { connectFabric, withFabric } from './fabric.js';
import { type EventFlags, eventOf, withEvent } from './new-event.js';

interface CompleteFlags extends EventFlags {
  readonly error: string;
}

export function addComplete(event: Command, shell: Shell): void {
  const command = withEvent(
    withFabric(
      clientCommand(event, {
        usage: 'complete <token>',
        summary: 'answer a command event: publish its completion, for whoever waits for it',
        examples: ['muster event complete TOKEN', 'muster event complete TOKEN --error 3 --body "no such service"'],
      }),
    ),
  ).option('--error <code>', 'how it ended; 0: it succeeded', '0');
  does<CompleteFlags>(command, shell, complete);
}

async function complete(call: Call<CompleteFlags>): Promise<void> {
  const { options, args, out } = call;
  const [token = ''] = args;
  const { error } = options;
  if (!/^-?\d{1,9}$/.test(error)) {
    throw new MusterError('usage', { reason: `--error must be a whole number, got '${error}'` });
  }
  const { attributes, ...event } = await eventOf(call);
  const client = await connectFabric(call, { reconnect: false });
  try {
    await client.publish({ ...event, type: 'complete', token, attributes: [['error', error], ...attributes] });
  } finally {
    await client.close();
  }
  out.document({ token, error: Number(error) });
  out.line(`completed ${token} with error code ${error}`);
}
