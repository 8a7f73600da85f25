import { readFileSync } from 'node:fs';
import { EXIT } from '@muster/base';
import { Command } from 'commander';
import { addAgent } from './commands/agent.js';
import { addApp } from './commands/app.js';
import { addApproval } from './commands/approval/index.js';
import { addAudit } from './commands/audit/index.js';
import { addCalendar } from './commands/calendar.js';
import { addCollection } from './commands/collection.js';
import { addCommandList } from './commands/command.js';
import { addCompletion } from './commands/completion.js';
import { addConsole, addSession } from './commands/console.js';
import { addContext } from './commands/context.js';
import { addDeadLetter } from './commands/dead-letter.js';
import { addDemo } from './commands/demo.js';
import { addDoctor } from './commands/doctor.js';
import { addEvent } from './commands/event/index.js';
import { addGroup } from './commands/group.js';
import { addImport } from './commands/import/index.js';
import { addInventory } from './commands/inventory.js';
import { addIssuer } from './commands/issuer.js';
import { addJob } from './commands/job/index.js';
import { addJobQueue } from './commands/job-queue.js';
import { addJobWorkers } from './commands/job-worker.js';
import { addKey } from './commands/key.js';
import { addLogin, addLogout, addWhoami } from './commands/login.js';
import { addNode } from './commands/node/index.js';
import { addNodeGroup } from './commands/node-group.js';
import { addNotification } from './commands/notification.js';
import { addOrg } from './commands/org.js';
import { addPush } from './commands/push/index.js';
import { addQueue } from './commands/queue/index.js';
import { addRecovery } from './commands/recovery.js';
import { addRelay } from './commands/relay/index.js';
import { addRule } from './commands/rule.js';
import { addRunbook } from './commands/runbook/index.js';
import { addSchedule } from './commands/schedule/index.js';
import { addSchema } from './commands/schema.js';
import { addSecret } from './commands/secret.js';
import { addServer } from './commands/server.js';
import { addService } from './commands/service.js';
import { addSystem } from './commands/system/index.js';
import { addTask } from './commands/task/index.js';
import { addAccessToken, addToken } from './commands/token.js';
import { addUser } from './commands/user.js';
import { type Shell, withCommonFlags } from './shell.js';
import type { World } from './world.js';

/** The whole command tree. `serverFlags: false` leaves out the flags that only the server's schema knows. */
export async function createProgram(shell: Shell, options: { readonly serverFlags: boolean }): Promise<Command> {
  const { stdout, stderr } = shell.world;
  const program = new Command('muster')
    .description('Run work on fleets of machines.')
    .version(version(), '-V, --version')
    .enablePositionalOptions()
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      // `run` reports errors itself, in one form.
      outputError: () => {},
      getOutHelpWidth: () => Math.min(stdout.columns ?? 100, 120),
      getErrHelpWidth: () => Math.min(stderr.columns ?? 100, 120),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .addHelpText('after', SETTINGS_HELP);
  withCommonFlags(program);
  addPush(program, shell);
  addRunbook(program, shell);
  addApproval(program, shell);
  addQueue(program, shell);
  addTask(program, shell);
  addJob(program, shell);
  addApp(program, shell);
  addSystem(program, shell);
  addJobQueue(program, shell);
  addRecovery(program, shell);
  addDeadLetter(program, shell);
  addCollection(program, shell);
  addSchedule(program, shell);
  addCalendar(program, shell);
  addNode(program, shell);
  addCommandList(program, shell);
  addInventory(program, shell);
  addNodeGroup(program, shell);
  addEvent(program, shell);
  addSecret(program, shell);
  addRule(program, shell);
  addNotification(program, shell);
  addToken(program, shell);
  addUser(program, shell);
  addGroup(program, shell);
  addService(program, shell);
  addKey(program, shell);
  addOrg(program, shell);
  addAccessToken(program, shell);
  addIssuer(program, shell);
  addAudit(program, shell);
  addImport(program, shell);
  addContext(program, shell);
  addLogin(program, shell);
  addLogout(program, shell);
  addWhoami(program, shell);
  addConsole(program, shell);
  addSession(program, shell);
  addDoctor(program, shell);
  await addServer(program, shell, options.serverFlags);
  addJobWorkers(program, shell);
  addAgent(program, shell);
  addRelay(program, shell);
  addDemo(program, shell, runWords);
  addSchema(program, shell);
  addCompletion(program, shell);
  return program;
}

async function runWords(typed: readonly string[], world: World): Promise<number> {
  const shell: Shell = { world, typed, words: undefined, exitCode: EXIT.ok };
  const program = await createProgram(shell, { serverFlags: false });
  await program.parseAsync([...typed], { from: 'user' });
  return shell.exitCode;
}

const SETTINGS_HELP = `
Settings: --config FILE, --context NAME, MUSTER_CONFIG, MUSTER_CONTEXT, or MUSTER_URL, MUSTER_ORG, MUSTER_USER and MUSTER_KEY (or
MUSTER_TOKEN); without any of them the context in use, ./muster-data/muster.yaml, which a server writes on its first start, or
~/.muster/muster.yaml.
MUSTER_CA: PEM file of the authority that signed the certificate of the server.

Exit codes: 0 done, 1 the work failed, 2 usage, 3 not allowed, 4 not found, 5 unreachable or busy,
130 or 143 interrupted while a job goes on.

Start with:
  muster demo`;

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '0';
}
