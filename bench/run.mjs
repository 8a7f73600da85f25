#!/usr/bin/env node
/**
 * `npm run bench -- FIGURE [options]`: one script per figure, one JSON line per figure:
 * {"figure","value","unit","target","floor","ratio",…}. Progress goes to stderr. A figure that could not be measured is
 * {"figure","error"}, and the exit code is 1.
 */
import { parseArgs } from 'node:util';
import * as agentMemory from './agent-memory.mjs';
import * as clusterFabric from './cluster-fabric.mjs';
import * as clusterFailover from './cluster-failover.mjs';
import * as clusterPush from './cluster-push.mjs';
import * as connect from './connect.mjs';
import * as browserConsole from './console.mjs';
import * as consoleJob from './console-job.mjs';
import * as consoleOutput from './console-output.mjs';
import * as consoleTasks from './console-tasks.mjs';
import * as fabricChurn from './fabric-churn.mjs';
import * as fabricClients from './fabric-clients.mjs';
import * as fabricFanout from './fabric-fanout.mjs';
import * as fabricLatency from './fabric-latency.mjs';
import * as fabricTree from './fabric-tree.mjs';
import * as fabricUnicast from './fabric-unicast.mjs';
import * as growth from './growth.mjs';
import * as idle from './idle.mjs';
import * as jobsConcurrent from './jobs-concurrent.mjs';
import * as jobsLatency from './jobs-latency.mjs';
import * as jobsNoop from './jobs-noop.mjs';
import * as jobsRecovery from './jobs-recovery.mjs';
import * as jobsSubmit from './jobs-submit.mjs';
import * as liveOutput from './live-output.mjs';
import * as pushNoop from './push-noop.mjs';
import * as realAgents from './real-agents.mjs';
import * as restart from './restart.mjs';
import * as selectorIndex from './selector-index.mjs';
import * as tasksDepth from './tasks-depth.mjs';
import * as tasksFair from './tasks-fair.mjs';
import * as tasksInsert from './tasks-insert.mjs';
import * as tasksLatency from './tasks-latency.mjs';
import * as tasksNodes from './tasks-nodes.mjs';
import * as tasksNoop from './tasks-noop.mjs';
import * as tasksProgram from './tasks-program.mjs';

const figures = {
  connect,
  idle,
  'push-noop': pushNoop,
  growth,
  'live-output': liveOutput,
  restart,
  'real-agents': realAgents,
  'agent-memory': agentMemory,
  'selector-index': selectorIndex,
  'fabric-fanout': fabricFanout,
  'fabric-unicast': fabricUnicast,
  'fabric-tree': fabricTree,
  'fabric-latency': fabricLatency,
  'fabric-churn': fabricChurn,
  'fabric-clients': fabricClients,
  'tasks-noop': tasksNoop,
  'tasks-program': tasksProgram,
  'tasks-insert': tasksInsert,
  'tasks-latency': tasksLatency,
  'tasks-depth': tasksDepth,
  'tasks-nodes': tasksNodes,
  'tasks-fair': tasksFair,
  'jobs-submit': jobsSubmit,
  'jobs-latency': jobsLatency,
  'jobs-noop': jobsNoop,
  'jobs-concurrent': jobsConcurrent,
  'jobs-recovery': jobsRecovery,
  'cluster-fabric': clusterFabric,
  'cluster-failover': clusterFailover,
  'cluster-push': clusterPush,
  console: browserConsole,
  'console-job': consoleJob,
  'console-output': consoleOutput,
  'console-tasks': consoleTasks,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
    nodes: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    connections: { type: 'string' },
    relays: { type: 'string' },
    workers: { type: 'string' },
    tasks: { type: 'string' },
    slots: { type: 'string' },
    rate: { type: 'string' },
    megabytes: { type: 'string' },
    profile: { type: 'string' },
    'database-url': { type: 'string' },
  },
});

const usage = `Usage: npm run bench -- FIGURE [--nodes N] [--rounds N] [--seconds N] [--connections N]
                            [--relays N] [--workers N] [--tasks N] [--slots N] [--rate N] [--megabytes N] [--profile DIR] [--database-url URL]
       npm run bench -- --list`;

if (values.list) {
  for (const [name, { about }] of Object.entries(figures)) console.log(`${name.padEnd(14)} ${about}`);
} else if (values.help || positionals.length !== 1 || figures[positionals[0]] === undefined) {
  console.error(usage);
  process.exitCode = values.help ? 0 : 2;
} else {
  const { run, defaults } = figures[positionals[0]];
  const options = {
    ...Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, whole(name, value)])),
    databaseUrl: values['database-url'],
    profile: values.profile,
  };
  try {
    for await (const line of run(options)) report(line);
  } catch (error) {
    console.error(error.stack);
    report({ figure: positionals[0], error: error.message.replace(/\s+/g, ' ') });
  }
}

/** A figure; or with `error`, why there is none. */
function report(line) {
  console.log(JSON.stringify(line));
  if (line.error !== undefined) process.exitCode = 1;
}

function whole(name, fallback) {
  const value = values[name] === undefined ? fallback : Number(values[name]);
  if (Number.isSafeInteger(value) && value > 0) return value;
  console.error(`--${name} must be a whole number above 0\n${usage}`);
  process.exit(2);
}
