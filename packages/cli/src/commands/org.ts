import type { Command } from 'commander';
import { pathOf } from '../client.js';
import { clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { addInvitations } from './invitations.js';
import { addList, addRemove, tellDone } from './resource.js';

const FIRST_ADMIN = 'muster user create NAME --group admins --key-out FILE';

interface Organization {
  readonly name: string;
  readonly created_at?: string | number;
}

export function addOrg(program: Command, shell: Shell): void {
  const org = subcommand(program, {
    usage: 'org',
    summary: 'organizations: tenants that share nothing',
    examples: ['muster org create staging', 'muster org invite alice'],
  });
  const create = clientCommand(org, {
    usage: 'create <name>',
    summary: 'create an organization (server administrators)',
    examples: ['muster org create staging'],
  });
  does<object>(create, shell, async (call) => {
    const [name = ''] = call.args;
    const created = await call.client.post<Organization>(pathOf('organizations'), { name });
    tellDone(call, { document: created, line: `created organization ${name}` });
    call.out.note(`nobody belongs to it yet; its first admin, for example: MUSTER_ORG=${name} ${FIRST_ADMIN}`);
  });
  addList<Organization>(org, shell, {
    summary: 'organizations you can see',
    examples: ['muster org list', 'muster org list --json'],
    read: ({ client }) => client.get(pathOf('organizations')),
    columns: { Organization: ({ name }) => name, Created: ({ created_at }) => timeText(created_at) },
  });
  addRemove(org, shell, {
    usage: 'rm <name>',
    summary: 'delete an organization without nodes, with its groups, tokens and jobs (server administrators)',
    examples: ['muster org rm staging', 'muster org rm staging --yes'],
    question: (name) => `Delete organization ${name} with its groups, tokens and jobs?`,
    path: (_, name = '') => pathOf('organizations', name),
    done: (name) => ({ document: { name, deleted: true }, line: `deleted organization ${name}` }),
  });
  addInvitations(org, shell);
  addMembership(org, shell);
}

function addMembership(org: Command, shell: Shell): void {
  const add = clientCommand(org, {
    usage: 'add-user <name>',
    summary: 'make an existing user a member of the organization without asking (server administrators)',
    examples: ['muster org add-user alice', 'MUSTER_ORG=staging muster org add-user alice'],
  });
  does<object>(add, shell, async (call) => {
    const [name = ''] = call.args;
    const { org: organization } = call.settings;
    await call.client.post(call.client.inOrg('users', name), undefined);
    tellDone(call, { document: { name, organization, member: true }, line: `${name} belongs to ${organization}` });
  });
  const remove = clientCommand(org, {
    usage: 'rm-user <name>',
    summary: 'end the membership of a user; the user remains',
    examples: ['muster org rm-user alice'],
  });
  does<object>(remove, shell, async (call) => {
    const [name = ''] = call.args;
    const { org: organization } = call.settings;
    await call.client.delete(call.client.inOrg('users', name));
    const line = `${name} no longer belongs to ${organization}`;
    tellDone(call, { document: { name, organization, member: false }, line });
  });
}
