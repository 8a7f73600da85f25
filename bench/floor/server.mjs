/**
 * `node server.mjs URL SOCKET AGENTS SLOTS`: the least that assigns tasks of a backlog and stores how they end. Told how many
 * tasks to work off, says when all of them are stored as done.
 */
import { createServer } from 'node:net';
import pg from 'pg';
import { lines } from './lines.mjs';

const [, , url, socket, agents, slots] = process.argv;
/** Tasks that are read at once, and that an agent has at most beyond its slots: about what Muster's have. */
const READ = 1000;
const AHEAD = 300;
const QUEUE = '6a1c0f3e9d2b4c5a6b7c8d00';

const database = new pg.Client({ connectionString: url });
await database.connect();
const nodes = [];
let waiting = [];
let last = '';
let left = 0;
let ended = [];
let storing = false;

const array = (values) => `{${values.join(',')}}`;
const texts = (values) => `{"${values.join('","')}"}`;

async function read() {
  const { rows } = await database.query({
    name: 'read',
    text: 'select id, params, ctime from tasks where queue_id = $1 and status = -2 and id > $2 order by id limit $3',
    values: [QUEUE, last, READ],
  });
  last = rows.at(-1)?.id ?? last;
  waiting = rows;
}

/** One commit after the other, of all that happened meanwhile; what it assigned and what it stored as done is told then. */
async function store() {
  if (storing) return;
  storing = true;
  for (;;) {
    await new Promise(setImmediate);
    if (waiting.length === 0) await read();
    const mtime = Date.now();
    const assigned = nodes.map((node) => ({ node, tasks: waiting.splice(0, Number(slots) + AHEAD - node.held.size) }));
    const done = ended;
    ended = [];
    const given = assigned.flatMap(({ node, tasks }) => tasks.map((task) => ({ node, task })));
    if (given.length + done.length === 0) break;
    await database.query('begin');
    if (given.length > 0) {
      await database.query({
        name: 'assign',
        text:
          'update tasks as t set status = -1, attempt = 1, node = g.node, mtime = $3 ' +
          'from unnest($1::text[], $2::text[]) as g(id, node) where t.id = g.id',
        values: [texts(given.map(({ task }) => task.id)), texts(given.map(({ node }) => node.name)), mtime],
      });
    }
    if (done.length > 0) {
      await database.query({
        name: 'end',
        text:
          'update tasks as t set status = g.status, started_at = g.at, ended_at = $4, mtime = $4 ' +
          'from unnest($1::text[], $2::bigint[], $3::bigint[]) as g(id, status, at) where t.id = g.id',
        values: [
          texts(done.map(({ id }) => id)),
          array(done.map(({ status }) => status)),
          array(done.map(({ ms }) => mtime - ms)),
          mtime,
        ],
      });
    }
    const events = [
      ...given.map(({ node, task }) => ({ type: 'task.claimed', task: task.id, node: node.name })),
      ...done.map(({ id, status }) => ({ type: 'task.ended', task: id, status })),
    ];
    await database.query({
      name: 'tell',
      text: 'insert into events (at, told) values ($1, $2)',
      values: [mtime, JSON.stringify(events)],
    });
    await database.query('commit');
    for (const { node, tasks } of assigned) {
      for (const { id } of tasks) node.held.add(id);
      const settled = done.filter((one) => one.node === node).map(({ id }) => id);
      const assign = tasks.map(({ id, params, ctime }) => ({
        id,
        attempt: 1,
        params: JSON.parse(params),
        ctime,
        mtime,
      }));
      if (assign.length + settled.length > 0) node.send({ assign, settled });
    }
    left -= done.length;
    if (done.length > 0 && left === 0) process.send({ done: true });
  }
  storing = false;
}

createServer((connection) => {
  const node = { name: `agent-${nodes.length}`, held: new Set() };
  node.send = lines(connection, ({ news }) => {
    for (const { id, status, ms } of news) {
      if (node.held.delete(id)) ended.push({ id, status, ms, node });
    }
    void store();
  });
  nodes.push(node);
  if (nodes.length === Number(agents)) process.send({ ready: true });
}).listen(socket);

process.on('message', async ({ add, work }) => {
  if (add !== undefined) {
    await addTasks(add);
    process.send({ added: true });
  } else {
    left = work;
    void store();
  }
});
process.on('disconnect', () => process.exit());

let added = 0;
async function addTasks(count) {
  await database.query(
    "insert into tasks (id, queue_id, params, status, ctime, mtime, attempt) select lpad(to_hex(n), 24, '0'), $1, '{}', -2, $2, $2, 0 " +
      'from generate_series($3::bigint, $4::bigint) as n',
    [QUEUE, Date.now(), added + 1, added + count],
  );
  added += count;
}
