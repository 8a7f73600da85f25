import type { Command } from 'commander';
import { openerOf, openInBrowser } from '../open-in-browser.js';
import { printable } from '../printable.js';
import { clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { addList, addRemove } from './resource.js';

interface SignInLink {
  readonly url: string;
  readonly expires_at: string;
}

interface ConsoleFlags {
  readonly print?: boolean;
}

interface Session {
  readonly id: string;
  readonly user: string;
  readonly by: 'link' | 'token';
  readonly address: string | null;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly expires_at: string;
}

/** The web console: whoever may use the command line is signed in there by it. */
export function addConsole(program: Command, shell: Shell): void {
  const command = clientCommand(program, {
    usage: 'console',
    summary: 'open the web console in a browser and sign in there',
    examples: ['muster console', 'muster console --print'],
  });
  command.option('--print', 'only print the link: it signs in once, within a minute');
  does<ConsoleFlags>(command, shell, async (call) => {
    const { world, client, out, options } = call;
    const link = (await client.json('POST', client.inOrg('sign-in-links'))) as SignInLink;
    out.document(link);
    out.line(link.url);
    out.note(`signs in once, until ${timeText(link.expires_at)}`);
    const opener = options.print === true || out.json ? null : openerOf(world, process.platform);
    if (opener === null) return;
    const opened = await openInBrowser(opener, link.url, world);
    out.note(opened ? 'opened in your browser' : `${opener} cannot be started: open the link yourself`);
  });
}

/** Browsers that are signed in. */
export function addSession(program: Command, shell: Shell): void {
  const session = subcommand(program, {
    usage: 'session',
    summary: 'browsers that are signed in to the web console',
    examples: ['muster session list', 'muster session rm ID'],
  });
  addList<Session>(session, shell, {
    summary: 'where you are signed in; for admins, who is',
    examples: ['muster session list', 'muster session list --json'],
    read: ({ client }) => client.get(client.inOrg('sessions')),
    columns: {
      Id: ({ id }) => id,
      User: ({ user }) => user,
      By: ({ by }) => by,
      From: ({ address }) => address ?? '-',
      'Last seen': ({ last_seen_at }) => timeText(last_seen_at),
      Ends: ({ expires_at }) => timeText(expires_at),
    },
    none: 'nobody is signed in: muster console',
  });
  addRemove(session, shell, {
    usage: 'rm <id>',
    summary: 'sign a browser out; for admins anybody’s',
    examples: ['muster session rm ID', 'muster session rm ID --yes'],
    question: (id = '') => `End session ${printable(id)}?`,
    path: ({ client }, id = '') => client.inOrg('sessions', id),
    done: (id) => ({ document: { id, deleted: true }, line: `ended session ${id}` }),
  });
}
