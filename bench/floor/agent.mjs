/** `node agent.mjs SERVER HOST SLOTS`: sockets. Hands as many tasks at one time to its host as it has slots, and passes on how they end. */
import { connect } from 'node:net';
import { lines } from './lines.mjs';

const [, , server, host, slots] = process.argv;
const waiting = [];
let running = 0;
let news = [];

const toServer = lines(connect(server), ({ assign, settled }) => {
  for (const task of assign) waiting.push(task);
  if (settled.length > 0) toHost({ settled });
  fill();
});
const toHost = lines(connect(host), ({ ended }) => {
  for (const one of ended) {
    running -= 1;
    if (news.length === 0) setImmediate(tell);
    news.push(one);
  }
  fill();
});

function fill() {
  const run = waiting.splice(0, Number(slots) - running);
  running += run.length;
  if (run.length > 0) toHost({ run });
}

function tell() {
  toServer({ news });
  news = [];
}

process.on('disconnect', () => process.exit());
