import { type Command, Option } from 'commander';
import { MusterError } from '../../errors.js';
import { clientCommand, does, type Shell } from '../../shell.js';
import { post, readAll } from '../envelope.js';
import { tellDone, tellTable } from '../resource.js';
import { jobPath } from './api.js';

interface Grant {
  readonly username: string;
  readonly permission: { readonly read: boolean; readonly write: boolean };
}

interface ShareFlags {
  readonly user?: string;
  readonly permission: string;
}

const PERMISSIONS = ['ALL', 'READ', 'WRITE', 'READ_WRITE', 'EXECUTE', 'READ_EXECUTE', 'WRITE_EXECUTE', 'NONE'];

export function addShare(job: Command, shell: Shell): void {
  const command = clientCommand(job, {
    usage: 'share <job>',
    summary: 'let somebody else see a job, or see who may',
    examples: [
      'muster job share JOB',
      'muster job share JOB --user anna --permission READ',
      'muster job share JOB --user anna --permission NONE',
    ],
  });
  command
    .option('--user <name>', 'whom; world: everybody of the organization')
    .addOption(
      new Option('--permission <permission>', 'what they may; NONE takes it back').choices(PERMISSIONS).default('READ'),
    );
  does<ShareFlags>(command, shell, async (call) => {
    const [id = ''] = call.args;
    const { user, permission } = call.options;
    const path = jobPath(call.client, id, 'pems');
    if (user === undefined) {
      if (permission !== 'READ') throw new MusterError('usage', { reason: '--permission needs --user' });
      const grants = await readAll<Grant>(call.client, path);
      call.out.document(grants);
      tellTable(call, grants, {
        User: ({ username }) => username,
        Read: ({ permission: may }) => (may.read ? 'yes' : 'no'),
        Write: ({ permission: may }) => (may.write ? 'yes' : 'no'),
      });
      return;
    }
    await post(call.client, path, { username: user, permission });
    tellDone(call, { document: { id, user, permission }, line: `${user}: ${permission}` });
  });
}
