import { parentPort } from 'node:worker_threads';
import { connect, SqliteConnection } from './sqlite-connection.js';
import { failureOf, type Reply, type Request, type Result } from './sqlite-messages.js';

/** The thread that writes to SQLite, so that the event loop never waits for the disk. Started by `WriterThread`. */

const port = parentPort;
if (port === null) throw new Error('this is for a thread of its own');
let opened: SqliteConnection | null = null;

function connection(): SqliteConnection {
  if (opened === null) throw new Error('the thread has no database');
  return opened;
}

function answer(request: Request): Result | undefined {
  switch (request.kind) {
    case 'open': {
      const { path, busyMs } = request.settings;
      opened = new SqliteConnection(connect(path, busyMs));
      return undefined;
    }
    case 'write':
      return connection().write(request.batch);
    case 'finish':
      return connection().finish(request.batch);
    case 'query':
      return connection().query(request.text, request.parameters);
    case 'rollback':
      connection().rollback();
      return undefined;
    case 'close':
      connection().close();
      opened = null;
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
});
