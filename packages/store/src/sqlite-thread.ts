import { parentPort, workerData } from 'node:worker_threads';
import { connect, SqliteConnection } from './sqlite-connection.js';
import { failureOf, type Reply, type Request, type Result, type ThreadSettings } from './sqlite-messages.js';

/** The thread that writes to SQLite, so that the event loop never waits for the disk. Started by `ThreadWriter`. */

const port = parentPort;
if (port === null) throw new Error('this is for a thread of its own');
const { path, busyMs } = workerData as ThreadSettings;
const connection = new SqliteConnection(connect(path, busyMs));
// The first reply, before anything was asked: it is open.
port.postMessage({} satisfies Reply);

function answer(request: Request): Result | undefined {
  switch (request.kind) {
    case 'write':
      return connection.write(request.batch);
    case 'finish':
      return connection.finish(request.batch);
    case 'query':
      return connection.query(request.text, request.parameters);
    case 'rollback':
      connection.rollback();
      return undefined;
    case 'close':
      connection.close();
      return undefined;
  }
}

port.on('message', (request: Request) => {
  let reply: Reply;
  try {
    const result = answer(request);
    reply = result === undefined ? {} : { result };
  } catch (error) {
    reply = { failure: failureOf(error) };
  }
  port.postMessage(reply);
  if (request.kind === 'close') port.close();
});
