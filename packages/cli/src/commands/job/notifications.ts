import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { timeText } from '../../summary.js';
import { warnOfMail } from '../notification.js';
import { tellDone, tellTable } from '../resource.js';

interface Delivery {
  readonly event: string;
  readonly url: string;
  readonly outcome: string;
  readonly attempts: number;
  readonly response_code: number | null;
  readonly detail: string | null;
  readonly created: string;
  readonly last_sent: string | null;
}

interface Subscription {
  readonly id: string;
  readonly event: string;
  readonly url: string;
  readonly persistent: boolean;
  readonly status: string;
}

interface Subscribed extends Subscription {
  readonly only_logged: boolean;
}

interface Flags {
  readonly subscriptions?: boolean;
  readonly add?: string;
  readonly event?: string;
  readonly once?: boolean;
  readonly remove?: string;
}

export function addNotifications(job: Command, shell: Shell): void {
  const command = clientCommand(job, {
    usage: 'notifications <job>',
    summary: 'who was told of a job, and what became of that; or have somebody told of it',
    examples: [
      'muster job notifications JOB',
      'muster job notifications JOB --add https://example.com/hook --event FINISHED',
      'muster job notifications JOB --subscriptions',
      'muster job notifications JOB --remove SUBSCRIPTION',
    ],
  });
  command
    .option('--subscriptions', 'who is told of it, in place of what was told')
    .option('--add <url>', 'have this web or e-mail address told, of every event unless --event says which')
    .option('--event <event>', 'with --add: a status, or * for all')
    .option('--once', 'with --add: only the first time')
    .option('--remove <subscription>', 'have nothing more told to it');
  does<Flags>(command, shell, async (call) => {
    const [id = ''] = call.args;
    const { add, remove, subscriptions = false, event = '*', once = false } = call.options;
    const asked = [add !== undefined, remove !== undefined, subscriptions].filter((one) => one).length;
    if (asked > 1) throw new MusterError('usage', { reason: 'give one of --add, --remove and --subscriptions' });
    if (add === undefined && (once || call.options.event !== undefined)) {
      throw new MusterError('usage', { reason: '--event and --once need --add' });
    }
    const path = call.client.inOrg('job-notifications', id);
    if (add !== undefined) {
      const made = await call.client.post<Subscribed>(path, { url: add, event, persistent: !once });
      warnOfMail(call, made);
      return tellDone(call, { document: made, line: made.id });
    }
    if (remove !== undefined) {
      await call.client.delete(call.client.inOrg('job-notifications', id, 'subscriptions', remove));
      return tellDone(call, { document: { id: remove }, line: `${remove} is told nothing more` });
    }
    return subscriptions ? tellSubscriptions(call, id) : tellDeliveries(call, path);
  });
}

async function tellSubscriptions(call: Call<Flags>, job: string): Promise<void> {
  const found = await call.client.get<Subscription[]>(call.client.inOrg('job-notifications', job, 'subscriptions'));
  call.out.document(found);
  tellTable(
    call,
    found,
    {
      Id: ({ id }) => id,
      Event: ({ event, persistent }) => (persistent ? event : `${event}, once`),
      Status: ({ status }) => status,
      To: ({ url }) => url,
    },
    'Status',
    { fit: true },
  );
  if (found.length === 0) call.out.note('nobody is told of it');
}

async function tellDeliveries(call: Call<Flags>, path: string): Promise<void> {
  const found = await call.client.get<Delivery[]>(path, { limit: 1000 });
  call.out.document(found);
  tellTable(
    call,
    found,
    {
      Event: ({ event }) => event,
      Outcome: ({ outcome }) => outcome,
      Attempts: ({ attempts }) => attempts,
      Code: ({ response_code }) => response_code,
      Sent: ({ last_sent }) => timeText(last_sent),
      To: ({ url }) => url,
      Detail: ({ detail }) => detail,
    },
    'Outcome',
    { fit: true },
  );
  if (found.length === 0) call.out.note('nobody was told anything');
}
