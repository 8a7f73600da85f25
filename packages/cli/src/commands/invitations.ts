import type { Command } from 'commander';
import { pathOf } from '../client.js';
import { MusterError } from '../errors.js';
import { type Call, clientCommand, does, type Shell } from '../shell.js';
import { timeText } from '../summary.js';
import { addList, tellDone } from './resource.js';

interface Invitation {
  readonly id: string;
  readonly orgname: string;
  readonly username: string;
  readonly invited_by: string;
  readonly expires_at: string;
}

/** How existing users come into organizations: an admin invites, the user agrees. */
export function addInvitations(org: Command, shell: Shell): void {
  addInvite(org, shell);
  addList<Invitation, { readonly mine?: boolean }>(org, shell, {
    usage: 'invitations',
    summary: 'invitations into the organization that nobody has answered yet; yours with --mine',
    examples: ['muster org invitations', 'muster org invitations --mine'],
    read: (call) => (call.options.mine === true ? invitationsOfCaller(call) : invitationsInto(call)),
    columns: {
      Organization: ({ orgname }) => orgname,
      User: ({ username }) => username,
      'Invited by': ({ invited_by }) => invited_by,
      Expires: ({ expires_at }) => timeText(expires_at),
    },
  }).option('--mine', 'those that you are asked to answer, by all organizations');
  addUninvite(org, shell);
  addAnswer(org, shell, {
    name: 'accept',
    response: 'accept',
    summary: 'become a member of an organization that has invited you',
    done: (user, organization) => `${user} belongs to ${organization}`,
  });
  addAnswer(org, shell, {
    name: 'reject',
    response: 'reject',
    summary: 'turn an invitation down',
    done: (_, organization) => `rejected the invitation into ${organization}`,
  });
}

function addInvite(org: Command, shell: Shell): void {
  const command = clientCommand(org, {
    usage: 'invite <user>',
    summary: 'invite an existing user into the organization',
    examples: ['muster org invite alice', 'MUSTER_ORG=staging muster org invite alice'],
  });
  does<object>(command, shell, async (call) => {
    const [user = ''] = call.args;
    const made = await call.client.post<Invitation>(call.client.inOrg('association_requests'), { user });
    const line = `invited ${user} into ${made.orgname}, until ${timeText(made.expires_at)}`;
    tellDone(call, { document: made, line });
    call.out.note(`${user} accepts with: muster org accept ${made.orgname}`);
  });
}

function addUninvite(org: Command, shell: Shell): void {
  const command = clientCommand(org, {
    usage: 'uninvite <user>',
    summary: 'withdraw an invitation',
    examples: ['muster org uninvite alice'],
  });
  does<object>(command, shell, async (call) => {
    const [user = ''] = call.args;
    const { id } = only(await invitationsInto(call), 'username', user);
    await call.client.delete(call.client.inOrg('association_requests', id));
    tellDone(call, { document: { id, user, deleted: true }, line: `withdrew the invitation of ${user}` });
  });
}

interface Answer {
  readonly name: string;
  readonly response: 'accept' | 'reject';
  readonly summary: string;
  readonly done: (user: string, organization: string) => string;
}

function addAnswer(org: Command, shell: Shell, { name, response, summary, done }: Answer): void {
  const command = clientCommand(org, { usage: `${name} <org>`, summary, examples: [`muster org ${name} staging`] });
  does<object>(command, shell, async (call) => {
    const [organization = ''] = call.args;
    const user = nameOfCaller(call);
    const { id } = only(await invitationsOfCaller(call), 'orgname', organization);
    await call.client.put(pathOf('users', user, 'association_requests', id), { response });
    tellDone(call, { document: { id, user, organization, response }, line: done(user, organization) });
  });
}

function invitationsInto({ client }: Call<object>): Promise<Invitation[]> {
  return client.get(client.inOrg('association_requests'));
}

function invitationsOfCaller(call: Call<object>): Promise<Invitation[]> {
  return call.client.get(pathOf('users', nameOfCaller(call), 'association_requests'));
}

/** @throws MusterError `usage` */
function nameOfCaller({ settings }: Call<object>): string {
  const { user } = settings.credentials;
  if (user !== undefined) return user;
  throw new MusterError('usage', { reason: 'invitations need MUSTER_USER, too: the user of MUSTER_TOKEN' });
}

function only(all: readonly Invitation[], field: 'username' | 'orgname', name: string): Invitation {
  const found = all.find((one) => one[field] === name);
  if (found !== undefined) return found;
  const [which, list] =
    field === 'username' ? ['of user', 'muster org invitations'] : ['into', 'muster org invitations --mine'];
  throw new MusterError('invitation_not_found', { which, name, list });
}
