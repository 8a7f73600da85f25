import type { Command } from 'commander';
import { type KeyChoice, withPublicKey } from '../key-files.js';
import { clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { addKeyCommands } from './keys.js';

interface Service {
  readonly name: string;
  readonly created_at: string;
}

export function addService(program: Command, shell: Shell): void {
  const service = subcommand(program, {
    usage: 'service',
    summary: 'programs of one organization that sign requests',
    examples: ['muster service create ci --key-out ci.pem'],
  });
  const create = clientCommand(service, {
    usage: 'create <name>',
    summary: 'create a service',
    examples: ['muster service create ci --key-out ci.pem', 'muster service create ci --public-key ci.pub'],
  });
  create
    .option('--public-key <file>', 'PEM file with its public key')
    .option('--key-out <file>', 'make a key pair and write the private key here');
  does<KeyChoice>(create, shell, async (call) => {
    const [name = ''] = call.args;
    const created = await withPublicKey(call.world, call.options, (publicKey) =>
      call.client.post<Service>(call.client.inOrg('services'), { name, public_key: publicKey }),
    );
    call.out.document(created);
    call.out.line(`created service ${name}`);
  });
  const list = clientCommand(service, {
    usage: 'list',
    summary: 'services of the organization',
    examples: ['muster service list'],
  });
  does<object>(list, shell, async (call) => {
    const services = await call.client.get<Service[]>(call.client.inOrg('services'));
    call.out.document(services);
    call.out.table(
      ['Service', 'Created'],
      services.map(({ name, created_at }) => [name, timeText(created_at)]),
    );
  });
  const remove = clientCommand(service, {
    usage: 'rm <name>',
    summary: 'delete a service',
    examples: ['muster service rm ci'],
  });
  does<object>(remove, shell, async (call) => {
    const [name = ''] = call.args;
    await call.client.delete(call.client.inOrg('services', name));
    call.out.document({ name, deleted: true });
    call.out.line(`deleted service ${name}`);
  });
  addKeyCommands(service, shell, {
    kind: 'service',
    name: 'ci',
    path: (call, ...names) => call.client.inOrg('services', ...names),
  });
}
