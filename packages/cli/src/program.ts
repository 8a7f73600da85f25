import { EXIT } from '@muster/base';
import { VERSION } from '@muster/base/version';
import type { Command } from 'commander';
import { OnceCommand } from './once.js';
import { type Shell, withCommonFlags } from './shell.js';
import type { World } from './world.js';

interface Adding {
  readonly program: Command;
  readonly shell: Shell;
  /** False leaves out the flags that only the server's schema knows. */
  readonly serverFlags: boolean;
}

/**
 * What stands behind each first word, in the order of the help. Loaded when it is needed: most command lines need one of them, and all
 * together take longer to load than most take to do their work.
 */
const COMMANDS: Readonly<Record<string, Added>> = {
  push: async ({ program, shell }) => (await import('./commands/push/index.js')).addPush(program, shell),
  runbook: async ({ program, shell }) => (await import('./commands/runbook/index.js')).addRunbook(program, shell),
  approval: async ({ program, shell }) => (await import('./commands/approval/index.js')).addApproval(program, shell),
  queue: async ({ program, shell }) => (await import('./commands/queue/index.js')).addQueue(program, shell),
  task: async ({ program, shell }) => (await import('./commands/task/index.js')).addTask(program, shell),
  job: async ({ program, shell }) => (await import('./commands/job/index.js')).addJob(program, shell),
  app: async ({ program, shell }) => (await import('./commands/app.js')).addApp(program, shell),
  system: async ({ program, shell }) => (await import('./commands/system/index.js')).addSystem(program, shell),
  'job-queue': async ({ program, shell }) => (await import('./commands/job-queue.js')).addJobQueue(program, shell),
  recovery: async ({ program, shell }) => (await import('./commands/recovery.js')).addRecovery(program, shell),
  'dead-letter': async ({ program, shell }) =>
    (await import('./commands/dead-letter.js')).addDeadLetter(program, shell),
  collection: async ({ program, shell }) => (await import('./commands/collection.js')).addCollection(program, shell),
  schedule: async ({ program, shell }) => (await import('./commands/schedule/index.js')).addSchedule(program, shell),
  calendar: async ({ program, shell }) => (await import('./commands/calendar.js')).addCalendar(program, shell),
  node: async ({ program, shell }) => (await import('./commands/node/index.js')).addNode(program, shell),
  'ssh-node': async ({ program, shell }) => (await import('./commands/ssh-node.js')).addSshNode(program, shell),
  command: async ({ program, shell }) => (await import('./commands/command.js')).addCommandList(program, shell),
  inventory: async ({ program, shell }) => (await import('./commands/inventory.js')).addInventory(program, shell),
  'node-group': async ({ program, shell }) => (await import('./commands/node-group.js')).addNodeGroup(program, shell),
  event: async ({ program, shell }) => (await import('./commands/event/index.js')).addEvent(program, shell),
  secret: async ({ program, shell }) => (await import('./commands/secret.js')).addSecret(program, shell),
  rule: async ({ program, shell }) => (await import('./commands/rule.js')).addRule(program, shell),
  notification: async ({ program, shell }) =>
    (await import('./commands/notification.js')).addNotification(program, shell),
  token: async ({ program, shell }) => (await import('./commands/token.js')).addToken(program, shell),
  user: async ({ program, shell }) => (await import('./commands/user.js')).addUser(program, shell),
  group: async ({ program, shell }) => (await import('./commands/group.js')).addGroup(program, shell),
  service: async ({ program, shell }) => (await import('./commands/service.js')).addService(program, shell),
  key: async ({ program, shell }) => (await import('./commands/key.js')).addKey(program, shell),
  org: async ({ program, shell }) => (await import('./commands/org.js')).addOrg(program, shell),
  'access-token': async ({ program, shell }) => (await import('./commands/token.js')).addAccessToken(program, shell),
  issuer: async ({ program, shell }) => (await import('./commands/issuer.js')).addIssuer(program, shell),
  'server-key': async ({ program, shell }) => (await import('./commands/server-key.js')).addServerKey(program, shell),
  cluster: async ({ program, shell }) => (await import('./commands/cluster.js')).addCluster(program, shell),
  audit: async ({ program, shell }) => (await import('./commands/audit/index.js')).addAudit(program, shell),
  import: async ({ program, shell }) => (await import('./commands/import/index.js')).addImport(program, shell),
  context: async ({ program, shell }) => (await import('./commands/context.js')).addContext(program, shell),
  login: async ({ program, shell }) => (await import('./commands/login.js')).addLogin(program, shell),
  logout: async ({ program, shell }) => (await import('./commands/login.js')).addLogout(program, shell),
  whoami: async ({ program, shell }) => (await import('./commands/login.js')).addWhoami(program, shell),
  console: async ({ program, shell }) => (await import('./commands/console.js')).addConsole(program, shell),
  session: async ({ program, shell }) => (await import('./commands/console.js')).addSession(program, shell),
  doctor: async ({ program, shell }) => (await import('./commands/doctor.js')).addDoctor(program, shell),
  server: async ({ program, shell, serverFlags }) =>
    (await import('./commands/server.js')).addServer(program, shell, serverFlags),
  worker: async ({ program, shell }) => (await import('./commands/job-worker.js')).addJobWorkers(program, shell),
  agent: async ({ program, shell }) => (await import('./commands/agent.js')).addAgent(program, shell),
  relay: async ({ program, shell }) => (await import('./commands/relay/index.js')).addRelay(program, shell),
  demo: async ({ program, shell }) => (await import('./commands/demo.js')).addDemo(program, shell, runWords),
  schema: async ({ program, shell }) => (await import('./commands/schema.js')).addSchema(program, shell),
  completion: async ({ program, shell }) => (await import('./commands/completion.js')).addCompletion(program, shell),
};

