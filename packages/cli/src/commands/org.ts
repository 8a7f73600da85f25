import type { Command } from 'commander';
import { pathOf } from '../client.js';
import { clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';

interface Organization {
  readonly name: string;
  readonly created_at?: string | number;
}

export function addOrg(program: Command, shell: Shell): void {
  const org = subcommand(program, {
    usage: 'org',
    summary: 'organizations: tenants that share nothing',
    examples: ['muster org create staging', 'muster org add-user alice'],
  });
  addCreate(org, shell);
  addList(org, shell);
  addRemove(org, shell);
  addMembership(org, shell);
}

function addCreate(org: Command, shell: Shell): void {
  const command = clientCommand(org, {
    usage: 'create <name>',
    summary: 'create an organization (server administrators)',
    examples: ['muster org create staging'],
  });
  does<object>(command, shell, async (call) => {
    const [name = ''] = call.args;
    call.out.document(await call.client.post(pathOf('organizations'), { name }));
    call.out.line(`created organization ${name}`);
  });
}

function addList(org: Command, shell: Shell): void {
  const command = clientCommand(org, {
    usage: 'list',
    summary: 'organizations you can see',
    examples: ['muster org list', 'muster org list --json'],
  });
  does<object>(command, shell, async (call) => {
    const organizations = await call.client.get<Organization[]>(pathOf('organizations'));
    call.out.document(organizations);
    call.out.table(
      ['Organization', 'Created'],
      organizations.map(({ name, created_at }) => [name, timeText(created_at)]),
    );
  });
}

function addRemove(org: Command, shell: Shell): void {
  const command = clientCommand(org, {
    usage: 'rm <name>',
    summary: 'delete an organization without nodes, with its groups, tokens and jobs (server administrators)',
    examples: ['muster org rm staging'],
  });
  does<object>(command, shell, async (call) => {
    const [name = ''] = call.args;
    await call.client.delete(pathOf('organizations', name));
    call.out.document({ name, deleted: true });
    call.out.line(`deleted organization ${name}`);
  });
}

function addMembership(org: Command, shell: Shell): void {
  const add = clientCommand(org, {
    usage: 'add-user <name>',
    summary: 'make an existing user a member of the organization',
    examples: ['muster org add-user alice', 'MUSTER_ORG=staging muster org add-user alice'],
  });
  does<object>(add, shell, async (call) => {
    const [name = ''] = call.args;
    await call.client.post(call.client.inOrg('users', name), undefined);
    call.out.document({ name, organization: call.settings.org, member: true });
    call.out.line(`${name} belongs to ${call.settings.org}`);
  });
  const remove = clientCommand(org, {
    usage: 'rm-user <name>',
    summary: 'end the membership of a user; the user remains',
    examples: ['muster org rm-user alice'],
  });
  does<object>(remove, shell, async (call) => {
    const [name = ''] = call.args;
    await call.client.delete(call.client.inOrg('users', name));
    call.out.document({ name, organization: call.settings.org, member: false });
    call.out.line(`${name} no longer belongs to ${call.settings.org}`);
  });
}
