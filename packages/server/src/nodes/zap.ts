import { type Context, Reply } from 'zeromq';

const ZAP_ENDPOINT = 'inproc://zeromq.zap.01';
const CURVE_KEY_BYTES = 32;
const NOTHING = '';

/**
 * Answers libzmq's question whether a CURVE key may connect (sheet §3.1, ZeroMQ RFC 27). It is asked at every
 * handshake, so a node whose admission has expired must ask for its configuration again before it can reconnect.
 * Must be bound before the sockets it guards.
 */
export async function serveZap(
  context: Context,
  admits: (curveKey: Uint8Array) => boolean,
  failed: (error: unknown) => void,
): Promise<{ close(): Promise<void> }> {
  const socket = new Reply({ context, linger: 0 });
  await socket.bind(ZAP_ENDPOINT);
  const serving = serve(socket, admits).catch(failed);
  return {
    async close() {
      socket.close();
      await serving;
    },
  };
}

async function serve(socket: Reply, admits: (curveKey: Uint8Array) => boolean): Promise<void> {
  for await (const [version, requestId, , , , mechanism, key] of socket) {
    const admitted =
      mechanism?.toString() === 'CURVE' && key !== undefined && key.length === CURVE_KEY_BYTES && admits(key);
    const verdict = admitted ? ['200', NOTHING] : ['400', 'No such client'];
    try {
      await socket.send([version ?? '1.0', requestId ?? NOTHING, ...verdict, NOTHING, NOTHING]);
    } catch (error) {
      if (socket.closed) return;
      throw error;
    }
  }
}