/** The whole command tree. */
export function createProgram(shell: Shell, options: { readonly serverFlags: boolean }): Promise<Command> {
  return programOf(Object.values(COMMANDS), shell, options.serverFlags);
}

/** As much of the command tree as this command line needs: all of it, unless it begins with a command that needs no other. */
export function createProgramFor(shell: Shell): Promise<Command> {
  const [first = ''] = shell.typed;
  // The flags of `server` come from its schema, and loading that for every command would be slow.
  const serverFlags = first === 'server' || NEEDS_ALL.has(first);
  return programOf(neededFor(first), shell, serverFlags);
}

function neededFor(first: string): readonly Added[] {
  if (first === '--version') return [];
  const one = NEEDS_ALL.has(first) || !Object.hasOwn(COMMANDS, first) ? undefined : COMMANDS[first];
  return one === undefined ? Object.values(COMMANDS) : [one];
}

/** Its scripts and its JSON tell of every command. */
const NEEDS_ALL: ReadonlySet<string> = new Set(['completion']);

type Added = (adding: Adding) => Promise<void>;

async function programOf(commands: readonly Added[], shell: Shell, serverFlags: boolean): Promise<Command> {
  const { stdout, stderr } = shell.world;
  const program = new OnceCommand('muster')
    .description('Run work on fleets of machines.')
    .version(VERSION, '-V, --version')
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
  for (const add of commands) await add({ program, shell, serverFlags });
  return program;
}

async function runWords(typed: readonly string[], world: World): Promise<number> {
  const shell: Shell = { world, typed, words: undefined, exitCode: EXIT.ok };
  const program = await createProgramFor(shell);
  await program.parseAsync([...typed], { from: 'user' });
  return shell.exitCode;
}

const SETTINGS_HELP = `
Settings: --config FILE, --context NAME, MUSTER_CONFIG, MUSTER_CONTEXT, or MUSTER_URL, MUSTER_ORG, MUSTER_USER and MUSTER_KEY (or
MUSTER_TOKEN); without any of them the context in use, ./muster-data/muster.yaml, which a server writes on its first start, or
~/.muster/muster.yaml.
MUSTER_CA: PEM file of the authority that signed the certificate of the server.

Exit codes: 0 done, 1 the work failed, 2 usage, 3 not allowed, 4 not found, 5 unreachable or busy,
6 waits for others to agree, 130 or 143 interrupted while a job goes on, 141 its reader went away (a job goes on).

Start with:
  muster demo`;
